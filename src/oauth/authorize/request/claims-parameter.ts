import { OAuthError } from "../../error.ts"
import { type Parameters, splitWords } from "../../parameters.ts"
import { acrValues } from "../../token/claims/acr.ts"
import { supportedClaims } from "../../token/claims/claims.ts"

/** The result of `claims` and `acr_values`. */
export type ClaimsRequest = {
  /** Individual claims for the ID token and for userinfo, in addition to those of the scopes. */
  readonly idToken: readonly string[]
  readonly userinfo: readonly string[]
  /** The only user that can sign in. */
  readonly userId: string | undefined
  /** Accepted values of `acr`, empty for any; undefined if none was requested. */
  readonly acr: readonly string[] | undefined
  /** Whether multiple factors are required. */
  readonly isFactorRequired: boolean
}

/** OpenID Connect Core §5.5: parses `claims`, and `acr_values`, which requests the same. */
export function parseClaimsRequest(parameters: Parameters): ClaimsRequest {
  const { idToken, userinfo } = parseClaims(parameters.get("claims"))
  return {
    idToken: supportedClaims([...idToken.keys()]),
    userinfo: supportedClaims([...userinfo.keys()]),
    userId: userOf([idToken.get("sub"), userinfo.get("sub")]),
    acr: acrOf(idToken.get("acr"), splitWords(parameters.get("acr_values"))),
    isFactorRequired: requiresFactor(idToken.get("acr")),
  }
}

/**
 * §5.5.1.1: an essential `acr` must be satisfied, so the user is asked for the required factors.
 */
function requiresFactor(member: Member | undefined): boolean {
  const needed = member?.essential ? acrValues.filter((acr) => member.values.includes(acr)) : []
  return needed.length > 0 && !needed.includes("1")
}

/** §5.5.1: the request for an individual claim. */
type Member = { readonly essential: boolean; readonly values: readonly unknown[] }
type Members = ReadonlyMap<string, Member>

function parseClaims(text: string | undefined): { idToken: Members; userinfo: Members } {
  const object = text === undefined ? {} : requireObject(parseJson(text))
  return { idToken: parseMembers(object, "id_token"), userinfo: parseMembers(object, "userinfo") }
}

/** Unknown members are ignored, as §5.5 requires. */
function parseMembers(object: object, location: string): Members {
  if (!Object.hasOwn(object, location)) return new Map()
  const members = Object.entries(requireObject(Reflect.get(object, location)))
  return new Map(members.map(([name, value]) => [name, parseMember(value)]))
}

function parseMember(value: unknown): Member {
  if (value === null) return { essential: false, values: [] }
  const {
    essential = false,
    value: only,
    values,
  }: Record<string, unknown> = { ...requireObject(value) }
  if (typeof essential !== "boolean") throw malformedError()
  if (values !== undefined && !Array.isArray(values)) throw malformedError()
  return { essential, values: [...(only === undefined ? [] : [only]), ...(values ?? [])] }
}

/** §5.5.1: a value of `sub` specifies the user that the response must be about. */
function userOf(members: readonly (Member | undefined)[]): string | undefined {
  const values = new Set(members.flatMap((member) => member?.values ?? []))
  const [only] = values
  if (only === undefined) return undefined
  if (values.size === 1 && typeof only === "string") return only
  throw new OAuthError("invalid_request", "claims must contain at most one sub")
}

/** §5.5.1.1: an essential `acr` that can't be satisfied is an error; a voluntary one is not. */
function acrOf(
  member: Member | undefined,
  preferred: readonly string[],
): readonly string[] | undefined {
  if (!member && preferred.length === 0) return undefined
  const values = [...(member?.values ?? []), ...preferred]
  const supported = acrValues.filter((acr) => values.includes(acr))
  const needed = member?.essential ? member.values : []
  if (needed.length > 0 && !acrValues.some((acr) => needed.includes(acr))) {
    const message = `this acr is not supported; acr must be one of: ${acrValues.join(", ")}`
    throw new OAuthError("unmet_authentication_requirements", message)
  }
  return values.length === 0 ? [] : supported.length > 0 ? supported : undefined
}

function requireObject(value: unknown): object {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value
  throw malformedError()
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw malformedError()
  }
}

const malformedError = () =>
  new OAuthError(
    "invalid_request",
    "claims must be a JSON object as defined in OpenID Connect Core 5.5",
  )
