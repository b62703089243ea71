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
  /** The request for the first matches of a text. */
  readonly toRequest: (text: string) => MessageInitShape<I>
  readonly find: (answer: MessageShape<O>) => readonly Row[]
  /** Options if nothing matches: the ID of a resource that the caller can't see. */
  readonly fallback?: (text: string) => readonly Row[]
  readonly idOf: (row: Row) => string
  readonly show: (row: Row) => ReactNode
  /** Set in dialogs, where the picker is the first control; not on pages. */
  readonly autoFocus?: boolean
}

/** Selects a resource by name. */
export function Picker<I extends DescMessage, O extends DescMessage, Row>(
  props: PickerProps<I, O, Row>,
) {
  const {
    label,
    hint,
    value,
    onChange,
    method,
    toRequest: ask,
    find,
    fallback: otherwise,
    idOf,
    show,
  } = props
  const { autoFocus = true } = props
  const [text, setText] = useState("")
  const query = useDebounced(text.trim(), 150)
  const { data, error } = useQuery({
    ...createQueryOptions(method, ask(query), { transport }),
    placeholderData: keepPreviousData,
  })
  const refusal = error ? refusalOf(error) : undefined
  const found = data ? find(data) : []
  const rows = found.length > 0 ? found : (otherwise?.(query) ?? [])
  const isComplete = data !== undefined || refusal !== undefined
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
          // Clears the selection if the search no longer contains it.
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
        {isComplete && rows.length === 0 && (
          <p className="quiet small">{t("list.nothing_found")}</p>
        )}
      </fieldset>
    </>
  )
}
