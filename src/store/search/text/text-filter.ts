import { Fault } from "../../../kernel/fault.ts"
import type { Filter } from "../condition.ts"
import type { TextMethod } from "./text-condition.ts"

/** The text methods of the API, in v1 and v2: each number, and the next one ignoring case. */
const methods: readonly TextMethod[] = ["equals", "starts_with", "contains", "ends_with"]

/**
 * A filter on a text column by an API method number (0–7). Methods that ignore case compare with
 * `<column>_folded`, which the table stores next to the column.
 */
export function textFilter(column: string, value: string, method: number): Filter {
  const methodName = methods[method >> 1]
  if (!methodName) {
    throw new Fault("invalid_argument", "search.method_unknown", `unknown method ${method}`)
  }
  return method & 1
    ? { text: `${column}_folded`, method: methodName, value }
    : { text: column, method: methodName, value }
}
