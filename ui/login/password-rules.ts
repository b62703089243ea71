import type { PageProps } from "./frame.tsx"

/** The requirements for a new password. */
export type PasswordRules = {
  readonly minLength: number
  readonly hasUppercase: boolean
  readonly hasLowercase: boolean
  readonly hasNumber: boolean
  readonly hasSymbol: boolean
}

/** One rule, with its name for the page's script and its text for users. */
export type PasswordRule = { readonly name: RuleName; readonly text: string }

/** `length` is at least `minLength` characters. */
export type RuleName = "length" | "uppercase" | "lowercase" | "number" | "symbol"

/** The rules that apply, in the user's language. */
export function listRules(t: PageProps["t"], rules: PasswordRules): readonly PasswordRule[] {
  const { minLength: count, hasUppercase, hasLowercase, hasNumber, hasSymbol } = rules
  const applies: Readonly<Record<Exclude<RuleName, "length">, boolean>> = {
    uppercase: hasUppercase,
    lowercase: hasLowercase,
    number: hasNumber,
    symbol: hasSymbol,
  }
  const kinds = (["uppercase", "lowercase", "number", "symbol"] as const).filter(
    (name) => applies[name],
  )
  return [
    { name: "length", text: t("password_rule.length", { count }) },
    ...kinds.map((name) => ({ name, text: t(`password_rule.${name}`) })),
  ]
}

/** The rules as one line. */
export const formatRules = (t: PageProps["t"], rules: PasswordRules): string =>
  listRules(t, rules)
    .map(({ text }) => text)
    .join(", ")
