import { useNavigate, useSearch } from "@tanstack/react-router"
import { useCallback } from "react"
import { useOpen } from "../form/index.ts"

/** Where a list stands: it is part of the address, so that Back and a link lead to the same. */
export type ListState = {
  readonly get: (name: string) => string | undefined
  /** What is undefined goes back to what holds by itself. `quietly`: Back does not stop here. */
  readonly set: (changed: Changed, how?: "quietly") => void
}

type Changed = Readonly<Record<string, string | undefined>>

/** `name` tells the lists of one page apart; the page's own list has none. */
export function useListState(name = ""): ListState {
  const search = useSearch({ from: "__root__" })
  const navigate = useNavigate()
  const keyOf = useCallback((part: string) => (name ? `${name}-${part}` : part), [name])
  const set: ListState["set"] = (changed, how) => {
    const entries = Object.entries(changed).map(([part, value]) => [keyOf(part), value])
    const wanted = Object.fromEntries(entries)
    void navigate({
      to: ".",
      search: (before) => ({ ...before, ...wanted }),
      replace: how === "quietly",
      resetScroll: false,
    })
  }
  return { get: (part) => search[keyOf(part)], set }
}

/** One of a few that narrows a list; the first of them holds where nothing is said. */
export function useFilter<Value extends string>(
  part: string,
  values: readonly [Value, ...Value[]],
  name = "",
): readonly [Value, (value: Value) => void] {
  const { get, set } = useListState(name)
  const [first] = values
  const chosen = values.find((value) => value === get(part)) ?? first
  return [chosen, (value) => set({ [part]: value === first ? undefined : value, at: undefined })]
}

/** Whether the form that makes a new one is open: by its button, by a link, or by its draft. */
export function useCreating(family: string): readonly [boolean, (open: boolean) => void] {
  const { get, set } = useListState()
  const [open, setOpen] = useOpen(family)
  const turn = (on: boolean) => {
    setOpen(on ? "new" : undefined)
    if (!on && get("create")) set({ create: undefined }, "quietly")
  }
  return [open !== undefined || get("create") !== undefined, turn]
}
