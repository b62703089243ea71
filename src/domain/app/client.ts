import { Fault, fieldError } from "../../kernel/fault.ts"
import { type Cx, cached, type Transaction } from "../../store/index.ts"
import { clientClaim, requireInstance } from "../instance/index.ts"
import { type OrgOidcSettings, org } from "../org/index.ts"
import { isProjectActive, project, projectChain } from "../project/index.ts"
import { nameHolder } from "../user/index.ts"
import { user } from "../user-model/index.ts"
import { type ApiApp, app, isClient, isGone, type OidcApp } from "./model.ts"

/** An application as a client of the authorization server. */
export type Client = { readonly appId: string; readonly state: OidcApp | ApiApp }

/** The application with exactly this client id, usable or not; undefined for anything else. */
export function findClient(cx: Cx, clientId: string): Client | undefined {
  if (clientId.length > lengthMax) return undefined
  const known = found(cx)
  if (known.has(clientId)) return known.get(clientId)
  if (known.size >= foundMax) known.clear()
  const client = readClient(cx, clientId)
  known.set(clientId, client)
  return client
}

/** Good until an application changes; what is not there is remembered like what is. */
const found = cached(() => new Map<string, Client | undefined>(), [app.stream])
const foundMax = 10_000

/** No id is longer. Strangers make others up, and all that they make up is remembered. */
const lengthMax = 200

function readClient(cx: Cx, clientId: string): Client | undefined {
  const holder = cx.store.log.holder(cx.instance, clientClaim, clientId, cx.clock.now())
  if (holder?.stream !== app.stream) return undefined
  const state = cx.store.state(cx, app, holder.id)
  return isClient(state) ? { appId: holder.id, state } : undefined
}

const chosenForm = /^(?=.*[A-Za-z])[\w.-]{3,100}$/

/** Parses a client ID that the caller chose; the next one of `ids` where it is left out. */
export function parseClientId(
  text: string | undefined,
  ids: { readonly next: () => string },
): string {
  if (!text) return ids.next()
  if (chosenForm.test(text)) return text
  throw fieldError(
    "app.client_id_invalid",
    "client_id",
    "must have 3 to 100 characters of A-Z, a-z, 0-9, dot, underscore and hyphen, and at least " +
      "one letter",
  )
}

/** The same whoever has the ID: it may belong to an organization that the caller can't see. */
export const clientIdTaken = {
  id: "app.client_id_taken",
  message: "client_id is already in use; choose another",
}

/**
 * Refuses a client ID that is or was the ID of a project or a user, or that a user signs in with:
 * an audience that names one of them would pass for the client. Applications and service users hold
 * the same claim. The step that adds the client fails if one of them is created meanwhile.
 */
export function mustBeUnused(tx: Transaction, clientId: string): void {
  const isUsed =
    tx.state(project, clientId).status !== "absent" ||
    tx.state(user, clientId).status !== "absent" ||
    nameHolder(tx, clientId) !== undefined
  if (isUsed) throw new Fault("already_exists", clientIdTaken.id, clientIdTaken.message)
}

/**
 * Whether a client ID stays reserved when its application is removed: generated IDs never come
 * again, and the address of a client's metadata remains that client's.
 */
export const isKeptForever = (clientId: string): boolean =>
  !clientId.startsWith("https:") && /[A-Za-z]/.test(clientId)

/**
 * What the organization that owns an application states for its applications. The console and its
 * like are the instance's, whichever organization has their project.
 */
export function orgOidcFor(cx: Cx, { projectId }: OidcApp): OrgOidcSettings {
  if (projectId === requireInstance(cx).projectId) return {}
  return cx.store.state(cx, org, cx.store.state(cx, project, projectId).orgId).oidc ?? {}
}

/** RFC 9700 §2.1.1: whether the authorization requests of an application must use PKCE. */
export function needsPkce(cx: Cx, state: OidcApp): boolean {
  const { authMethod, pkce = "inherited" } = state.oidc
  if (authMethod === "none" || pkce === "required") return true
  return pkce === "inherited" && orgOidcFor(cx, state).pkceRequired === true
}

/**
 * Whether an application can leave the scope openid out of its requests. Clients that register
 * themselves can: those of the Model Context Protocol request what their server names.
 */
export const acceptsPlainOauth = (state: OidcApp | ApiApp): boolean =>
  state.kind === "oidc" && (state.registration !== undefined || state.oidc.plainOauth === true)

/** What a request names: by the id of the application, or as a client of the server. */
export type AskedFor = { readonly clientId: string; readonly appId?: string }

/** The application that a request is for, usable or not; undefined for one that is gone. */
export function applicationAskedFor(cx: Cx, { appId, clientId }: AskedFor) {
  const state = cx.store.state(cx, app, appId ?? findClient(cx, clientId)?.appId ?? "")
  return isGone(state) ? undefined : state
}

/** Whether an application, its project and the organisation that owns them are all active. */
export function isAppActive(cx: Cx, id: string): boolean {
  const state = cx.store.state(cx, app, id)
  return state.status === "active" && isProjectActive(cx, state.projectId)
}

/** What the access to an application hangs from; undefined where there is none. */
export function appChain(cx: Cx, id: string) {
  const state = cx.store.state(cx, app, id)
  const above = isGone(state) ? undefined : projectChain(cx, state.projectId)
  return above && { ...above, parent: above.project }
}
