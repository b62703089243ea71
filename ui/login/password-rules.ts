import type { PageProps } from "./frame.tsx"

/** What a new password must have. */
export type PasswordRules = {
  readonly minLength: number
  readonly hasUppercase: boolean
  readonly hasLowercase: boolean
  readonly hasNumber: boolean
  readonly hasSymbol: boolean
}

/** The rules as one list, in the reader's language. */
export function rulesIn(t: PageProps["t"], rules: PasswordRules): string {
  const { minLength: count, hasUppercase, hasLowercase, hasNumber, hasSymbol } = rules
  const parts = [
    t("password_rule.length", { count }),
    hasUppercase && t("password_rule.uppercase"),
    hasLowercase && t("password_rule.lowercase"),
    hasNumber && t("password_rule.number"),
    hasSymbol && t("password_rule.symbol"),
  ]
  return parts.filter((part) => part !== false).join(", ")
}
