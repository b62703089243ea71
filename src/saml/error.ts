import { Fault } from "../kernel/fault.ts"
import type { Reading } from "../xml/read.ts"

/** What a message is refused for before anybody can be told but the person who brought it. */
export const refusedError = (message: string): Fault =>
  new Fault("invalid_argument", "saml.refused", message)

/** How messages are read here. */
export const reading: Reading = { name: "the SAML message", refusedError }
