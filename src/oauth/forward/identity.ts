import type { RemoteUser } from "../../domain/app/index.ts"
import { profileFor } from "../../domain/user-lookup/index.ts"
import { accountOf } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"

/** The headers that protected programs commonly read, and the user ID, which never changes. */
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
  /** The organization whose application it is. */
  readonly orgId: string
  /** By what the program knows its users. */
  readonly remoteUser: RemoteUser | undefined
}

/**
 * Who has come, as headers. The login name is one person's in the whole instance, and an address is
 * told once it is verified for the application's organization, since programs take it for who
 * somebody is. Undefined where the program knows its users by an address and this one has none that
 * is verified: an empty name could pass for anybody.
 */
export function identityOf(cx: Cx, identity: Identity): Headers | undefined {
  const { userId, roles, orgId, remoteUser = "login_name" } = identity
  const headers = nobodysIdentity()
  const known = profileFor(cx, userId, [orgId])
  const email = known?.emailVerified ? known.email : ""
  const names = { login_name: accountOf(cx, userId).loginName, user_id: userId, email }
  const name = names[remoteUser]
  if (name === "") return undefined
  const told = {
    "remote-user": name,
    "remote-user-id": userId,
    "remote-email": email,
    "remote-name": known?.name ?? "",
    "remote-groups": roles.filter((key) => !key.includes(",")).join(","),
  }
  for (const [name, text] of Object.entries(told)) headers.set(name, headerText(text))
  return headers
}

/**
 * The headers where nobody has come: all are there and empty, so that a proxy which copies them
 * takes away what the browser made up.
 */
export const nobodysIdentity = (): Headers =>
  new Headers(identityHeaders.map((name): [string, string] => [name, ""]))

/** RFC 9110 §5.5: UTF-8 as bytes, which proxies pass on, and nothing that ends a line. */
const headerText = (text: string): string =>
  Buffer.from(text.replace(/\p{Cc}+/gu, " ")).toString("latin1")
