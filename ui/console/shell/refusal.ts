import { Code, ConnectError } from "@connectrpc/connect"
import { ErrorDetailSchema } from "../../../src/gen/core/v1/error_pb.ts"

/** Why the server refused: a stable id, and its words. */
export type Refusal = { readonly id: string; readonly message: string; readonly code: Code }

/** The id of what never reached the server. */
export const unreachable = "console.unreachable"

export function refusalOf(failure: unknown): Refusal {
  const error = ConnectError.from(failure)
  const [detail] = error.findDetails(ErrorDetailSchema)
  if (detail) return { id: detail.id, message: detail.message, code: error.code }
  const isLost = error.code === Code.Unavailable && error.cause instanceof TypeError
  return { id: isLost ? unreachable : "", message: error.rawMessage, code: error.code }
}

/** Whether the server refused because the person may not do or see this. */
export const isDenied = ({ code }: Refusal): boolean => code === Code.PermissionDenied
