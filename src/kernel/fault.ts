/** The sixteen error codes of gRPC, by their Connect names. */
export const codes = [
  "canceled",
  "unknown",
  "invalid_argument",
  "deadline_exceeded",
  "not_found",
  "already_exists",
  "permission_denied",
  "resource_exhausted",
  "failed_precondition",
  "aborted",
  "out_of_range",
  "unimplemented",
  "internal",
  "unavailable",
  "data_loss",
  "unauthenticated",
] as const

export type Code = (typeof codes)[number]

/**
 * An expected failure that a caller may see: `code` says what kind, `id` is stable and greppable
 * ("project.missing"), `message` says in plain words what happened and what to do.
 * Anything thrown that is neither a Fault nor an OAuthError is a bug and never reaches a caller.
 */
export class Fault extends Error {
  readonly code: Code
  readonly id: string
  /** When it is worth trying again, for who has tried too often. */
  readonly retryAfterSeconds: number | undefined

  constructor(
    code: Code,
    id: string,
    message: string,
    options?: { cause?: unknown; retryAfterSeconds?: number },
  ) {
    super(message, options)
    this.name = "Fault"
    this.code = code
    this.id = id
    this.retryAfterSeconds = options?.retryAfterSeconds
  }
}

/** What is not answered in the time that its caller gave it. */
export const lateError = (): Fault =>
  new Fault("deadline_exceeded", "request.late", "this took longer than you allowed")
