import { useState } from "react"
import { Button } from "../../kit/button.tsx"
import { Check } from "../../kit/check.tsx"
import { PasswordField } from "../../kit/field.tsx"
import { Section } from "../detail.tsx"
import { DialogForm, useTexts } from "../form.tsx"
import { useHouse } from "../house.ts"
import { Time } from "../time.tsx"
import { stateOf } from "../user.ts"
import { Invite } from "./invite.tsx"
import type { UserPart } from "./part.ts"

/** When it was set, and a new one for whoever has lost theirs. */
export function Password({ user, onChanged }: UserPart) {
  const { t } = useHouse()
  const [open, setOpen] = useState(false)
  if (user.type.case !== "human") return null
  const { passwordChanged, passwordChangeRequired } = user.type.value
  const actions = (
    <div className="row">
      {!passwordChanged && stateOf(user) === "active" && <Invite {...{ user, onChanged }} />}
      <Button onClick={() => setOpen(true)}>{t("password.set")}</Button>
    </div>
  )
  return (
    <Section title={t("field.password")} actions={actions}>
      {passwordChanged ? (
        <dl className="facts">
          <dt>{t("field.changed")}</dt>
          <dd>
            <Time at={passwordChanged} />
          </dd>
          {passwordChangeRequired && (
            <>
              <dt>{t("password.next")}</dt>
              <dd>{t("password.must_change")}</dd>
            </>
          )}
        </dl>
      ) : (
        <p className="quiet section-lead">{t("password.none")}</p>
      )}
      {open && <SetPassword {...{ user, onChanged }} close={() => setOpen(false)} />}
    </Section>
  )
}

function SetPassword({ user, onChanged, close }: UserPart & { readonly close: () => void }) {
  const { t, core } = useHouse()
  const { userId } = user
  const { texts, field } = useTexts({ password: "" })
  const [changeRequired, setRequired] = useState(true)
  const save = () => {
    const newPassword = { password: texts.password, changeRequired }
    return core.users.setPassword({ userId, newPassword })
  }
  const title = t("password.set")
  return (
    <DialogForm title={title} submit={title} {...{ save, onChanged, close }}>
      <PasswordField
        label={t("password.new")}
        hint={t("users.password_hint")}
        show={t("field.show")}
        hide={t("field.hide")}
        {...field("password")}
        autoComplete="new-password"
        required
        autoFocus
      />
      <Check
        label={t("password.must_change")}
        hint={t("password.must_change_hint")}
        checked={changeRequired}
        onChange={setRequired}
      />
    </DialogForm>
  )
}
