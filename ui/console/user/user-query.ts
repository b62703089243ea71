import { TextQueryMethod } from "../../../src/gen/core/object/v2/object_pb.ts"
import { Type, UserState } from "../../../src/gen/core/user/v2/user_pb.ts"

/** Users by any of the names they are known under. */
export function namedLike(text: string) {
  const method = TextQueryMethod.CONTAINS_IGNORE_CASE
  const queries = [
    { query: { case: "displayNameQuery", value: { displayName: text, method } } as const },
    { query: { case: "loginNameQuery", value: { loginName: text, method } } as const },
    { query: { case: "emailQuery", value: { emailAddress: text, method } } as const },
  ]
  return { query: { case: "orQuery", value: { queries } } } as const
}

export const filterNames = ["all", "people", "service_users", "inactive", "locked"] as const
export type FilterName = (typeof filterNames)[number]

const typed = (type: Type) => [{ query: { case: "typeQuery", value: { type } } as const }]
const stated = (state: UserState) => [{ query: { case: "stateQuery", value: { state } } as const }]

/** What each filter of the list of users asks for. */
export const queriesOf = {
  all: [],
  people: typed(Type.HUMAN),
  service_users: typed(Type.MACHINE),
  inactive: stated(UserState.INACTIVE),
  locked: stated(UserState.LOCKED),
} as const satisfies Record<FilterName, readonly unknown[]>
