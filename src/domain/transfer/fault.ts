import type { Fault } from "../../kernel/fault.ts"

/** Whether the server could not run the request, regardless of the request. */
export const isServerFault = ({ code }: Fault): boolean =>
  code === "unavailable" || code === "data_loss" || code === "internal"

/**
 * The message of a fault with its preconditions, because an import report has no separate field for
 * them.
 */
export function describeFault({ message, preconditions }: Fault): string {
  if (preconditions.length === 0) return message
  const listed = preconditions.map(({ subject, description }) => `${subject} (${description})`)
  return `${message}: ${listed.join("; ")}`
}
