import { Fault } from "../../kernel/fault.ts"

/** The fault for an invalid text. */
export const invalidTextError = (requirement: string): Fault =>
  new Fault("invalid_argument", "text.value_invalid", requirement)
