import type {
  DescMessage,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf"
import { createQueryOptions } from "@connectrpc/connect-query"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { type ReactNode, useState } from "react"
import { TextField } from "../../kit/index.ts"
import { isDenied, RefusalAlert, refusalOf, t, transport, useDebounced } from "../shell/index.ts"

type PickerProps<I extends DescMessage, O extends DescMessage, Row> = {
  readonly label: string
  readonly hint?: string
  readonly value: string
  readonly onChange: (id: string, row?: Row) => void
  readonly method: DescMethodUnary<I, O>
  /** Asks for the first few that fit a text. */
  readonly ask: (text: string) => MessageInitShape<I>
  readonly find: (answer: MessageShape<O>) => readonly Row[]
  /** What can be picked where the text finds nothing: an ID of something one may not see. */
  readonly otherwise?: (text: string) => readonly Row[]
  readonly idOf: (row: Row) => string
  readonly show: (row: Row) => ReactNode
  /** It is what a question begins with; not so on a page, which begins at its top. */
  readonly autoFocus?: boolean
}

/** One of all that one may see, found by its name. */
export function Picker<I extends DescMessage, O extends DescMessage, Row>(
  props: PickerProps<I, O, Row>,
) {
  const { label, hint, value, onChange, method, ask, find, otherwise, idOf, show } = props
  const { autoFocus = true } = props
  const [text, setText] = useState("")
  const wanted = useDebounced(text.trim(), 150)
  const { data, error } = useQuery({
    ...createQueryOptions(method, ask(wanted), { transport }),
    placeholderData: keepPreviousData,
  })
  const refusal = error ? refusalOf(error) : undefined
  const found = data ? find(data) : []
  const rows = found.length > 0 ? found : (otherwise?.(wanted) ?? [])
  const isOver = data !== undefined || refusal !== undefined
  return (
    <>
      <TextField
        label={label}
        hint={hint}
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
        autoFocus={autoFocus}
      />
      <RefusalAlert refusal={refusal && !isDenied(refusal) ? refusal : undefined} />
      <fieldset className="pick">
        <legend className="visually-hidden">{label}</legend>
        {rows.map((row) => (
          <label className="pick-row" key={idOf(row)}>
            <input
              type="radio"
              name="picked"
              checked={idOf(row) === value}
              onChange={() => onChange(idOf(row), row)}
            />
            {show(row)}
          </label>
        ))}
        {isOver && rows.length === 0 && <p className="quiet small">{t("list.nothing_found")}</p>}
      </fieldset>
    </>
  )
}
