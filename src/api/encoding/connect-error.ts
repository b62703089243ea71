import { create, toBinary } from "@bufbuild/protobuf"
import { ErrorDetailSchema } from "../../gen/core/v1/error_pb.ts"
import type { Fault } from "../../kernel/fault.ts"
import { textOf } from "../faults.ts"

/** The body of a failed Connect call. */
export function connectErrorOf(fault: Fault): object {
  const { code, id, message } = fault
  const value = Buffer.from(toBinary(ErrorDetailSchema, create(ErrorDetailSchema, { id, message })))
  const detail = {
    type: ErrorDetailSchema.typeName,
    value: value.toString("base64").replace(/=+$/, ""),
    debug: { id, message },
  }
  return { code, message: textOf(fault), details: [detail] }
}
