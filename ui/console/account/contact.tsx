import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { Badge, TextField } from "../../kit/index.ts"
import {
  ActionButton,
  ConfirmButton,
  defineForm,
  EditSection,
  FormFields,
  useForm,
} from "../form/index.ts"
import { call, ignoreError, notify, t } from "../shell/index.ts"
import type { Me } from "./me.ts"

type MeProps = { readonly me: Me }

/** The address for messages and sign-in; a new one must be verified with a code. */
export function EmailField({ me: { human } }: MeProps) {
  const { setMyEmail, verifyMyEmail, resendMyEmailVerification } = AuthService.method
  return (
    <AddressField
      of="email"
      type="email"
      current={human.email?.email ?? ""}
      isVerified={human.email?.isEmailVerified ?? false}
      set={(email) => call(setMyEmail, { email })}
      verify={(code) => call(verifyMyEmail, { code })}
      resend={() => call(resendMyEmailVerification)}
    />
  )
}

export function PhoneField({ me: { human } }: MeProps) {
  const { setMyPhone, verifyMyPhone, resendMyPhoneVerification, removeMyPhone } = AuthService.method
  return (
    <AddressField
      of="phone"
      type="tel"
      current={human.phone?.phone ?? ""}
      isVerified={human.phone?.isPhoneVerified ?? false}
      set={(phone) => call(setMyPhone, { phone })}
      verify={(code) => call(verifyMyPhone, { code })}
      resend={() => call(resendMyPhoneVerification)}
      remove={() => call(removeMyPhone)}
    />
  )
}

type AddressProps = {
  readonly of: "email" | "phone"
  readonly type: "email" | "tel"
  /** Empty if none. */
  readonly current: string
  readonly isVerified: boolean
  readonly set: (value: string) => Promise<unknown>
  readonly verify: (code: string) => Promise<unknown>
  readonly resend: () => Promise<unknown>
  readonly remove?: () => Promise<unknown>
}

function AddressField(props: AddressProps) {
  const { of, current, isVerified, remove } = props
  const title = t(`field.${of}`)
  const facts = (
    <div className="stack">
      {current === "" ? (
        <p className="quiet">{t("detail.none")}</p>
      ) : (
        <p>
          <bdi>{current}</bdi>{" "}
          <Badge tone={isVerified ? "done" : "warning"}>
            {t(isVerified ? "users.verified" : "users.not_verified")}
          </Badge>
        </p>
      )}
      {current !== "" && !isVerified && <VerifyAddress {...props} />}
    </div>
  )
  return (
    <EditSection
      needs="own"
      title={title}
      action={t(current === "" ? "account.add" : "account.change")}
      facts={facts}
      form={addressForm(props)}
      extraActions={
        remove &&
        current !== "" && (
          <ConfirmButton
            needs="own"
            small
            subject={title}
            consequence={t("account.phone_remove_text")}
            act={remove}
          />
        )
      }
    />
  )
}

const addressForm = ({ of, type, current, set }: AddressProps) =>
  defineForm({
    initial: { value: current },
    readBeforeSave: true,
    refusals: { value: [`user.${of}`, of] },
    save: ({ value }) => ignoreError("user.unchanged", set(value.trim())),
    submit: t("account.send_code"),
    fields: ({ text }) =>
      text("value", t(`field.${of}`), {
        hint: t(`account.${of}_hint`),
        type,
        autoComplete: type,
        required: true,
      }),
  })

/** Asks for the code that was sent to the address. */
function VerifyAddress({ of, current, verify, resend }: AddressProps) {
  const form = useForm({
    id: `verify-${of}`,
    initial: { code: "" },
    secret: ["code"],
    refusals: { code: ["user.code", "code"] },
    save: ({ code }) => verify(code.trim()),
  })
  return (
    <>
      <p className="quiet">{t("account.code_sent", { address: current })}</p>
      <FormFields form={form} submit={t("account.verify")}>
        <TextField
          label={t("account.code")}
          {...form.text("code")}
          autoComplete="one-time-code"
          autoCapitalize="characters"
          spellCheck={false}
          maxLength={20}
          required
        />
      </FormFields>
      <div className="row">
        <ActionButton
          needs="own"
          small
          label={t("account.send_again")}
          act={resend}
          done={() => notify({ text: t("account.sent_again", { address: current }) })}
        />
      </div>
    </>
  )
}
