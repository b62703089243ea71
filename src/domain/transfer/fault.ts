import type { Fault } from "../../kernel/fault.ts"

/** Whether the server could not do it, whatever was asked. */
export const isOurs = ({ code }: Fault): boolean =>
  code === "unavailable" || code === "data_loss" || code === "internal"

/** What a refusal says, and what it lists: a report of an import has no other place for that. */
export function messageOf({ message, preconditions }: Fault): string {
  if (preconditions.length === 0) return message
  const listed = preconditions.map(({ subject, description }) => `${subject} (${description})`)
  return `${message}: ${listed.join("; ")}`
}
