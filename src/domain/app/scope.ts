import { fieldError } from "../../kernel/fault.ts"
import { hasInvisible } from "../../kernel/text/name.ts"
import { type Cx, cacheQuery } from "../../store/index.ts"
import { project } from "../project/index.ts"
import { findClient } from "./client.ts"
import { type ApiApp, type ApiConfig, type ApiScope, app, isMissing } from "./model.ts"
import { findApiByResource } from "./resource.ts"
import { activeApisOf } from "./view.ts"

/** Scopes of OpenID Connect (Core §5.4 and §11) that have an effect. */
export const standardScopes = ["openid", "profile", "email", "phone", "offline_access"] as const

/**
 * Scopes without a specification that many applications request. Each returns a claim of the same
 * name (RFC 9068 §2.2.3.1): a flat list of the user's roles on the application's project.
 */
export const listScopes = ["groups", "roles"] as const

/** A scope of OpenID Connect Core §5.4. Users have no address here, so it has no effect. */
export const addressScope = "address"

const reserved: ReadonlySet<string> = new Set([...standardScopes, ...listScopes, addressScope])

const scopesMax = 50
const scopeMax = 100
const nameMax = 100
const descriptionMax = 300

/**
 * Rejects scopes that no API can define: invalid ones (RFC 6749 §3.3), those that already have a
 * meaning here, ignoring case, and duplicates.
 */
export function validateScopes(scopes: readonly ApiScope[]): void {
  if (scopes.length > scopesMax) throw scopeError(`must contain at most ${scopesMax} scopes`)
  for (const { scope, name = "", description = "" } of scopes) {
    if (!isScopeToken(scope) || scope.length > scopeMax) {
      const allowed = "ASCII characters without spaces, quotation marks and backslashes"
      throw scopeError(`must have 1 to ${scopeMax} ${allowed}, such as read:orders`)
    }
    const folded = scope.toLowerCase()
    if (reserved.has(folded)) throw scopeError(`must not contain the standard scope ${scope}`)
    if (folded.startsWith("urn:")) throw scopeError("must not start with urn:")
    validateText(name, "name", nameMax)
    validateText(description, "description", descriptionMax)
  }
  if (new Set(scopes.map(({ scope }) => scope)).size < scopes.length) {
    throw scopeError("must not contain a scope twice")
  }
}

/** RFC 6749 §3.3: `scope-token`. */
export const isScopeToken = (text: string): boolean => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text)

/** Users read these texts on the consent page. */
function validateText(text: string, part: string, max: number): void {
  if (text.length > max) throw scopeError(`must have a ${part} of at most ${max} characters`)
  if (text !== "" && hasInvisible(text)) {
    throw scopeError(`must have a ${part} without invisible characters`)
  }
}

const scopeError = (requirement: string) => fieldError("app.scopes_invalid", "scopes", requirement)

/** A scope as it is stored: texts are trimmed, empty ones omitted. */
export function normalizeScope({ scope, ...texts }: ApiScope): ApiScope {
  const [name = "", description = ""] = [texts.name?.trim(), texts.description?.trim()]
  return { scope, ...(name !== "" && { name }), ...(description !== "" && { description }) }
}

/** The scopes that an API defines. */
export const scopesOf = ({ scopes = [] }: ApiConfig): readonly ApiScope[] => scopes

/** A scope and the API that defines it. Two APIs can define the same scope. */
export type DefinedScope = ApiScope & { readonly api: ApiApp }

/**
 * The scopes that the APIs of an audience define, by scope. An audience names an API by its client
 * ID or a resource URI; a project ID means all its APIs unless the audience also names one of
 * them.
 */
export function scopesFor(
  cx: Cx,
  audience: readonly string[],
): ReadonlyMap<string, readonly DefinedScope[]> {
  const cache = scopeCache(cx)
  const key = audience.join("\n")
  const before = cache.get(key)
  if (before) return before
  if (cache.size >= scopeCacheMax) cache.clear()
  const defined = definedScopesFor(cx, audience)
  cache.set(key, defined)
  return defined
}

/** Cleared when an application or a project changes. */
const scopeCache = cacheQuery(
  () => new Map<string, ReturnType<typeof definedScopesFor>>(),
  [app.stream, project.stream],
)
const scopeCacheMax = 10_000

/** The active APIs that an audience names by client ID or resource URI, each once. */
export function apisInAudience(cx: Cx, audience: readonly string[]): readonly ApiApp[] {
  const namedApis = audience.flatMap((id) => findApiInAudience(cx, id) ?? [])
  return [...new Map(namedApis.map((api) => [api.clientId, api])).values()]
}

function definedScopesFor(cx: Cx, audience: readonly string[]) {
  const namedApis = apisInAudience(cx, audience)
  const covered = namedApis.map(({ projectId }) => projectId)
  const projects = audience.filter((id) => !findClient(cx, id) && !covered.includes(id))
  const ofProjects = projects
    .flatMap((id) => activeApisOf(cx, id))
    .map((id) => findActiveApi(cx, id))
  const apis = [...namedApis, ...ofProjects.flatMap((api) => api ?? [])]
  const defined = apis.flatMap((api) => scopesOf(api.api).map((one) => ({ ...one, api })))
  return Map.groupBy(defined, ({ scope }) => scope)
}

function findApiInAudience(cx: Cx, id: string): ApiApp | undefined {
  const client = findClient(cx, id)?.state
  if (!client) return findApiByResource(cx, id)
  return client.kind === "api" && client.status === "active" ? client : undefined
}

function findActiveApi(cx: Cx, id: string): ApiApp | undefined {
  const state = cx.store.state(cx, app, id)
  return !isMissing(state) && state.kind === "api" ? state : undefined
}
