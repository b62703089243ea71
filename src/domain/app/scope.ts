import { fieldError } from "../../kernel/fault.ts"
import { hasUnseen } from "../../kernel/text/name.ts"
import { type Cx, cached } from "../../store/index.ts"
import { project } from "../project/index.ts"
import { findClient } from "./client.ts"
import { type ApiApp, type ApiConfig, type ApiScope, app, isGone } from "./model.ts"
import { apiAt } from "./resource.ts"
import { activeApisOf } from "./view.ts"

/** Scopes of OpenID Connect (Core §5.4 and §11) that give something. */
export const standardScopes = ["openid", "profile", "email", "phone", "offline_access"] as const

/**
 * Scopes that no specification defines and many applications request: each returns a claim of its
 * name (RFC 9068 §2.2.3.1), a flat list of the user's roles on the application's project.
 */
export const listScopes = ["groups", "roles"] as const

/** OpenID Connect Core §5.4 knows it; no user has an address here, so it gives nothing. */
export const addressScope = "address"

const reserved: ReadonlySet<string> = new Set([...standardScopes, ...listScopes, addressScope])

const scopesMax = 50
const scopeMax = 100
const nameMax = 100
const descriptionMax = 300

/**
 * Refuses scopes that no API can define: what is no scope (RFC 6749 §3.3), what has a meaning here
 * already, in any case, and one that is there twice.
 */
export function checkScopes(scopes: readonly ApiScope[]): void {
  if (scopes.length > scopesMax) throw scopeError(`must not be more than ${scopesMax}`)
  for (const { scope, name = "", description = "" } of scopes) {
    if (!isScope(scope) || scope.length > scopeMax) {
      const allowed = "ASCII characters without spaces, quotation marks and backslashes"
      throw scopeError(`must have 1 to ${scopeMax} ${allowed}, such as read:orders`)
    }
    const folded = scope.toLowerCase()
    if (reserved.has(folded)) throw scopeError(`must not contain ${scope}, a standard scope`)
    if (folded.startsWith("urn:")) throw scopeError("must not start with urn:")
    checkText(name, "name", nameMax)
    checkText(description, "description", descriptionMax)
  }
  if (new Set(scopes.map(({ scope }) => scope)).size < scopes.length) {
    throw scopeError("must contain each scope once")
  }
}

/** RFC 6749 §3.3: `scope-token`. */
export const isScope = (text: string): boolean => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text)

/** Users read them before they allow something. */
function checkText(text: string, part: string, max: number): void {
  if (text.length > max) throw scopeError(`must have a ${part} of at most ${max} characters`)
  if (text !== "" && hasUnseen(text)) {
    throw scopeError(`must have a ${part} without invisible characters`)
  }
}

const scopeError = (wanted: string) => fieldError("app.scopes_invalid", "scopes", wanted)

/** A scope as it is stored: without spaces around its texts, and without empty ones. */
export function apiScope({ scope, ...texts }: ApiScope): ApiScope {
  const [name = "", description = ""] = [texts.name?.trim(), texts.description?.trim()]
  return { scope, ...(name !== "" && { name }), ...(description !== "" && { description }) }
}

/** The scopes that an API defines. */
export const scopesOf = ({ scopes = [] }: ApiConfig): readonly ApiScope[] => scopes

/** A scope as one API defines it. Two APIs can each define the same. */
export type DefinedScope = ApiScope & { readonly api: ApiApp }

/**
 * The scopes that the APIs of an audience define, by what clients request. An audience names an API
 * by its client ID or one of its addresses; a project stands for all its APIs where it comes
 * without one of them.
 */
export function scopesFor(
  cx: Cx,
  audience: readonly string[],
): ReadonlyMap<string, readonly DefinedScope[]> {
  const known = found(cx)
  const key = audience.join("\n")
  const before = known.get(key)
  if (before) return before
  if (known.size >= foundMax) known.clear()
  const defined = definedFor(cx, audience)
  known.set(key, defined)
  return defined
}

/** Good until an application changes, or a project goes with its own. */
const found = cached(
  () => new Map<string, ReturnType<typeof definedFor>>(),
  [app.stream, project.stream],
)
const foundMax = 10_000

/** The active APIs that an audience names by their client IDs or addresses, each once. */
export function apisNamed(cx: Cx, audience: readonly string[]): readonly ApiApp[] {
  const named = audience.flatMap((id) => apiNamed(cx, id) ?? [])
  return [...new Map(named.map((api) => [api.clientId, api])).values()]
}

function definedFor(cx: Cx, audience: readonly string[]) {
  const named = apisNamed(cx, audience)
  const covered = named.map(({ projectId }) => projectId)
  const projects = audience.filter((id) => !findClient(cx, id) && !covered.includes(id))
  const ofProjects = projects.flatMap((id) => activeApisOf(cx, id)).map((id) => apiOf(cx, id))
  const apis = [...named, ...ofProjects.flatMap((api) => api ?? [])]
  const defined = apis.flatMap((api) => scopesOf(api.api).map((one) => ({ ...one, api })))
  return Map.groupBy(defined, ({ scope }) => scope)
}

function apiNamed(cx: Cx, id: string): ApiApp | undefined {
  const client = findClient(cx, id)?.state
  if (!client) return apiAt(cx, id)
  return client.kind === "api" && client.status === "active" ? client : undefined
}

function apiOf(cx: Cx, id: string): ApiApp | undefined {
  const state = cx.store.state(cx, app, id)
  return !isGone(state) && state.kind === "api" ? state : undefined
}
