import { Fault } from "../../kernel/fault.ts"

/** "project.role.added" as people read it; events are named in words. */
export const wordsOf = (type: string): string =>
  type.charAt(0).toUpperCase() + type.slice(1).replaceAll(/[._]/g, " ")

/** Zero is what a query says that does not say it. */
export function sequenceOf(sequence = 0n): number | undefined {
  if (sequence > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new Fault("invalid_argument", "page.offset_out_of_range", "sequence is out of range")
  }
  return sequence === 0n ? undefined : Number(sequence)
}
