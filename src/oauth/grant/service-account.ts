import type { AccessTokenType } from "../../domain/user-model/index.ts"
import { type Cx, cacheQuery } from "../../store/index.ts"
import { issuerOf } from "../issuer.ts"
import { type Parameters, splitWords } from "../parameters.ts"
import { currentAudience } from "../token/audience.ts"
import type { Issuance } from "../token/issue.ts"
import { parseResources } from "../token/resource.ts"
import { audienceOf, grantedScopes, withApiScopes } from "../token/scope.ts"

type ServiceAccount = {
  readonly userId: string
  readonly clientId: string
  /** The credential that it authenticated with. */
  readonly anchor: string
  readonly accessTokenType: AccessTokenType
}

/** What a service account receives for itself, for the requested scope and resources. */
export function issueForItself(
  cx: Cx,
  parameters: Parameters,
  { userId, clientId, anchor, accessTokenType }: ServiceAccount,
): { readonly issuance: Issuance; readonly projects: readonly string[] } {
  const { scopes, projects: wishes } = cachedAccess(cx, parameters)
  const projects = currentAudience(cx, { grantId: anchor, userId, clientId, audience: wishes })
  const issuance = {
    grantId: anchor,
    userId,
    clientId,
    // RFC 9068 §3: without a requested resource, the token is for this server itself.
    audience: projects.length > 0 ? projects : [issuerOf(cx).issuer],
    scopes,
    tokenType: accessTokenType,
    clockSkewSeconds: 0,
  }
  return { issuance, projects }
}

type RequestedAccess = { readonly scopes: readonly string[]; readonly projects: readonly string[] }

/** Programs repeat the same request, so the result is cached. */
function cachedAccess(cx: Cx, parameters: Parameters): RequestedAccess {
  const scope = parseAccess(cx, parameters.get("scope") ?? "")
  const resourceProjects = parameters.has("resource") ? parseResources(cx, parameters) : []
  const projects = [...new Set([...scope.projects, ...resourceProjects])]
  const requested = splitWords(parameters.get("scope"))
  const granted = { granted: scope.scopes, audience: projects }
  return { scopes: withApiScopes(cx, requested, granted), projects }
}

function parseAccess(cx: Cx, scope: string): RequestedAccess {
  const cache = accessCache(cx)
  const found = cache.get(scope)
  if (found) return found
  const scopes = grantedScopes(splitWords(scope))
  const access = { scopes, projects: audienceOf(cx, scopes) }
  if (cache.size < accessCacheMax && scope.length < keyMax) cache.set(scope, access)
  return access
}

/** Cleared when something changes that affects which projects exist. */
const accessCache = cacheQuery(
  () => new Map<string, RequestedAccess>(),
  ["instance", "org", "project", "app", "user"],
)
const accessCacheMax = 1000
const keyMax = 2000
