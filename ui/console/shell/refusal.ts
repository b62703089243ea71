import type { Timestamp } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError } from "@connectrpc/connect"
import { ErrorDetailSchema } from "../../../src/gen/core/v1/error_pb.ts"
import {
  BadRequestSchema,
  PreconditionFailureSchema,
} from "../../../src/gen/google/rpc/error_details_pb.ts"

/** An error of the server: a stable ID and a message. */
export type Refusal = {
  readonly id: string
  readonly message: string
  readonly code: Code
  /** The message field it refers to: displayName. */
  readonly field?: string
  /** What the field must contain. */
  readonly expected?: string
  /** The unmet condition and the current state. */
  readonly condition?: Condition
  /** All unmet conditions, if there are several. */
  readonly conditions?: readonly Condition[]
}

type Condition = { readonly type: string; readonly subject: string; readonly description: string }

/** ID of an error for a request that did not reach the server. */
export const unreachableId = "console.unreachable"

export function refusalOf(failure: unknown): Refusal {
  const error = ConnectError.from(failure)
  const [detail] = error.findDetails(ErrorDetailSchema)
  if (detail) {
    return {
      id: detail.id,
      message: detail.message,
      code: error.code,
      ...parseField(error),
      ...parseConditions(error),
    }
  }
  const isLost = error.code === Code.Unavailable && error.cause instanceof TypeError
  return { id: isLost ? unreachableId : "", message: error.rawMessage, code: error.code }
}

function parseField(error: ConnectError): Pick<Refusal, "field" | "expected"> {
  const [violation] = error.findDetails(BadRequestSchema)[0]?.fieldViolations ?? []
  if (!violation) return {}
  // API field names are in snake_case, and forms have no nested messages.
  const name = violation.field.split(".").at(-1) ?? ""
  const field = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  return { field, expected: violation.description }
}

function parseConditions(error: ConnectError): Pick<Refusal, "condition" | "conditions"> {
  const conditions = error.findDetails(PreconditionFailureSchema)[0]?.violations ?? []
  const [condition] = conditions
  return condition ? { condition, conditions } : {}
}

/** The sign-in is too old to change credentials (RFC 9470). */
export const isSignInTooOld = ({ id }: Refusal): boolean => id === "session.sign_in_too_old"

const staleId = "edit.stale"

/** The resource has changed since it was read; nothing was saved. */
export const isStale = ({ id }: Refusal): boolean => id === staleId

/** The author and time of the last change. */
export type Changed = { readonly by: string; readonly at: Timestamp | undefined }

/** Details of the concurrent change, from the server's error. */
export function parseChanged(failure: unknown): Changed | undefined {
  const [detail] = ConnectError.from(failure).findDetails(ErrorDetailSchema)
  if (detail?.id !== staleId) return undefined
  return { by: detail.changedBy || detail.changedByUserId, at: detail.changeDate }
}

const undecidedId = "console.undecided"

/** Two users changed the same field, and the second one has not decided which value to keep. */
export const undecidedError = (): ConnectError => localError(undecidedId, Code.Aborted)

/** An error of the page itself, shown like one of the server; its text depends on the ID. */
export const localError = (id: string, code = Code.FailedPrecondition): ConnectError =>
  new ConnectError("", code, undefined, [{ desc: ErrorDetailSchema, value: { id } }])

export const isUndecided = ({ id }: Refusal): boolean => id === undecidedId

/** Ignores the error with this ID, such as an unchanged save. */
export async function ignoreError<Answer>(id: string, change: Promise<Answer>) {
  try {
    return await change
  } catch (failure) {
    if (refusalOf(failure).id !== id) throw failure
    return undefined
  }
}

/** Whether the caller lacks permission. */
export const isDenied = ({ code }: Refusal): boolean => code === Code.PermissionDenied

/**
 * Whether a part of a page should be hidden: the caller lacks permission, or the server hides its
 * existence.
 */
export const isHidden = (refusal: Refusal): boolean =>
  isDenied(refusal) || refusal.code === Code.NotFound
