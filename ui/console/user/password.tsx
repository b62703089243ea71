import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Button } from "../../kit/button.tsx"
import { Check } from "../../kit/check.tsx"
import { PasswordField } from "../../kit/field.tsx"
import { DialogForm } from "../form/form.tsx"
import { formId, useOpen } from "../form/open.ts"
import { useForm } from "../form/use-form.ts"
import { Time } from "../list/time.tsx"
import { call } from "../shell/call.ts"
import { Facts, Section } from "../shell/detail.tsx"
import { May } from "../shell/may.tsx"
import { useText } from "../shell/text.ts"
import { Invite, PasswordLink } from "./invite.tsx"
import type { UserForm, UserPart } from "./part.ts"
import { stateOf } from "./user.ts"

/** When it was set, and a new one for whoever has lost theirs. */
export function Password({ user }: UserPart) {
  const { t } = useText()
  const [open, setOpen] = useOpen("password")
  if (user.type.case !== "human") return null
  const { passwordChanged, passwordChangeRequired } = user.type.value
  const isActive = stateOf(user) === "active"
  const actions = (
    <div className="row">
      {isActive && (passwordChanged ? <PasswordLink user={user} /> : <Invite user={user} />)}
      <May needs={UserService.method.setPassword}>
        <Button onClick={() => setOpen("set")}>{t("password.set")}</Button>
      </May>
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
      {open !== undefined && (
        <SetPassword user={user} id={formId("password", open)} close={() => setOpen(undefined)} />
      )}
    </Section>
  )
}

function SetPassword({ user, id, close }: UserForm) {
  const { t } = useText()
  const { userId } = user
  const form = useForm({
    id,
    initial: { password: "", changeRequired: true },
    secret: ["password"],
    refusals: { password: ["user.password"] },
    save: (newPassword) => call(UserService.method.setPassword, { userId, newPassword }),
    done: close,
  })
  const title = t("password.set")
  return (
    <DialogForm title={title} submit={title} form={form} onCancel={close}>
      <PasswordField
        label={t("password.new")}
        hint={t("users.password_hint")}
        show={t("field.show")}
        hide={t("field.hide")}
        {...form.text("password")}
        autoComplete="new-password"
        required
        autoFocus
      />
      <Check
        label={t("password.must_change")}
        hint={t("password.must_change_hint")}
        checked={form.values.changeRequired}
        onChange={(changeRequired) => form.change({ changeRequired })}
      />
    </DialogForm>
  )
}
