import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { Receipt } from "../../store/index.ts"

/** A time as messages carry it. */
export const at = (ms: number): Timestamp => timestampFromMs(ms)

/** Where a resource stands, as the answers of both versions say it. */
export const details = ({
  position,
  created,
  changed,
  owner,
}: Omit<Receipt, "id" | "version">) => ({
  sequence: BigInt(position),
  creationDate: at(created),
  changeDate: at(changed),
  resourceOwner: owner,
})

/** What an enum's value stands for; the pipeline refuses values that the book doesn't know. */
export function meaning<T>(table: Readonly<Record<number, T>>, value: number): T {
  const found = table[value]
  if (found === undefined) throw new Error(`no meaning for enum value ${value}`)
  return found
}
