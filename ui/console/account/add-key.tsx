import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { Button } from "../../kit/index.ts"
import { formId, formOf, useOpen } from "../form/index.ts"
import { call, t } from "../shell/index.ts"
import { isOfBrowser, madeKey } from "./create-key.ts"

type KeyKind = "passkey" | "u2f"

const { addMyPasswordless, verifyMyPasswordless } = AuthService.method
const { addMyAuthFactorU2F, verifyMyAuthFactorU2F } = AuthService.method

type Verification = { readonly publicKeyCredential: Uint8Array; readonly tokenName: string }

/** How a key of each kind is begun, and ended with what the browser has answered. */
const ways = {
  passkey: {
    begin: () => call(addMyPasswordless),
    finish: (verification: Verification) => call(verifyMyPasswordless, { verification }),
  },
  u2f: {
    begin: () => call(addMyAuthFactorU2F),
    finish: (verification: Verification) => call(verifyMyAuthFactorU2F, { verification }),
  },
} as const

async function addKey(kind: KeyKind, tokenName: string): Promise<unknown> {
  const { begin, finish } = ways[kind]
  const { key } = await begin()
  const publicKeyCredential = await madeKey(key?.publicKey ?? new Uint8Array())
  return finish({ publicKeyCredential, tokenName })
}

/** A button for one more key. */
export function AddKey({ kind }: { readonly kind: KeyKind }) {
  const [open, setOpen] = useOpen(kind)
  const title = t(`account.${kind}.add`)
  const close = () => setOpen(undefined)
  return (
    <>
      <Button small aria-label={title} onClick={() => setOpen("new")}>
        {t("account.add")}
      </Button>
      {open !== undefined && keyForm(kind)({ id: formId(kind, open), title, close })}
    </>
  )
}

/** A key is called something, and made by the browser. */
const keyForm = (kind: KeyKind) =>
  formOf({
    initial: { name: "" },
    save: ({ name }) =>
      addKey(kind, name.trim()).catch((failure) => {
        throw isOfBrowser(failure) ? new Error(t("account.key_not_made")) : failure
      }),
    submit: t("account.continue"),
    fields: ({ text }) => (
      <>
        <p>{t(`account.${kind}.how`)}</p>
        {text("name", t("account.key_name"), { optional: true, hint: t("account.key_name_hint") })}
      </>
    ),
  })
