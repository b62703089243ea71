import type { Learnable } from "../../../ui/login/index.ts"
import type { Requested } from "../../domain/grant/index.ts"

/** What an application learns of its user by what it asks for, and what it may do from then on. */
export function learnedBy({
  scopes,
  claims,
}: Pick<Requested, "scopes" | "claims">): readonly Learnable[] {
  const names = [...(claims?.idToken ?? []), ...(claims?.userinfo ?? [])]
  // Each access token names the account, also without openid.
  const learned = ["openid", ...scopes].flatMap((scope) => byScope[scope] ?? behindPrefix(scope))
  return [...new Set([...learned, ...names.flatMap((name) => byClaim[name] ?? [])])]
}

const byScope: Readonly<Record<string, Learnable>> = {
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

const byPrefix: readonly (readonly [prefix: string, learned: Learnable])[] = [
  ["urn:core:iam:org:project:role:", "roles"],
  ["urn:core:iam:org:id:", "organization"],
  ["urn:core:iam:org:domain:primary:", "organization"],
]

const behindPrefix = (scope: string): readonly Learnable[] =>
  byPrefix.flatMap(([prefix, learned]) => (scope.startsWith(prefix) ? [learned] : []))

/** OpenID Connect Core §5.5: single claims, which need no scope. */
const byClaim: Readonly<Record<string, Learnable>> = {
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
