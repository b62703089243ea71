import { OAuthError } from "../../error.ts"
import { type Parameters, wordsOf } from "../../request.ts"
import { acrValues } from "../../token/claims/acr.ts"
import { claimsAsked } from "../../token/claims/claims.ts"

/** What the `claims` and `acr_values` of a request come to. */
export type ClaimsWanted = {
  /** Names of claims that each place shall tell, beside what the scopes say. */
  readonly idToken: readonly string[]
  readonly userinfo: readonly string[]
  /** The only user that the request is for. */
  readonly userId: string | undefined
  /** Values of `acr` that will do, all of them where there are none; undefined: not asked for. */
  readonly acr: readonly string[] | undefined
  /** Whether nothing below several factors will do. */
  readonly isFactorNeeded: boolean
}

/** OpenID Connect Core §5.5: reads `claims`, and `acr_values` with it, which asks the same. */
export function claimsWantedOf(parameters: Parameters): ClaimsWanted {
  const { idToken, userinfo } = placesOf(parameters.get("claims"))
  return {
    idToken: claimsAsked([...idToken.keys()]),
    userinfo: claimsAsked([...userinfo.keys()]),
    userId: userOf([idToken.get("sub"), userinfo.get("sub")]),
    acr: acrOf(idToken.get("acr"), wordsOf(parameters.get("acr_values"))),
    isFactorNeeded: needsFactor(idToken.get("acr")),
  }
}

/** §5.5.1.1: an essential `acr` must be reached, so its person is asked for what it takes. */
function needsFactor(member: Member | undefined): boolean {
  const needed = member?.essential ? acrValues.filter((acr) => member.values.includes(acr)) : []
  return needed.length > 0 && !needed.includes("1")
}

/** §5.5.1: what is asked of one claim. */
type Member = { readonly essential: boolean; readonly values: readonly unknown[] }
type Members = ReadonlyMap<string, Member>

function placesOf(text: string | undefined): { idToken: Members; userinfo: Members } {
  const object = text === undefined ? {} : objectIn(jsonIn(text))
  return { idToken: membersOf(object, "id_token"), userinfo: membersOf(object, "userinfo") }
}

/** Members of the parameter that nobody knows are ignored, as §5.5 wants. */
function membersOf(object: object, place: string): Members {
  if (!Object.hasOwn(object, place)) return new Map()
  const members = Object.entries(objectIn(Reflect.get(object, place)))
  return new Map(members.map(([name, value]) => [name, memberOf(value)]))
}

function memberOf(value: unknown): Member {
  if (value === null) return { essential: false, values: [] }
  const { essential = false, value: only, values }: Record<string, unknown> = { ...objectIn(value) }
  if (typeof essential !== "boolean") throw malformedError()
  if (values !== undefined && !Array.isArray(values)) throw malformedError()
  return { essential, values: [...(only === undefined ? [] : [only]), ...(values ?? [])] }
}

/** §5.5.1: a value of `sub` names the user that the answer must be about. */
function userOf(members: readonly (Member | undefined)[]): string | undefined {
  const values = new Set(members.flatMap((member) => member?.values ?? []))
  const [only] = values
  if (only === undefined) return undefined
  if (values.size === 1 && typeof only === "string") return only
  throw new OAuthError("invalid_request", "claims may name one sub")
}

/** §5.5.1.1: an essential `acr` that can't be reached is a failed sign-in; a wish is only one. */
function acrOf(
  member: Member | undefined,
  wished: readonly string[],
): readonly string[] | undefined {
  if (!member && wished.length === 0) return undefined
  const values = [...(member?.values ?? []), ...wished]
  const known = acrValues.filter((acr) => values.includes(acr))
  const needed = member?.essential ? member.values : []
  if (needed.length > 0 && !acrValues.some((acr) => needed.includes(acr))) {
    const wanted = `no sign-in here reaches that acr, only: ${acrValues.join(", ")}`
    throw new OAuthError("unmet_authentication_requirements", wanted)
  }
  return values.length === 0 ? [] : known.length > 0 ? known : undefined
}

function objectIn(value: unknown): object {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value
  throw malformedError()
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw malformedError()
  }
}

const malformedError = () =>
  new OAuthError("invalid_request", "claims must be a JSON object as OpenID Connect Core 5.5 says")
