import type { PageProps } from "./frame.tsx"
import { listRules, type PasswordRules } from "./password-rules.ts"

type PasswordChecklistProps = Pick<PageProps, "t"> & { readonly rules: PasswordRules }

/** The rules of a new password, one per line. The page's script marks those that are met. */
export function PasswordChecklist({ t, rules }: PasswordChecklistProps) {
  return (
    <ul className="password-rules" data-password-rules={rules.minLength}>
      {listRules(t, rules).map(({ name, text }) => (
        <li key={name} data-rule={name}>
          {text}
        </li>
      ))}
      {/* Only the server has this list. */}
      <li>{t("password_rule.common")}</li>
    </ul>
  )
}
