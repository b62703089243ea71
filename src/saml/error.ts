import { Fault } from "../kernel/fault.ts"
import type { MessageReading } from "../xml/read.ts"

/** The error for a message that is rejected before its sender can receive a response. */
export const rejectedError = (message: string): Fault =>
  new Fault("invalid_argument", "saml.refused", message)

/** Options for parsing messages. */
export const readingOptions: MessageReading = {
  name: "the SAML message",
  refusedError: rejectedError,
}
