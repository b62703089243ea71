import type { Preview } from "../token/issue.ts"

/** What most applications read of a user, with the scope that requests it. */
const scopeOf = {
  name: "profile",
  email: "email",
  email_verified: "email",
  picture: "profile",
  groups: "groups",
  roles: "roles",
} as const

export type UsualClaim = {
  readonly name: keyof typeof scopeOf
  readonly at: "both" | "id_token" | "userinfo" | "nowhere"
  /** What keeps applications from using it. */
  readonly why?: "scope" | "list" | "no_value" | "no_roles" | "unverified" | "not_in_id_token"
  /** The scope that would add it. */
  readonly scope: string
}

/** Where an application would find each of the usual claims, and why it may miss one. */
export const usualClaims = (
  { id_token: idToken = {}, userinfo = {} }: Preview,
  scopes: readonly string[],
): readonly UsualClaim[] =>
  names.map((name) => {
    const at = placeOf(Object.hasOwn(idToken, name), Object.hasOwn(userinfo, name))
    const why = reasonFor(name, { at, value: idToken[name] ?? userinfo[name], scopes })
    return { name, at, scope: scopeOf[name], ...(why && { why }) }
  })

type Name = UsualClaim["name"]

const isName = (text: string): text is Name => Object.hasOwn(scopeOf, text)
const names = Object.keys(scopeOf).filter(isName)

function placeOf(inIdToken: boolean, atUserinfo: boolean): UsualClaim["at"] {
  if (inIdToken) return atUserinfo ? "both" : "id_token"
  return atUserinfo ? "userinfo" : "nowhere"
}

type ClaimFinding = Pick<UsualClaim, "at"> & {
  readonly value: unknown
  readonly scopes: readonly string[]
}

function reasonFor(name: Name, { at, value, scopes }: ClaimFinding): UsualClaim["why"] {
  if (at === "nowhere") {
    if (scopes.includes(scopeOf[name])) return "no_value"
    return name === "groups" || name === "roles" ? "list" : "scope"
  }
  if (Array.isArray(value) && value.length === 0) return "no_roles"
  if (value === false) return "unverified"
  return at === "userinfo" ? "not_in_id_token" : undefined
}
