import { toBinary, toJson } from "@bufbuild/protobuf"
import type { Fault } from "../../kernel/fault.ts"
import { textOf } from "../faults.ts"
import { detailMessages } from "./detail.ts"

/** The body of a failed Connect call. */
export const connectErrorOf = (fault: Fault): object => ({
  code: fault.code,
  message: textOf(fault),
  details: detailMessages(fault).map(({ desc, value }) => ({
    type: desc.typeName,
    value: Buffer.from(toBinary(desc, value)).toString("base64").replace(/=+$/, ""),
    debug: toJson(desc, value),
  })),
})
