import { UserFieldName } from "../../../src/gen/core/user/v2/user_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Person } from "../../kit/index.ts"
import { Picker } from "../list/index.ts"
import { t } from "../shell/index.ts"
import { loginNameOf, nameOf, pictureOf } from "./user.ts"
import { namedLike } from "./user-query.ts"

type PickedProps = {
  readonly value: string
  readonly onChange: (id: string) => void
  /** Only those of one organisation. */
  readonly organizationId?: string
}

/** One user of all that one may see, found by any of their names. */
export function UserPicker({ organizationId, ...picked }: PickedProps) {
  const own = {
    case: "organizationIdQuery",
    value: { organizationId: organizationId ?? "" },
  } as const
  return (
    <Picker
      label={t("authorizations.who")}
      {...picked}
      method={UserService.method.listUsers}
      ask={(text) => ({
        query: { limit: 6, asc: true },
        sortingColumn: UserFieldName.DISPLAY_NAME,
        queries: [...(organizationId ? [{ query: own }] : []), ...(text ? [namedLike(text)] : [])],
      })}
      find={({ result }) => result}
      idOf={({ userId }) => userId}
      show={(user) => (
        <Person name={nameOf(user)} loginName={loginNameOf(user)} picture={pictureOf(user)} />
      )}
    />
  )
}
