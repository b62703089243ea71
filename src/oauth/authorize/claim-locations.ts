import type { Preview } from "../token/issue.ts"

/** Claims that most applications read, with the scope that requests each. */
const scopeOf = {
  name: "profile",
  email: "email",
  email_verified: "email",
  picture: "profile",
  groups: "groups",
  roles: "roles",
} as const

export type CommonClaim = {
  readonly name: keyof typeof scopeOf
  readonly at: "both" | "id_token" | "userinfo" | "nowhere"
  /** Why an application can't read the claim. */
  readonly why?: "scope" | "list" | "no_value" | "no_roles" | "unverified" | "not_in_id_token"
  /** The scope that would add the claim. */
  readonly scope: string
}

/** Where an application finds each common claim, and why one may be missing. */
export const listCommonClaims = (
  { id_token: idToken = {}, userinfo = {} }: Preview,
  scopes: readonly string[],
): readonly CommonClaim[] =>
  claimNames.map((name) => {
    const at = locationOf(Object.hasOwn(idToken, name), Object.hasOwn(userinfo, name))
    const why = reasonFor(name, { at, value: idToken[name] ?? userinfo[name], scopes })
    return { name, at, scope: scopeOf[name], ...(why && { why }) }
  })

type ClaimName = CommonClaim["name"]

const isClaimName = (text: string): text is ClaimName => Object.hasOwn(scopeOf, text)
const claimNames = Object.keys(scopeOf).filter(isClaimName)

function locationOf(inIdToken: boolean, atUserinfo: boolean): CommonClaim["at"] {
  if (inIdToken) return atUserinfo ? "both" : "id_token"
  return atUserinfo ? "userinfo" : "nowhere"
}

type ClaimFinding = Pick<CommonClaim, "at"> & {
  readonly value: unknown
  readonly scopes: readonly string[]
}

function reasonFor(name: ClaimName, { at, value, scopes }: ClaimFinding): CommonClaim["why"] {
  if (at === "nowhere") {
    if (scopes.includes(scopeOf[name])) return "no_value"
    return name === "groups" || name === "roles" ? "list" : "scope"
  }
  if (Array.isArray(value) && value.length === 0) return "no_roles"
  if (value === false) return "unverified"
  return at === "userinfo" ? "not_in_id_token" : undefined
}
