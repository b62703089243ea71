import { useNavigate, useSearch } from "@tanstack/react-router"
import { useCallback } from "react"
import { useOpenForm } from "../form/index.ts"

/** The state of a list, stored in the URL, so that Back and shared links restore it. */
export type ListState = {
  readonly get: (name: string) => string | undefined
  /** Undefined values restore the default. `quietly` replaces the history entry. */
  readonly set: (changed: ChangedParameters, mode?: "quietly") => void
}

type ChangedParameters = Readonly<Record<string, string | undefined>>

/** `name` distinguishes lists on the same page; the main list has none. */
export function useListState(name = ""): ListState {
  const search = useSearch({ from: "__root__" })
  const navigate = useNavigate()
  const keyOf = useCallback((part: string) => (name ? `${name}-${part}` : part), [name])
  const set: ListState["set"] = (changed, mode) => {
    const entries = Object.entries(changed).map(([part, value]) => [keyOf(part), value])
    const parameters = Object.fromEntries(entries)
    void navigate({
      to: ".",
      search: (before) => ({ ...before, ...parameters }),
      replace: mode === "quietly",
      resetScroll: false,
    })
  }
  return { get: (part) => search[keyOf(part)], set }
}

/** A filter with a few values; the first is the default. */
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

/**
 * Whether the form for a new entry is open: by its button, by a link, or because it has a draft.
 */
export function useCreating(family: string): readonly [boolean, (open: boolean) => void] {
  const { get, set } = useListState()
  const [open, setOpen] = useOpenForm(family)
  const setCreating = (on: boolean) => {
    setOpen(on ? "new" : undefined)
    if (!on && get("create")) set({ create: undefined }, "quietly")
  }
  return [open !== undefined || get("create") !== undefined, setCreating]
}
