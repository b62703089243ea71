import type { Timestamp } from "@bufbuild/protobuf/wkt"
import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { PasswordField } from "../../kit/field.tsx"
import { EditSection, Fields } from "../form/form.tsx"
import { useForm } from "../form/use-form.ts"
import { Time } from "../list/time.tsx"
import { call, useRead } from "../shell/call.ts"
import { Facts } from "../shell/detail.tsx"
import { useText } from "../shell/text.ts"
import { andSignIn } from "./sign-in-again.ts"

type PasswordProps = { readonly isSet: boolean; readonly changed: Timestamp | undefined }

/** When it was changed, and a new one in its place. */
export function Password({ isSet, changed }: PasswordProps) {
  const { t } = useText()
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
      {...(isSet && {
        form: (id: string, close: () => void) => <PasswordForm {...{ id, close }} />,
      })}
    />
  )
}

function PasswordForm({ id, close }: { readonly id: string; readonly close: () => void }) {
  const { t } = useText()
  const form = useForm({
    id,
    initial: { oldPassword: "", newPassword: "" },
    secret: ["oldPassword", "newPassword"],
    refusals: {
      oldPassword: ["user.password_wrong", "user.wrong"],
      newPassword: ["user.password", "password"],
    },
    save: (values) => andSignIn(call(AuthService.method.updateMyPassword, values)),
  })
  const shared = { show: t("field.show"), hide: t("field.hide"), required: true } as const
  return (
    <Fields form={form} submit={t("account.password_submit")} onCancel={close}>
      <p className="quiet small">{t("account.password_text")}</p>
      <PasswordField
        label={t("account.password_old")}
        {...shared}
        {...form.text("oldPassword")}
        autoComplete="current-password"
      />
      <PasswordField
        label={t("password.new")}
        hint={useRules()}
        {...shared}
        {...form.text("newPassword")}
        autoComplete="new-password"
      />
    </Fields>
  )
}

/** What the organisation asks of passwords, in a line. */
function useRules(): string {
  const { t } = useText()
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
