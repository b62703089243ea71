import type { DescMethod } from "@bufbuild/protobuf"
import { useState } from "react"
import { SelectField } from "../../kit/index.ts"
import {
  type Changed,
  changedIn,
  isUndecided,
  RefusalAlert,
  undecided,
  useAction,
  useMay,
} from "../shell/index.ts"
import { ConflictBox } from "./conflict.tsx"
import { namesIn } from "./lines.ts"

type SelectSettingProps<Name extends string, Value> = {
  readonly needs: DescMethod
  readonly label: string
  readonly hint?: string
  readonly of: Readonly<Record<Name, Value>>
  readonly words: (name: Name) => string
  /** What holds; the first of them where it is none. */
  readonly current: Value
  readonly act: (chosen: Value) => Promise<unknown>
}

/** One of several, chosen where it stands by who may, that counts at once. */
export function SelectSetting<Name extends string, Value>(props: SelectSettingProps<Name, Value>) {
  const { needs, label, hint, of, words, current, act } = props
  const may = useMay()
  const names = namesIn(of)
  const [first] = names
  const chosen = names.find((name) => of[name] === current) ?? first
  const [picked, setPicked] = useState<Name>()
  const [changed, setChanged] = useState<Changed>()
  /** `base` is what the person saw when they chose. */
  const action = useAction(
    async (name: Name, base: Name) => {
      if (name === chosen) return
      if (base !== chosen) throw undecided()
      setPicked(name)
      try {
        await act(of[name])
      } catch (failure) {
        setChanged(changedIn(failure))
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
        options={names.map((value) => ({ value, label: words(value) }))}
        value={chosen}
        disabled={!may(needs)}
        onChange={(name) => action.run(name, chosen)}
      />
      {isContested && picked !== undefined && (
        <ConflictBox
          form={{ changed, decide }}
          conflict={{ name: label, theirs: words(chosen), mine: words(picked) }}
          label={label}
        />
      )}
      <RefusalAlert refusal={action.refusal} />
    </div>
  )
}
