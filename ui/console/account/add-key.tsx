import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { TextField } from "../../kit/field.tsx"
import { DialogForm } from "../form/form.tsx"
import { useForm } from "../form/use-form.ts"
import { call } from "../shell/call.ts"
import { useText } from "../shell/text.ts"
import { isOfBrowser, madeKey } from "./make-key.ts"

export type KeyKind = "passkey" | "u2f"

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

type AddKeyProps = {
  readonly kind: KeyKind
  readonly id: string
  readonly close: () => void
}

/** A key is called something, and made by the browser. */
export function AddKey({ kind, id, close }: AddKeyProps) {
  const { t } = useText()
  const form = useForm({
    id,
    initial: { name: "" },
    save: ({ name }) =>
      addKey(kind, name.trim()).catch((failure) => {
        throw isOfBrowser(failure) ? new Error(t("account.key_not_made")) : failure
      }),
    done: close,
  })
  return (
    <DialogForm
      title={t(`account.${kind}.add`)}
      submit={t("account.continue")}
      form={form}
      onCancel={close}
    >
      <p>{t(`account.${kind}.how`)}</p>
      <TextField
        label={t("account.key_name")}
        optional={t("form.optional")}
        hint={t("account.key_name_hint")}
        {...form.text("name")}
        maxLength={200}
        autoFocus
      />
    </DialogForm>
  )
}
