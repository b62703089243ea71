import { type User, UserState } from "../../../src/gen/core/user/v2/user_pb.ts"

/** Props of all parts of the user page. */
export type UserPart = { readonly user: User }

/** The displayed name of a user. */
export function displayNameOf(user: User): string {
  if (user.type.case === "machine") return user.type.value.name
  const profile = user.type.value?.profile
  return profile?.displayName || loginNameOf(user)
}

export function loginNameOf(user: User): string {
  return user.preferredLoginName || user.username
}

/** URL of a user's avatar; empty if there is none. */
export const pictureOf = ({ type }: User): string =>
  type.case === "human" ? (type.value.profile?.avatarUrl ?? "") : ""

export type UserStateName = "active" | "inactive" | "locked"

export function stateOf(user: User): UserStateName {
  if (user.state === UserState.LOCKED) return "locked"
  return user.state === UserState.INACTIVE ? "inactive" : "active"
}
