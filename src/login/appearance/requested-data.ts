import type { Grantable } from "../../../ui/login/index.ts"
import type { AuthorizationRequest } from "../../domain/grant/index.ts"

/**
 * The user data that an application receives for the scopes and claims that it requests, and the
 * permissions.
 */
export function requestedData({
  scopes,
  claims,
}: Pick<AuthorizationRequest, "scopes" | "claims">): readonly Grantable[] {
  const names = [...(claims?.idToken ?? []), ...(claims?.userinfo ?? [])]
  // Every access token identifies the account, even without openid.
  const learned = ["openid", ...scopes].flatMap(
    (scope) => dataByScope[scope] ?? dataByPrefix(scope),
  )
  return [...new Set([...learned, ...names.flatMap((name) => dataByClaim[name] ?? [])])]
}

const dataByScope: Readonly<Record<string, Grantable>> = {
  openid: "identity",
  profile: "name",
  email: "email",
  phone: "phone",
  offline_access: "offline",
  groups: "roles",
  roles: "roles",
  "urn:core:iam:org:project:roles": "roles",
  "urn:core:iam:org:projects:roles": "roles",
  "urn:core:iam:user:resourceowner": "organization",
  "urn:core:iam:user:metadata": "metadata",
}

const dataPrefixes: readonly (readonly [prefix: string, learned: Grantable])[] = [
  ["urn:core:iam:org:project:role:", "roles"],
  ["urn:core:iam:org:id:", "organization"],
  ["urn:core:iam:org:domain:primary:", "organization"],
]

const dataByPrefix = (scope: string): readonly Grantable[] =>
  dataPrefixes.flatMap(([prefix, learned]) => (scope.startsWith(prefix) ? [learned] : []))

/** OpenID Connect Core §5.5: individual claims, which require no scope. */
const dataByClaim: Readonly<Record<string, Grantable>> = {
  name: "name",
  given_name: "name",
  family_name: "name",
  nickname: "name",
  picture: "name",
  gender: "name",
  locale: "name",
  preferred_username: "name",
  updated_at: "name",
  email: "email",
  email_verified: "email",
  phone_number: "phone",
  phone_number_verified: "phone",
  groups: "roles",
  roles: "roles",
}
