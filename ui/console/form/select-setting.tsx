import type { DescMethod } from "@bufbuild/protobuf"
import { useState } from "react"
import { SelectField } from "../../kit/index.ts"
import {
  type Changed,
  isUndecided,
  parseChanged,
  RefusalAlert,
  undecidedError,
  useAction,
  useIsPermitted,
} from "../shell/index.ts"
import { ConflictBox } from "./conflict.tsx"
import { namesIn } from "./lines.ts"

type SelectSettingProps<Name extends string, Value> = {
  readonly needs: DescMethod
  readonly label: string
  readonly hint?: string
  readonly options: Readonly<Record<Name, Value>>
  readonly format: (name: Name) => string
  /** The current value; the first option if it isn't one of them. */
  readonly current: Value
  readonly act: (chosen: Value) => Promise<unknown>
}

/** A selection that is saved immediately, for callers with permission. */
export function SelectSetting<Name extends string, Value>(props: SelectSettingProps<Name, Value>) {
  const { needs, label, hint, options: of, format: toLabel, current, act } = props
  const may = useIsPermitted()
  const names = namesIn(of)
  const [first] = names
  const chosen = names.find((name) => of[name] === current) ?? first
  const [picked, setPicked] = useState<Name>()
  const [changed, setChanged] = useState<Changed>()
  /** `base` is the value that was displayed when the user selected. */
  const action = useAction(
    async (name: Name, base: Name) => {
      if (name === chosen) return
      if (base !== chosen) throw undecidedError()
      setPicked(name)
      try {
        await act(of[name])
      } catch (failure) {
        setChanged(parseChanged(failure))
        throw failure
      }
    },
    () => setPicked(undefined),
  )
  if (chosen === undefined) return null
  const isContested = action.refusal !== undefined && isUndecided(action.refusal)
  const decide = (_: unknown, keeps: "mine" | "theirs") => {
    if (picked !== undefined) action.run(keeps === "mine" ? picked : chosen, chosen)
  }
  return (
    <div className="form">
      <SelectField
        label={label}
        hint={hint}
        options={names.map((value) => ({ value, label: toLabel(value) }))}
        value={chosen}
        disabled={!may(needs)}
        onChange={(name) => action.run(name, chosen)}
      />
      {isContested && picked !== undefined && (
        <ConflictBox
          form={{ changed, decide }}
          conflict={{ name: label, theirs: toLabel(chosen), mine: toLabel(picked) }}
          label={label}
        />
      )}
      <RefusalAlert refusal={action.refusal} />
    </div>
  )
}
