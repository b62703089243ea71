/** A rule that the answer of a provider breaks. */
export type AnswerRule =
  | "alg"
  | "at_hash"
  | "aud"
  | "azp"
  | "exp"
  | "iss"
  | "nonce"
  | "nonce_missing"
  | "other_aud"
  | "saml_audience"
  | "saml_confirmation"
  | "saml_destination"
  | "saml_encryption"
  | "saml_in_response_to"
  | "saml_issuer"
  | "saml_name_id"
  | "saml_signature"
  | "saml_status"
  | "saml_time"
  | "saml_version"
  | "signature"
  | "sub"
  | "userinfo_sub"

/** What broke a rule, for administrators: both values, never a secret. */
export type AnswerFinding = {
  readonly rule: AnswerRule
  /** What the value is: a claim, or a part of the answer. */
  readonly subject: string
  readonly received: string
  readonly expected: readonly string[]
}

type RefusedAnswer = Error & { readonly finding: AnswerFinding }

/** An answer that breaks a rule of its protocol. */
export function refusedAnswer(finding: AnswerFinding, options?: ErrorOptions): RefusedAnswer {
  const { subject, received, expected } = finding
  const wanted = expected.length > 0 ? `, expected ${expected.join(" or ")}` : ""
  const message = `${subject} is not accepted: received ${received || "nothing"}${wanted}`
  return Object.assign(new Error(message, options), { finding })
}

const isRefusedAnswer = (cause: unknown): cause is RefusedAnswer =>
  cause instanceof Error && "finding" in cause

/** A value of a claim as it is shown. */
export const shownClaim = (value: unknown): string =>
  value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value)

/** What an answer was refused for; undefined where nothing recorded it. */
export function answerFindingOf(cause: unknown): AnswerFinding | undefined {
  if (isRefusedAnswer(cause)) return cause.finding
  return cause instanceof Error && cause.cause ? answerFindingOf(cause.cause) : undefined
}
