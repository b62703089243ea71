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
 * A request field with an invalid value, by its path of proto names, and the requirement as a
 * phrase that follows the name (google.rpc.BadRequest.FieldViolation).
 */
export type FieldViolation = { readonly field: string; readonly description: string }

/**
 * A precondition that is not met: its type, subject and actual state
 * (google.rpc.PreconditionFailure.Violation).
 */
export type Precondition = {
  readonly type: string
  readonly subject: string
  readonly description: string
}

/** A change that the caller has not read: its time, ms UTC, and its author. */
export type LaterChange = {
  /** Empty if unknown, or if the caller can't read the user. */
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
 * An expected failure that a caller may see: `code` is its category, `id` is stable and greppable
 * ("project.missing"), `message` describes in plain words what happened and what to do. Any other
 * error, except an OAuthError, is a bug and never reaches a caller.
 */
export class Fault extends Error {
  readonly code: Code
  readonly id: string
  /** When to retry, after too many attempts. */
  readonly retryAfterSeconds: number | undefined
  /** RFC 9470 §3: the maximum age of the sign-in that this requires. */
  readonly maxAgeSeconds: number | undefined
  /** The invalid field. */
  readonly violation: FieldViolation | undefined
  readonly preconditions: readonly Precondition[]
  /** The last change that the caller has not read, if that is why the call is rejected. */
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

/** Creates a fault for an invalid request field; the details contain the field. */
export const fieldError = (id: string, field: string, requirement: string): Fault =>
  new Fault("invalid_argument", id, `${field} ${requirement}`, {
    violation: { field, description: requirement },
  })

/** Creates the fault for an update that would overwrite a change the caller has not read. */
export const staleEditError = (change: LaterChange): Fault =>
  new Fault(
    "aborted",
    "edit.stale",
    "the resource was changed after you read it; read it again, then repeat your change",
    { change },
  )

/** Creates the fault for a request that exceeded its deadline. */
export const deadlineExceededError = (): Fault =>
  new Fault("deadline_exceeded", "request.late", "the request exceeded its deadline")

/** An error message for logs and users, without the class name, which the build minifies. */
export const errorText = (cause: unknown): string =>
  cause instanceof Error ? cause.message : String(cause)

/** The error message with its stack, for bugs. */
export function stackText(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const frames = cause.stack?.split("\n").filter((line) => /^\s+at /.test(line)) ?? []
  return [cause.message, ...frames].join("\n")
}
