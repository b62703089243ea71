import type { RemoteUser } from "../../domain/app/index.ts"
import { findProfileFor } from "../../domain/user-lookup/index.ts"
import { accountOf } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"

/** Headers that protected applications commonly read, and the user ID, which never changes. */
export const identityHeaders = [
  "remote-user",
  "remote-user-id",
  "remote-email",
  "remote-name",
  "remote-groups",
]

type Identity = {
  readonly userId: string
  readonly roles: readonly string[]
  /** The organization that owns the application. */
  readonly orgId: string
  /** The user identifier that the application uses. */
  readonly remoteUser: RemoteUser | undefined
}

/**
 * The identity of a user as headers. Login names are unique in the instance. An email address is
 * included only if it is verified for the application's organization, because applications use it
 * as an identity. Undefined if the application identifies users by email address and this user has
 * no verified one: an empty name could match anyone.
 */
export function identityOf(cx: Cx, identity: Identity): Headers | undefined {
  const { userId, roles, orgId, remoteUser = "login_name" } = identity
  const headers = anonymousIdentity()
  const userProfile = findProfileFor(cx, userId, [orgId])
  const email = userProfile?.emailVerified ? userProfile.email : ""
  const names = { login_name: accountOf(cx, userId).loginName, user_id: userId, email }
  const name = names[remoteUser]
  if (name === "") return undefined
  const headersByName = {
    "remote-user": name,
    "remote-user-id": userId,
    "remote-email": email,
    "remote-name": userProfile?.name ?? "",
    "remote-groups": roles.filter((key) => !key.includes(",")).join(","),
  }
  for (const [name, text] of Object.entries(headersByName)) headers.set(name, encodeHeader(text))
  return headers
}

/**
 * The headers of an anonymous request: all are present and empty, so that a proxy that copies them
 * removes those that the browser set.
 */
export const anonymousIdentity = (): Headers =>
  new Headers(identityHeaders.map((name): [string, string] => [name, ""]))

/** RFC 9110 §5.5: UTF-8 bytes, which proxies forward, without control characters. */
const encodeHeader = (text: string): string =>
  Buffer.from(text.replace(/\p{Cc}+/gu, " ")).toString("latin1")
