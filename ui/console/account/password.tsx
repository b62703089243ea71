import type { Timestamp } from "@bufbuild/protobuf/wkt"
import type { ReactNode } from "react"
import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { EditSection, formOf } from "../form/index.ts"
import { Time } from "../list/index.ts"
import { call, Facts, t, useRead } from "../shell/index.ts"
import { andSignIn } from "./sign-in-again.ts"

type PasswordProps = { readonly isSet: boolean; readonly changed: Timestamp | undefined }

/** When it was changed, and a new one in its place. */
export function Password({ isSet, changed }: PasswordProps) {
  const facts = isSet ? (
    <Facts rows={[[t("field.changed"), changed && <Time key="changed" at={changed} />]]} />
  ) : (
    <p className="quiet section-lead">{t("account.no_password")}</p>
  )
  return (
    <EditSection
      needs="own"
      title={t("field.password")}
      action={t("account.change")}
      facts={facts}
      {...(isSet && { form: passwordForm() })}
    />
  )
}

const passwordForm = () =>
  formOf({
    initial: { oldPassword: "", newPassword: "" },
    secret: ["oldPassword", "newPassword"],
    refusals: {
      oldPassword: ["user.password_wrong", "user.wrong"],
      newPassword: ["user.password", "password"],
    },
    save: (values) => andSignIn(call(AuthService.method.updateMyPassword, values)),
    submit: t("account.password_submit"),
    fields: ({ secret }) => (
      <>
        <p className="quiet small">{t("account.password_text")}</p>
        {secret("oldPassword", t("account.password_old"), {
          autoComplete: "current-password",
          required: true,
        })}
        <Rules
          show={(hint) => secret("newPassword", t("password.new"), { hint, required: true })}
        />
      </>
    ),
  })

type RulesProps = { readonly show: (rules: string) => ReactNode }

/** They are read when somebody is about to choose a password. */
const Rules = ({ show }: RulesProps) => show(useRules())

/** What the organisation asks of passwords, in a line. */
function useRules(): string {
  const { policy } = useRead(AuthService.method.getMyPasswordComplexityPolicy)
  if (!policy) return ""
  const { minLength, hasUppercase, hasLowercase, hasNumber, hasSymbol } = policy
  const rules = [
    t("account.rule.length", { count: Number(minLength) }),
    hasUppercase && t("account.rule.uppercase"),
    hasLowercase && t("account.rule.lowercase"),
    hasNumber && t("account.rule.number"),
    hasSymbol && t("account.rule.symbol"),
  ]
  return rules.filter((rule) => rule !== false).join(", ")
}
