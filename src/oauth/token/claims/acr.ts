/**
 * OpenID Connect Core §2: the assurance of a sign-in as levels of ISO/IEC 29115. "1": a password,
 * an emailed code, or better; "2": more than one factor; "0", below these, is never sufficient.
 * Also in the discovery document.
 */
export const acrValues = ["1", "2"] as const

/** The levels that a sign-in with these methods (RFC 8176) satisfies, best last. */
const satisfiedLevels = (methods: readonly string[]): readonly string[] =>
  methods.includes("mfa")
    ? acrValues
    : methods.some((name) => singleFactorMethods.includes(name))
      ? ["1"]
      : []

const singleFactorMethods: readonly string[] = ["pwd", "otp"]

/** The best requested level that a sign-in satisfies; the best of all if none is requested. */
export const selectAcr = (
  requested: readonly string[],
  methods: readonly string[],
): string | undefined =>
  satisfiedLevels(methods).findLast((acr) => requested.length === 0 || requested.includes(acr))
