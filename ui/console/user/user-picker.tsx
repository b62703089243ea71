import { UserFieldName } from "../../../src/gen/core/user/v2/user_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { UserSummary } from "../../kit/index.ts"
import { Picker } from "../list/index.ts"
import { t } from "../shell/index.ts"
import { displayNameOf, loginNameOf, pictureOf } from "./user.ts"
import { nameQueries } from "./user-query.ts"

type UserPickerProps = {
  readonly value: string
  readonly onChange: (id: string) => void
  /** Limits the selection to one organization. */
  readonly organizationId?: string
}

/** Selects a user by any name. */
export function UserPicker({ organizationId, ...picked }: UserPickerProps) {
  const own = {
    case: "organizationIdQuery",
    value: { organizationId: organizationId ?? "" },
  } as const
  return (
    <Picker
      label={t("authorizations.who")}
      {...picked}
      method={UserService.method.listUsers}
      toRequest={(text) => ({
        query: { limit: 6, asc: true },
        sortingColumn: UserFieldName.DISPLAY_NAME,
        queries: [
          ...(organizationId ? [{ query: own }] : []),
          ...(text ? [nameQueries(text)] : []),
        ],
      })}
      find={({ result }) => result}
      idOf={({ userId }) => userId}
      show={(user) => (
        <UserSummary
          name={displayNameOf(user)}
          loginName={loginNameOf(user)}
          picture={pictureOf(user)}
        />
      )}
    />
  )
}
