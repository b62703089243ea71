import { Fault } from "../../kernel/fault.ts"

/** What a caller gets who says what can't be meant. */
export const refusedError = (wanted: string): Fault =>
  new Fault("invalid_argument", "text.value_invalid", wanted)
