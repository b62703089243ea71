import type { Timestamp } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError } from "@connectrpc/connect"
import { ErrorDetailSchema } from "../../../src/gen/core/v1/error_pb.ts"
import {
  BadRequestSchema,
  PreconditionFailureSchema,
} from "../../../src/gen/google/rpc/error_details_pb.ts"

/** Why the server refused: a stable id, and its words. */
export type Refusal = {
  readonly id: string
  readonly message: string
  readonly code: Code
  /** The field that it is about, as messages call it: displayName. */
  readonly field?: string
  /** What that field should hold instead. */
  readonly wanted?: string
  /** The condition that is not met, and how it is instead. */
  readonly condition?: Condition
  /** All of them, where several are not met. */
  readonly conditions?: readonly Condition[]
}

type Condition = { readonly type: string; readonly subject: string; readonly description: string }

/** The id of what never reached the server. */
export const unreachable = "console.unreachable"

export function refusalOf(failure: unknown): Refusal {
  const error = ConnectError.from(failure)
  const [detail] = error.findDetails(ErrorDetailSchema)
  if (detail) {
    return {
      id: detail.id,
      message: detail.message,
      code: error.code,
      ...fieldIn(error),
      ...conditionIn(error),
    }
  }
  const isLost = error.code === Code.Unavailable && error.cause instanceof TypeError
  return { id: isLost ? unreachable : "", message: error.rawMessage, code: error.code }
}

function fieldIn(error: ConnectError): Pick<Refusal, "field" | "wanted"> {
  const [violation] = error.findDetails(BadRequestSchema)[0]?.fieldViolations ?? []
  if (!violation) return {}
  // The book names fields in snake_case, and a form has no messages within messages.
  const name = violation.field.split(".").at(-1) ?? ""
  const field = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  return { field, wanted: violation.description }
}

function conditionIn(error: ConnectError): Pick<Refusal, "condition" | "conditions"> {
  const conditions = error.findDetails(PreconditionFailureSchema)[0]?.violations ?? []
  const [condition] = conditions
  return condition ? { condition, conditions } : {}
}

/** The sign-in is too old for a change of how one signs in (RFC 9470). */
export const isTooOld = ({ id }: Refusal): boolean => id === "session.sign_in_too_old"

const staleId = "edit.stale"

/** The thing has changed since it was read; nothing was changed. */
export const isStale = ({ id }: Refusal): boolean => id === staleId

/** Who has changed a thing last, and when. */
export type Changed = { readonly by: string; readonly at: Timestamp | undefined }

/** What the server says of the change because of which nothing was saved. */
export function changedIn(failure: unknown): Changed | undefined {
  const [detail] = ConnectError.from(failure).findDetails(ErrorDetailSchema)
  if (detail?.id !== staleId) return undefined
  return { by: detail.changedBy || detail.changedByUserId, at: detail.changeDate }
}

const undecidedId = "console.undecided"

/** Two people have changed the same field, and the second one has not said which value to keep. */
export const undecided = (): ConnectError => refusedHere(undecidedId, Code.Aborted)

/** A refusal of the page itself, which is shown like one of the server; its words are by its id. */
export const refusedHere = (id: string, code = Code.FailedPrecondition): ConnectError =>
  new ConnectError("", code, undefined, [{ desc: ErrorDetailSchema, value: { id } }])

export const isUndecided = ({ id }: Refusal): boolean => id === undecidedId

/** What changes nothing is no failure of whoever saved it as it was. */
export async function unless<Answer>(id: string, change: Promise<Answer>) {
  try {
    return await change
  } catch (failure) {
    if (refusalOf(failure).id !== id) throw failure
    return undefined
  }
}

/** Whether the server refused because the person may not do or see this. */
export const isDenied = ({ code }: Refusal): boolean => code === Code.PermissionDenied

/** The same for a part of what one sees; what may not be known of is answered like what is not. */
export const isHidden = (refusal: Refusal): boolean =>
  isDenied(refusal) || refusal.code === Code.NotFound
