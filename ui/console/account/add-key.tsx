import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { Button } from "../../kit/index.ts"
import { defineForm, formId, useOpenForm } from "../form/index.ts"
import { call, t } from "../shell/index.ts"
import { createKey, isBrowserError } from "./create-key.ts"

type KeyKind = "passkey" | "u2f"

const { addMyPasswordless, verifyMyPasswordless } = AuthService.method
const { addMyAuthFactorU2F, verifyMyAuthFactorU2F } = AuthService.method

type Verification = { readonly publicKeyCredential: Uint8Array; readonly tokenName: string }

/** How registration of each kind of key begins and ends. */
const registrationCalls = {
  passkey: {
    begin: () => call(addMyPasswordless),
    finish: (verification: Verification) => call(verifyMyPasswordless, { verification }),
  },
  u2f: {
    begin: () => call(addMyAuthFactorU2F),
    finish: (verification: Verification) => call(verifyMyAuthFactorU2F, { verification }),
  },
} as const

async function registerKey(kind: KeyKind, tokenName: string): Promise<unknown> {
  const { begin, finish } = registrationCalls[kind]
  const { key } = await begin()
  const publicKeyCredential = await createKey(key?.publicKey ?? new Uint8Array())
  return finish({ publicKeyCredential, tokenName })
}

/** A button that registers another key. */
export function AddKey({ kind }: { readonly kind: KeyKind }) {
  const [open, setOpen] = useOpenForm(kind)
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

/** Asks for a name, then the browser creates the key. */
const keyForm = (kind: KeyKind) =>
  defineForm({
    initial: { name: "" },
    save: ({ name }) =>
      registerKey(kind, name.trim()).catch((failure) => {
        throw isBrowserError(failure) ? new Error(t("account.key_not_made")) : failure
      }),
    submit: t("account.continue"),
    fields: ({ text }) => (
      <>
        <p>{t(`account.${kind}.how`)}</p>
        {text("name", t("account.key_name"), { optional: true, hint: t("account.key_name_hint") })}
      </>
    ),
  })
