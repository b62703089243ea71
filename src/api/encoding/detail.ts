import { type DescMessage, fromJson, type Message } from "@bufbuild/protobuf"
import { ErrorDetailSchema } from "../../gen/core/v1/error_pb.ts"
import {
  BadRequestSchema,
  PreconditionFailureSchema,
} from "../../gen/google/rpc/error_details_pb.ts"
import type { Fault } from "../../kernel/fault.ts"
import { detailsOf } from "../faults.ts"

/** All messages that an error can contain as a detail. */
export const detailSchemas: readonly DescMessage[] = [
  ErrorDetailSchema,
  BadRequestSchema,
  PreconditionFailureSchema,
]

const schemas = new Map(detailSchemas.map((each) => [each.typeName, each]))

type DetailMessage = { readonly desc: DescMessage; readonly value: Message }

/** The details of a fault as messages. */
export const detailMessages = (fault: Fault): DetailMessage[] =>
  detailsOf(fault).map(({ type, value }) => {
    const desc = schemas.get(type)
    if (!desc) throw new Error(`${type} is not an error detail`)
    return { desc, value: fromJson(desc, value) }
  })
