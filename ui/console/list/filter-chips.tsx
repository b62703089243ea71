import type { ReactNode } from "react"
import { Chips } from "../../kit/index.ts"
import { t } from "../shell/index.ts"
import { useFilter } from "./list-state.ts"

type FilterChips<Value extends string> = {
  readonly chosen: Value
  /** For the list: what chooses, and whether anything but the first of them is. */
  readonly filter: { readonly filters: ReactNode; readonly filtered: boolean }
}

/** What narrows a list: one of a few, in its address; the first of them is all. */
export function useFilterChips<Value extends string>(
  part: string,
  values: readonly [Value, ...Value[]],
  words: (value: Value) => string,
  list = "",
): FilterChips<Value> {
  const [chosen, choose] = useFilter(part, values, list)
  const filters = (
    <Chips
      legend={t("list.filter")}
      name={list + part}
      options={values.map((value) => ({ value, label: words(value) }))}
      value={chosen}
      onChange={choose}
    />
  )
  return { chosen, filter: { filters, filtered: chosen !== values[0] } }
}
