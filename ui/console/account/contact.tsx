import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { Badge, TextField } from "../../kit/index.ts"
import { ActionButton, ConfirmButton, EditSection, Fields, formOf, useForm } from "../form/index.ts"
import { call, notify, t, unless } from "../shell/index.ts"
import type { Me } from "./me.ts"

type Part = { readonly me: Me }

/** Where one is written to, and signs in by; a new one counts once its code was entered. */
export function Email({ me: { human } }: Part) {
  const { setMyEmail, verifyMyEmail, resendMyEmailVerification } = AuthService.method
  return (
    <Address
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

export function Phone({ me: { human } }: Part) {
  const { setMyPhone, verifyMyPhone, resendMyPhoneVerification, removeMyPhone } = AuthService.method
  return (
    <Address
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
  /** Empty for none. */
  readonly current: string
  readonly isVerified: boolean
  readonly set: (value: string) => Promise<unknown>
  readonly verify: (code: string) => Promise<unknown>
  readonly resend: () => Promise<unknown>
  readonly remove?: () => Promise<unknown>
}

function Address(props: AddressProps) {
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
      {current !== "" && !isVerified && <Verify {...props} />}
    </div>
  )
  return (
    <EditSection
      needs="own"
      title={title}
      action={t(current === "" ? "account.add" : "account.change")}
      facts={facts}
      form={addressForm(props)}
      more={
        remove &&
        current !== "" && (
          <ConfirmButton
            needs="own"
            small
            what={title}
            consequence={t("account.phone_remove_text")}
            act={remove}
          />
        )
      }
    />
  )
}

const addressForm = ({ of, type, current, set }: AddressProps) =>
  formOf({
    initial: { value: current },
    readFirst: true,
    refusals: { value: [`user.${of}`, of] },
    save: ({ value }) => unless("user.unchanged", set(value.trim())),
    submit: t("account.send_code"),
    fields: ({ text }) =>
      text("value", t(`field.${of}`), {
        hint: t(`account.${of}_hint`),
        type,
        autoComplete: type,
        required: true,
      }),
  })

/** The code that went to the address, which only who reads it there knows. */
function Verify({ of, current, verify, resend }: AddressProps) {
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
      <Fields form={form} submit={t("account.verify")}>
        <TextField
          label={t("account.code")}
          {...form.text("code")}
          autoComplete="one-time-code"
          autoCapitalize="characters"
          spellCheck={false}
          maxLength={20}
          required
        />
      </Fields>
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
