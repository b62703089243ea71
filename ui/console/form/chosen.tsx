import type { DescMethod } from "@bufbuild/protobuf"
import { SelectField } from "../../kit/index.ts"
import { Refused, useAction, useMay } from "../shell/index.ts"

type ChosenProps<Name extends string, Value> = {
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
export function Chosen<Name extends string, Value>(props: ChosenProps<Name, Value>) {
  const { needs, label, hint, of, words, current, act } = props
  const may = useMay()
  const action = useAction((name: Name) => act(of[name]))
  const names = namesOf(of)
  const [first] = names
  const chosen = names.find((name) => of[name] === current) ?? first
  if (chosen === undefined) return null
  return (
    <div className="form">
      <SelectField
        {...{ label, hint }}
        options={names.map((value) => ({ value, label: words(value) }))}
        value={chosen}
        disabled={!may(needs)}
        onChange={action.run}
      />
      <Refused refusal={action.refusal} />
    </div>
  )
}

function namesOf<Name extends string>(of: Readonly<Record<Name, unknown>>): readonly Name[]
function namesOf(of: object): readonly string[] {
  return Object.keys(of)
}
