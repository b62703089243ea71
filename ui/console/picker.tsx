import { type ReactNode, useState } from "react"
import { TextField } from "../kit/field.tsx"
import { useHouse } from "./house.ts"
import { useLoad, useRested } from "./load.ts"

type PickerProps<Row> = {
  readonly label: string
  readonly hint?: string
  readonly value: string
  readonly onChange: (id: string) => void
  /** The first few that fit the text. */
  readonly read: (text: string, signal: AbortSignal) => Promise<readonly Row[]>
  readonly idOf: (row: Row) => string
  readonly show: (row: Row) => ReactNode
}

/** One of all that one may see, found by its name. */
export function Picker<Row>(props: PickerProps<Row>) {
  const { label, hint, value, onChange, read, idOf, show } = props
  const { t } = useHouse()
  const [text, setText] = useState("")
  const wanted = useRested(text.trim(), 150)
  const found = useLoad(`pick ${label}`, wanted, (signal) => read(wanted, signal))
  const rows: readonly Row[] = found.status === "ready" ? found.value : []
  return (
    <>
      <TextField
        label={label}
        hint={hint}
        error={found.status === "failed" ? found.message : undefined}
        placeholder={t("list.search")}
        type="search"
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          // Nothing stays chosen that the search no longer shows.
          onChange("")
        }}
        autoComplete="off"
        maxLength={200}
        autoFocus
      />
      <fieldset className="pick">
        <legend className="visually-hidden">{label}</legend>
        {rows.map((row) => (
          <label className="pick-row" key={idOf(row)}>
            <input
              type="radio"
              name="picked"
              checked={idOf(row) === value}
              onChange={() => onChange(idOf(row))}
            />
            {show(row)}
          </label>
        ))}
        {found.status === "ready" && rows.length === 0 && (
          <p className="quiet small">{t("list.nothing_found")}</p>
        )}
      </fieldset>
    </>
  )
}
