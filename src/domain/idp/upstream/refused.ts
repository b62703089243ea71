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

/** An answer that breaks a rule of its protocol. */
export class RefusedAnswer extends Error {
  override readonly name = "RefusedAnswer"
  readonly finding: AnswerFinding

  constructor(finding: AnswerFinding, options?: ErrorOptions) {
    const { subject, received, expected } = finding
    const wanted = expected.length > 0 ? `, expected ${expected.join(" or ")}` : ""
    super(`${subject} is not accepted: received ${received || "nothing"}${wanted}`, options)
    this.finding = finding
  }
}

/** A value of a claim as it is shown. */
export const shownClaim = (value: unknown): string =>
  value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value)

/** What an answer was refused for; undefined where nothing recorded it. */
export function answerFindingOf(cause: unknown): AnswerFinding | undefined {
  if (cause instanceof RefusedAnswer) return cause.finding
  return cause instanceof Error && cause.cause ? answerFindingOf(cause.cause) : undefined
}
