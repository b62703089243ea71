/**
 * OpenID Connect Core §2: how sure we are of who signed in, as levels of ISO/IEC 29115. "1": by a
 * password, a code that was mailed, or better; "2": by more than one factor; "0", below them, is
 * never enough to get in. Discovery names them.
 */
export const acrValues = ["1", "2"] as const

/** What a sign-in by these methods (RFC 8176) is worth, best last. */
const acrsOf = (methods: readonly string[]): readonly string[] =>
  methods.includes("mfa") ? acrValues : methods.some((name) => singles.includes(name)) ? ["1"] : []

const singles: readonly string[] = ["pwd", "otp"]

/** The best wanted value that a sign-in reaches; any will do where none is named. */
export const acrFor = (wanted: readonly string[], methods: readonly string[]): string | undefined =>
  acrsOf(methods).findLast((acr) => wanted.length === 0 || wanted.includes(acr))
