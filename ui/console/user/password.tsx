import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { DialogButton, defineForm } from "../form/index.ts"
import { Time } from "../list/index.ts"
import { call, Facts, Section, t } from "../shell/index.ts"
import { Invite, PasswordLink } from "./invite.tsx"
import { stateOf, type UserPart } from "./user.ts"

/** The date of the last password change, and a form to set a new one. */
export function Password({ user }: UserPart) {
  if (user.type.case !== "human") return null
  const { passwordChanged, passwordChangeRequired } = user.type.value
  const isActive = stateOf(user) === "active"
  const actions = (
    <div className="row">
      {isActive && (passwordChanged ? <PasswordLink user={user} /> : <Invite user={user} />)}
      <DialogButton
        family="password"
        label={t("password.set")}
        needs={UserService.method.setPassword}
        form={passwordForm(user.userId)}
      />
    </div>
  )
  return (
    <Section title={t("field.password")} actions={actions}>
      {passwordChanged ? (
        <Facts
          rows={[
            [t("field.changed"), <Time key="changed" at={passwordChanged} />],
            [t("password.next"), passwordChangeRequired && t("password.must_change")],
          ]}
        />
      ) : (
        <p className="quiet section-lead">{t("password.none")}</p>
      )}
    </Section>
  )
}

const passwordForm = (userId: string) =>
  defineForm({
    initial: { password: "", changeRequired: true },
    secret: ["password"],
    refusals: { password: ["user.password"] },
    save: (newPassword) => call(UserService.method.setPassword, { userId, newPassword }),
    fields: ({ secret, check }) => [
      secret("password", t("password.new"), { hint: t("new_user.password_hint"), required: true }),
      check("changeRequired", t("password.must_change"), t("password.must_change_hint")),
    ],
  })
