import type { Fault } from "../../kernel/fault.ts"

/** Whether the server could not do it, whatever was asked. */
export const isOurs = ({ code }: Fault): boolean =>
  code === "unavailable" || code === "data_loss" || code === "internal"
