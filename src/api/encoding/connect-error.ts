import { toBinary, toJson } from "@bufbuild/protobuf"
import type { Fault } from "../../kernel/fault.ts"
import { detailsOf, textOf } from "../faults.ts"

/** The body of a failed Connect call. */
export const connectErrorOf = (fault: Fault): object => ({
  code: fault.code,
  message: textOf(fault),
  details: detailsOf(fault).map(({ desc, value }) => ({
    type: desc.typeName,
    value: Buffer.from(toBinary(desc, value)).toString("base64").replace(/=+$/, ""),
    debug: toJson(desc, value),
  })),
})
