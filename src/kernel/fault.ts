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
 * A field of a request that does not hold what it should, by its path of proto names, and what is
 * wanted instead, in words that go on after the name (google.rpc.BadRequest.FieldViolation).
 */
export type FieldViolation = { readonly field: string; readonly description: string }

/**
 * What a request wants to be so and is not: which condition, of what, and how it is instead
 * (google.rpc.PreconditionFailure.Violation).
 */
export type Precondition = {
  readonly type: string
  readonly subject: string
  readonly description: string
}

/** A change that a caller has not read: when it was made, ms UTC, and by whom. */
export type LaterChange = {
  /** Empty where nobody is known, or the caller may not read the user. */
  readonly userId: string
  readonly displayName: string
  readonly time: number
}

type FaultOptions = {
  readonly preconditions?: readonly Precondition[]
  readonly change?: LaterChange
  readonly cause?: unknown
  readonly retryAfterSeconds?: number
  readonly violation?: FieldViolation
  readonly maxAgeSeconds?: number
}

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
  /** RFC 9470 §3: how old the sign-in may be that this wants. */
  readonly maxAgeSeconds: number | undefined
  /** The one field that it is about. */
  readonly violation: FieldViolation | undefined
  readonly preconditions: readonly Precondition[]
  /** The last change that the caller has not read, where that is why the call is refused. */
  readonly change: LaterChange | undefined

  constructor(code: Code, id: string, message: string, options?: FaultOptions) {
    super(message, options)
    this.name = "Fault"
    this.code = code
    this.id = id
    this.retryAfterSeconds = options?.retryAfterSeconds
    this.maxAgeSeconds = options?.maxAgeSeconds
    this.violation = options?.violation
    this.preconditions = options?.preconditions ?? []
    this.change = options?.change
  }
}

/** A field of a request does not hold what it should; callers find the field in the details. */
export const fieldError = (id: string, field: string, wanted: string): Fault =>
  new Fault("invalid_argument", id, `${field} ${wanted}`, {
    violation: { field, description: wanted },
  })

/** An update that would replace a change that its caller has not read. */
export const staleError = (change: LaterChange): Fault =>
  new Fault(
    "aborted",
    "edit.stale",
    "this was changed after you read it; read it again, then repeat your change",
    { change },
  )

/** What is not answered in the time that its caller gave it. */
export const lateError = (): Fault =>
  new Fault("deadline_exceeded", "request.late", "this took longer than you allowed")

/**
 * A failure in a sentence, for logs and people. The name of its class is left out: some libraries
 * take it from the class itself, which the build has given a shorter one.
 */
export const reasonText = (cause: unknown): string =>
  cause instanceof Error ? cause.message : String(cause)

/** The same with where it happened, for what is a bug. */
export function traceText(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const frames = cause.stack?.split("\n").filter((line) => /^\s+at /.test(line)) ?? []
  return [cause.message, ...frames].join("\n")
}
