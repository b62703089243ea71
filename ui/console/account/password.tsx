import type { Timestamp } from "@bufbuild/protobuf/wkt"
import type { ReactNode } from "react"
import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { defineForm, EditSection } from "../form/index.ts"
import { Time } from "../list/index.ts"
import { call, Facts, t, useRead } from "../shell/index.ts"
import { thenSignIn } from "./sign-in-again.ts"

type PasswordProps = { readonly isSet: boolean; readonly changed: Timestamp | undefined }

/** The date of the last password change, and a form to change it. */
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
  defineForm({
    initial: { oldPassword: "", newPassword: "" },
    secret: ["oldPassword", "newPassword"],
    refusals: {
      oldPassword: ["user.password_wrong", "user.wrong"],
      newPassword: ["user.password", "password"],
    },
    save: (values) => thenSignIn(call(AuthService.method.updateMyPassword, values)),
    submit: t("account.password_submit"),
    fields: ({ secret }) => (
      <>
        <p className="quiet small">{t("account.password_text")}</p>
        {secret("oldPassword", t("account.password_old"), {
          autoComplete: "current-password",
          required: true,
        })}
        <PasswordRules
          render={(hint) => secret("newPassword", t("password.new"), { hint, required: true })}
        />
      </>
    ),
  })

type RulesProps = { readonly render: (rules: string) => ReactNode }

/** Loaded when the user opens the form. */
const PasswordRules = ({ render: show }: RulesProps) => show(usePasswordRules())

/** The password rules of the organization, as one line. */
function usePasswordRules(): string {
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
