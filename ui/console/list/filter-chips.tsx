import type { ReactNode } from "react"
import { Chips } from "../../kit/index.ts"
import { t } from "../shell/index.ts"
import { useFilter } from "./list-state.ts"

type FilterChips<Value extends string> = {
  readonly selected: Value
  /** Props for the list: the chips, and whether a value other than the first is selected. */
  readonly filter: { readonly filters: ReactNode; readonly filtered: boolean }
}

/** A filter with a few values, stored in the URL; the first value means all. */
export function useFilterChips<Value extends string>(
  part: string,
  values: readonly [Value, ...Value[]],
  label: (value: Value) => string,
  list = "",
): FilterChips<Value> {
  const [chosen, choose] = useFilter(part, values, list)
  const filters = (
    <Chips
      legend={t("list.filter")}
      name={list + part}
      options={values.map((value) => ({ value, label: label(value) }))}
      value={chosen}
      onChange={choose}
    />
  )
  return { selected: chosen, filter: { filters, filtered: chosen !== values[0] } }
}
