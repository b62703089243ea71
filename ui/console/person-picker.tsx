import { UserFieldName } from "../../src/gen/core/user/v2/user_pb.ts"
import { Person } from "../kit/person.tsx"
import { useHouse } from "./house.ts"
import { Picker } from "./picker.tsx"
import { namedLike } from "./search.tsx"
import { loginNameOf, nameOf } from "./user.ts"

type PickedProps = { readonly value: string; readonly onChange: (id: string) => void }

/** One user of all that one may see, found by any of their names. */
export function PersonPicker(picked: PickedProps) {
  const { t, core } = useHouse()
  return (
    <Picker
      label={t("authorizations.who")}
      {...picked}
      read={async (text, signal) => {
        const queries = text ? [namedLike(text)] : []
        const sortingColumn = UserFieldName.DISPLAY_NAME
        const request = { query: { limit: 6, asc: true }, sortingColumn, queries }
        return (await core.users.listUsers(request, { signal })).result
      }}
      idOf={({ userId }) => userId}
      show={(user) => <Person name={nameOf(user)} loginName={loginNameOf(user)} />}
    />
  )
}
