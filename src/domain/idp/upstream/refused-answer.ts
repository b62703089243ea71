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

/** Details of a broken rule for administrators: received and expected values, never a secret. */
export type AnswerFinding = {
  readonly rule: AnswerRule
  /** The claim or part of the answer that the value is from. */
  readonly subject: string
  readonly received: string
  readonly expected: readonly string[]
}

type RefusedAnswer = Error & { readonly finding: AnswerFinding }

/** An error for an answer that breaks a protocol rule. */
export function refusedAnswer(finding: AnswerFinding, options?: ErrorOptions): RefusedAnswer {
  const { subject, received, expected } = finding
  const expectedText = expected.length > 0 ? `, expected ${expected.join(" or ")}` : ""
  const message = `${subject} is invalid: received ${received || "nothing"}${expectedText}`
  return Object.assign(new Error(message, options), { finding })
}

const isRefusedAnswer = (cause: unknown): cause is RefusedAnswer =>
  cause instanceof Error && "finding" in cause

/** Formats the value of a claim for display. */
export const formatClaim = (value: unknown): string =>
  value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value)

/** Details of a rejected answer; undefined if none were recorded. */
export function answerFindingOf(cause: unknown): AnswerFinding | undefined {
  if (isRefusedAnswer(cause)) return cause.finding
  return cause instanceof Error && cause.cause ? answerFindingOf(cause.cause) : undefined
}
