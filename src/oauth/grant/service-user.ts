import type { AccessTokenType } from "../../domain/user-model/index.ts"
import { type Cx, cached } from "../../store/index.ts"
import { issuerOf } from "../issuer.ts"
import { type Parameters, wordsOf } from "../request.ts"
import { openAudience } from "../token/audience.ts"
import type { Issuance } from "../token/issue.ts"
import { resourcesOf } from "../token/resource.ts"
import { audienceOf, grantedScopes, withApiScopes } from "../token/scope.ts"

type ServiceUser = {
  readonly userId: string
  readonly clientId: string
  /** What it came with. */
  readonly anchor: string
  readonly accessTokenType: AccessTokenType
}

/** What a service user gets for itself, by the scope and the resources that it asks for. */
export function forItself(
  cx: Cx,
  parameters: Parameters,
  { userId, clientId, anchor, accessTokenType }: ServiceUser,
): { readonly issuance: Issuance; readonly projects: readonly string[] } {
  const { scopes, projects: wishes } = wished(cx, parameters)
  const projects = openAudience(cx, { grantId: anchor, userId, clientId, audience: wishes })
  const issuance = {
    grantId: anchor,
    userId,
    clientId,
    // RFC 9068 §3: without a wish, the token is for ourselves.
    audience: projects.length > 0 ? projects : [issuerOf(cx).issuer],
    scopes,
    tokenType: accessTokenType,
    clockSkewSeconds: 0,
  }
  return { issuance, projects }
}

type Wish = { readonly scopes: readonly string[]; readonly projects: readonly string[] }

/** A program asks for the same each time; the projects that it names are looked up once. */
function wished(cx: Cx, parameters: Parameters): Wish {
  const scope = wishedBy(cx, parameters.get("scope") ?? "")
  const named = parameters.has("resource") ? resourcesOf(cx, parameters) : []
  const projects = [...new Set([...scope.projects, ...named])]
  const requested = wordsOf(parameters.get("scope"))
  const granted = { granted: scope.scopes, audience: projects }
  return { scopes: withApiScopes(cx, requested, granted), projects }
}

function wishedBy(cx: Cx, scope: string): Wish {
  const known = answers(cx)
  const found = known.get(scope)
  if (found) return found
  const scopes = grantedScopes(wordsOf(scope))
  const wish = { scopes, projects: audienceOf(cx, scopes) }
  if (known.size < answersMax && scope.length < keyMax) known.set(scope, wish)
  return wish
}

/** Good until something changes that decides which projects there are. */
const answers = cached(() => new Map<string, Wish>(), ["instance", "org", "project", "app", "user"])
const answersMax = 1000
const keyMax = 2000
