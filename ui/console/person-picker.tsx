import { useState } from "react"
import type { User } from "../../src/gen/core/user/v2/user_pb.ts"
import { UserFieldName } from "../../src/gen/core/user/v2/user_pb.ts"
import { TextField } from "../kit/field.tsx"
import { Person } from "../kit/person.tsx"
import { useHouse } from "./house.ts"
import { useLoad, useRested } from "./load.ts"
import { namedLike } from "./search.tsx"
import { loginNameOf, nameOf } from "./user.ts"

type PersonPickerProps = {
  readonly value: string
  readonly onChange: (userId: string) => void
}

/** One user of all that one may see, found by any of their names. */
export function PersonPicker({ value, onChange }: PersonPickerProps) {
  const { t, core } = useHouse()
  const [text, setText] = useState("")
  const wanted = useRested(text.trim(), 150)
  const found = useLoad("people", wanted, async (signal) => {
    const queries = wanted ? [namedLike(wanted)] : []
    const sortingColumn = UserFieldName.DISPLAY_NAME
    const request = { query: { limit: 6, asc: true }, sortingColumn, queries }
    return (await core.users.listUsers(request, { signal })).result
  })
  const users: readonly User[] = found.status === "ready" ? found.value : []
  return (
    <>
      <TextField
        label={t("authorizations.who")}
        error={found.status === "failed" ? found.message : undefined}
        placeholder={t("list.search")}
        type="search"
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          // Nobody stays chosen whom the search no longer shows.
          onChange("")
        }}
        autoComplete="off"
        maxLength={200}
        autoFocus
      />
      <fieldset className="pick">
        <legend className="visually-hidden">{t("authorizations.who")}</legend>
        {users.map((user) => (
          <label className="pick-row" key={user.userId}>
            <input
              type="radio"
              name="person"
              checked={user.userId === value}
              onChange={() => onChange(user.userId)}
            />
            <Person name={nameOf(user)} loginName={loginNameOf(user)} />
          </label>
        ))}
        {found.status === "ready" && users.length === 0 && (
          <p className="quiet small">{t("list.nothing_found")}</p>
        )}
      </fieldset>
    </>
  )
}
