import { Fault, fieldError } from "../../kernel/fault.ts"
import { type Cx, cacheQuery, type Transaction } from "../../store/index.ts"
import { clientClaim, requireInstance } from "../instance/index.ts"
import { type OrgOidcSettings, org } from "../org/index.ts"
import { isProjectActive, project, projectChain } from "../project/index.ts"
import { findNameHolder } from "../user/index.ts"
import { user } from "../user-model/index.ts"
import { type ApiApp, app, isClient, isMissing, type OidcApp } from "./model.ts"

/** An application as a client of the authorization server. */
export type Client = { readonly appId: string; readonly state: OidcApp | ApiApp }

/** The application with this client ID, active or not; undefined if there is none. */
export function findClient(cx: Cx, clientId: string): Client | undefined {
  if (clientId.length > clientIdLengthMax) return undefined
  const cache = clientCache(cx)
  if (cache.has(clientId)) return cache.get(clientId)
  if (cache.size >= clientCacheMax) cache.clear()
  const client = readClient(cx, clientId)
  cache.set(clientId, client)
  return client
}

/** Cleared when an application changes. Unknown client IDs are cached, too. */
const clientCache = cacheQuery(() => new Map<string, Client | undefined>(), [app.stream])
const clientCacheMax = 10_000

/** No client ID is longer. Anyone can send made-up IDs, and the cache also stores unknown ones. */
const clientIdLengthMax = 200

function readClient(cx: Cx, clientId: string): Client | undefined {
  const holder = cx.store.log.holder(cx.instance, clientClaim, clientId, cx.clock.now())
  if (holder?.stream !== app.stream) return undefined
  const state = cx.store.state(cx, app, holder.id)
  return isClient(state) ? { appId: holder.id, state } : undefined
}

const clientIdPattern = /^(?=.*[A-Za-z])[\w.-]{3,100}$/

/**
 * Returns the client ID that the caller chose, or a generated one if it is absent. Rejects other
 * characters and lengths.
 */
export function parseClientId(
  text: string | undefined,
  ids: { readonly next: () => string },
): string {
  if (!text) return ids.next()
  if (clientIdPattern.test(text)) return text
  throw fieldError(
    "app.client_id_invalid",
    "client_id",
    "must have 3 to 100 characters of A-Z, a-z, 0-9, dot, underscore and hyphen, with at " +
      "least one letter",
  )
}

/**
 * The message does not depend on the owner: the ID may belong to an organization that the caller
 * can't see.
 */
export const clientIdTaken = {
  id: "app.client_id_taken",
  message: "client_id is already in use; choose another one",
}

/**
 * Rejects a client ID that is or was the ID of a project or a user, or that is a user's login name:
 * an audience with that name would also match the client. Applications and service accounts share a
 * unique key, so the append fails if one with this ID is created concurrently.
 */
export function requireUnusedClientId(tx: Transaction, clientId: string): void {
  const isUsed =
    tx.state(project, clientId).status !== "absent" ||
    tx.state(user, clientId).status !== "absent" ||
    findNameHolder(tx, clientId) !== undefined
  if (isUsed) throw new Fault("already_exists", clientIdTaken.id, clientIdTaken.message)
}

/**
 * Whether a client ID stays reserved after its application is removed. Generated IDs are never
 * reused, and the URL of a client metadata document remains reserved for that client.
 */
export const isReservedForever = (clientId: string): boolean =>
  !clientId.startsWith("https:") && /[A-Za-z]/.test(clientId)

/**
 * The OIDC settings of the organization that owns an application. The console and other built-in
 * applications use the settings of the instance, whichever organization owns their project.
 */
export function orgOidcSettingsOf(cx: Cx, { projectId }: OidcApp): OrgOidcSettings {
  if (projectId === requireInstance(cx).projectId) return {}
  return cx.store.state(cx, org, cx.store.state(cx, project, projectId).orgId).oidc ?? {}
}

/** RFC 9700 §2.1.1: whether authorization requests of an application must use PKCE. */
export function requiresPkce(cx: Cx, state: OidcApp): boolean {
  const { authMethod, pkce = "inherited" } = state.oidc
  if (authMethod === "none" || pkce === "required") return true
  return pkce === "inherited" && orgOidcSettingsOf(cx, state).pkceRequired === true
}

/**
 * Whether an application can omit the scope openid. Clients that registered themselves can: clients
 * of the Model Context Protocol request the scopes that their server lists.
 */
export const acceptsPlainOauth = (state: OidcApp | ApiApp): boolean =>
  state.kind === "oidc" && (state.registration !== undefined || state.oidc.plainOauth === true)

/** The application of a request: by application ID, or by client ID. */
export type ApplicationReference = { readonly clientId: string; readonly appId?: string }

/** The application of a request, active or not; undefined if it was removed. */
export function findReferencedApplication(cx: Cx, { appId, clientId }: ApplicationReference) {
  const state = cx.store.state(cx, app, appId ?? findClient(cx, clientId)?.appId ?? "")
  return isMissing(state) ? undefined : state
}

/** Whether an application, its project and the organization that owns them are active. */
export function isAppActive(cx: Cx, id: string): boolean {
  const state = cx.store.state(cx, app, id)
  return state.status === "active" && isProjectActive(cx, state.projectId)
}

/**
 * The owner chain of an application, for access checks; undefined if the application does not
 * exist.
 */
export function appChain(cx: Cx, id: string) {
  const state = cx.store.state(cx, app, id)
  const above = isMissing(state) ? undefined : projectChain(cx, state.projectId)
  return above && { ...above, parent: above.project }
}
