import { Fault } from "../../../kernel/fault.ts"
import type { Filter } from "../condition.ts"
import type { TextMethod } from "./text-condition.ts"

/** The methods of the interface, v1 and v2 alike: each number, and the next that ignores case. */
const methods: readonly TextMethod[] = ["equals", "starts_with", "contains", "ends_with"]

/**
 * A filter on a text column by a method of the interface (0–7). Methods that ignore case compare
 * with `<column>_folded`, which a table keeps beside the column.
 */
export function textFilter(column: string, value: string, method: number): Filter {
  const named = methods[method >> 1]
  if (!named) {
    throw new Fault("invalid_argument", "search.method_unknown", `method ${method} is not known`)
  }
  return method & 1
    ? { text: `${column}_folded`, method: named, value }
    : { text: column, method: named, value }
}
