import { TextQueryMethod } from "../../../src/gen/core/object/v2/object_pb.ts"
import { Type, UserState } from "../../../src/gen/core/user/v2/user_pb.ts"

/** Search queries for any name of a user. */
export function nameQueries(text: string) {
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

const typeQuery = (type: Type) => [{ query: { case: "typeQuery", value: { type } } as const }]
const stateQuery = (state: UserState) => [
  { query: { case: "stateQuery", value: { state } } as const },
]

/** Queries for each filter of the user list. */
export const queriesByFilter = {
  all: [],
  people: typeQuery(Type.HUMAN),
  service_users: typeQuery(Type.MACHINE),
  inactive: stateQuery(UserState.INACTIVE),
  locked: stateQuery(UserState.LOCKED),
} as const satisfies Record<FilterName, readonly unknown[]>
