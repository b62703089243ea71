import { Fault } from "../../kernel/fault.ts"
import { givenName } from "../../kernel/text/given.ts"
import type { Cx, Decision, Draft, Receipt, Transaction } from "../../store/index.ts"
import { instance, releaseClientId, takeClientAddress, takeClientId } from "../instance/index.ts"
import { isProjectThere, project, removeProject } from "../project/index.ts"
import type { AppAccess } from "./access/access.ts"
import { accessChanges } from "./access/change.ts"
import { clientIdTaken, isKeptForever, mustBeUnused, parseClientId } from "./client.ts"
import {
  chosenSecret,
  firstSecret,
  newSecret,
  type SecretHash,
  secretErasure,
  secretUnusedError,
} from "./credential/secret.ts"
import {
  type ApiApp,
  type ApiConfig,
  type App,
  type AppEvent,
  type AuthMethod,
  app,
  hasSecret,
  isGone,
  type OidcApp,
  type OidcConfig,
  type SamlApp,
  type SamlConfig,
} from "./model.ts"
import { checkLogin, checkOidc, type OidcInput, oidcDefaults, privateOriginOf } from "./oidc.ts"
import {
  checkResources,
  releaseAddress,
  resourceClaims,
  resourcesOf,
  takeAddress,
} from "./resource.ts"
import { checkAttributes } from "./saml/attributes.ts"
import { releaseEntity, takeEntity } from "./saml/metadata.ts"
import { checkScopes, scopesOf } from "./scope.ts"
import { appIdsOf, mustExist } from "./view.ts"

export type AppKind =
  | { readonly kind: "oidc"; readonly oidc: OidcInput }
  | { readonly kind: "api"; readonly api: ApiConfig }
  | { readonly kind: "saml"; readonly saml: SamlConfig }

export type ApplicationInput = {
  readonly projectId: string
  readonly name: string
  /** Of a client alone; a SAML application has none. */
  readonly clientId: string
  /** Whether the client id is the address of the document that says what it is. */
  readonly isAddress?: boolean
  readonly config: AppKind
  /** The secret, where the client has one; see `newSecret`. */
  readonly secret?: SecretHash | undefined
  /** Who can use it; left out is everyone whom its project admits. */
  readonly access?: Partial<AppAccess>
}

/**
 * Adds an application to a project. A client id is unique among clients and service users, and an
 * entity id among SAML applications.
 */
export function addApplication(tx: Transaction, id: string, input: ApplicationInput): void {
  if (tx.state(app, id).status !== "absent") {
    throw new Fault("already_exists", "app.exists", "there is already an application with this id")
  }
  const owner = tx.state(project, input.projectId)
  if (!isProjectThere(owner)) {
    throw new Fault("not_found", "project.missing", "there is no such project")
  }
  const { projectId, clientId, isAddress = false, config, secret, access = {} } = input
  if (config.kind !== "saml" && !isAddress) mustBeUnused(tx, clientId)
  const clientClaims = isAddress
    ? [takeClientAddress(clientId, clientIdTaken), takeAddress(clientId, clientIdTaken)]
    : [takeClientId(clientId, clientIdTaken)]
  const added: Draft<AppEvent> = {
    type: "project.application.added",
    data: { projectId, name: givenName("name", input.name) },
    claims: config.kind === "saml" ? [takeEntity(config.saml.entityId)] : clientClaims,
  }
  const drafts = [added, configured(tx, config, clientId)]
  if (secret && config.kind !== "saml") drafts.push(firstSecret(config.kind, secret))
  drafts.push(...accessChanges(tx, app.initial, access))
  tx.append(app, id, drafts, owner.orgId)
}

/** Client ID and secret as the caller chose them; what is left out or empty is generated. */
export type ChosenCredentials = {
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
}

/**
 * Adds an application in a step of its own, with a secret where its method needs one. Returns the
 * secret only if it was generated.
 */
export async function createApplication(
  cx: Cx,
  id: string,
  input: Omit<ApplicationInput, "secret" | "clientId"> & { readonly chosen?: ChosenCredentials },
): Promise<{
  readonly receipt: Receipt
  readonly clientId: string
  readonly secret: string | undefined
}> {
  const { config, chosen = {}, ...rest } = input
  const clientId = config.kind === "saml" ? "" : parseClientId(chosen.clientId, cx.ids)
  const needsSecret = hasSecret(givenMethod(config))
  if (chosen.clientSecret && !needsSecret) throw secretUnusedError()
  const given = chosen.clientSecret ? chosenSecret(cx, id, chosen.clientSecret) : undefined
  const fresh = needsSecret && !given ? newSecret(cx, id) : undefined
  const step = await cx.store.transact(cx, (tx) =>
    addApplication(tx, id, { ...rest, config, clientId, secret: given ?? fresh }),
  )
  return { receipt: step.receipt(app, id), clientId, secret: fresh?.plain }
}

export type ApplicationChange = {
  readonly name?: string
  readonly oidc?: OidcInput
  readonly api?: Partial<ApiConfig>
  readonly saml?: Partial<SamlConfig>
  readonly access?: Partial<AppAccess>
}

/** Changes what is given. A method that needs no secret voids the one there was. */
export const changeApplication = app.command<ApplicationChange>((state, input, cx) => {
  mustExist(state)
  const drafts: Draft<AppEvent>[] = []
  const name = input.name === undefined ? state.name : givenName("name", input.name)
  if (name !== state.name) drafts.push({ type: "project.application.changed", data: { name } })
  if (input.oidc) {
    if (state.kind !== "oidc") throw otherKindError()
    drafts.push(...oidcChanges(cx, state, input.oidc))
  }
  if (input.api) {
    if (state.kind !== "api") throw otherKindError()
    drafts.push(...apiChanges(cx, state, input.api))
  }
  if (input.saml) {
    if (state.kind !== "saml") throw otherKindError()
    drafts.push(...samlChanges(state, input.saml))
  }
  if (input.access) drafts.push(...accessChanges(cx, state, input.access))
  return drafts
})

/** Stops sign-ins to an application. Refuses the console. */
export const deactivateApplication = app.command((state, _, cx) => {
  mustExist(state)
  mustNotBeConsole(cx, state.clientId)
  if (state.status === "inactive") return []
  return [{ type: "project.application.deactivated", data: {} }]
})

export const reactivateApplication = app.command((state) => {
  mustExist(state)
  if (state.status === "active") return []
  return [{ type: "project.application.reactivated", data: {} }]
})

/** Removes an application and the hash of its secret; nothing happens where it is gone. */
export const removeApplication = app.command((state, _, cx) => {
  if (isGone(state)) return []
  mustNotBeConsole(cx, state.clientId)
  return [removal(state)]
})

/** What takes an application away, with the hash of its secret. */
export function removal(state: Exclude<App, { status: "absent" | "removed" }>): Draft<AppEvent> {
  const claims = [
    ...(state.kind === "saml" ? [releaseEntity(state.saml.entityId)] : []),
    ...(state.kind !== "saml" && !isKeptForever(state.clientId)
      ? [releaseClientId(state.clientId)]
      : []),
    ...(state.kind === "api" ? resourceClaims(resourcesOf(state.api), []) : []),
    // Only the id of such a client is an address.
    ...(state.clientId.startsWith("https:") ? [releaseAddress(state.clientId)] : []),
  ]
  return { type: "project.application.removed", data: {}, claims, erase: {} }
}

/** How many applications are removed in the same step as their project. */
const cascadeMax = 500

/**
 * Removes a project and its applications. Beyond a bound the project alone stops the rest: every
 * use of an application asks for its project.
 */
export async function removeProjectWithApps(cx: Cx, id: string): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => dropProject(cx, tx, id))
  return step.receipt(project, id)
}

/** The same within a larger step. */
export function dropProject(cx: Cx, tx: Transaction, id: string): void {
  removeProject.within(tx, id)
  for (const appId of appIdsOf(cx, id, cascadeMax)) removeApplication.within(tx, appId)
}

function configured(cx: Decision, config: AppKind, clientId: string): Draft<AppEvent> {
  if (config.kind === "api") {
    const resources = resourcesOf(config.api)
    checkResources(cx, resources)
    checkScopes(scopesOf(config.api))
    return {
      type: "project.application.config.api.added",
      data: { ...config.api, clientId },
      claims: resourceClaims([], resources),
    }
  }
  if (config.kind === "saml") {
    checkLogin(config.saml.loginVersion)
    if (config.saml.attributes) checkAttributes(config.saml.attributes)
    return { type: "project.application.config.saml.added", data: config.saml }
  }
  const { isBackChannelPrivate, ...given } = config.oidc
  const added = { ...oidcDefaults, ...given }
  const backChannelPrivate = privateOriginOf(cx, added, isBackChannelPrivate)
  const oidc = { ...added, ...(backChannelPrivate !== "" && { backChannelPrivate }) }
  checkOidc(cx, oidc)
  return { type: "project.application.config.oidc.added", data: { ...oidc, clientId } }
}

function oidcChanges(
  cx: Decision,
  { oidc }: OidcApp,
  { isBackChannelPrivate, ...input }: OidcInput,
): readonly Draft<AppEvent>[] {
  const changed = { ...oidc, ...input }
  const backChannelPrivate = privateOriginOf(cx, changed, isBackChannelPrivate)
  const data = {
    // What an application from before doesn't state is inherited.
    ...changesOf<Partial<OidcConfig>>(
      { pkce: "inherited", groupsClaim: "unspecified", ...oidc },
      input,
    ),
    ...(backChannelPrivate !== (oidc.backChannelPrivate ?? "") && { backChannelPrivate }),
  }
  if (Object.keys(data).length === 0) return []
  const next = { ...oidc, ...data }
  checkOidc(cx, next)
  const type = "project.application.config.oidc.changed"
  return hasSecret(next.authMethod)
    ? [{ type, data }]
    : [{ type, data, erase: secretErasure("oidc") }]
}

function apiChanges(
  cx: Decision,
  { api }: ApiApp,
  input: Partial<ApiConfig>,
): readonly Draft<AppEvent>[] {
  const next = { ...api, ...input }
  if (Object.keys(changesOf(api, input)).length === 0) return []
  const resources = resourcesOf(next)
  checkResources(cx, resources, resourcesOf(api))
  checkScopes(scopesOf(next))
  const type = "project.application.config.api.changed"
  const claims = resourceClaims(resourcesOf(api), resources)
  return hasSecret(next.authMethod)
    ? [{ type, data: next, claims }]
    : [{ type, data: next, claims, erase: secretErasure("api") }]
}

function samlChanges({ saml }: SamlApp, input: Partial<SamlConfig>): readonly Draft<AppEvent>[] {
  const data = changesOf(saml, input)
  if (Object.keys(data).length === 0) return []
  if (data.loginVersion) checkLogin(data.loginVersion)
  if (data.attributes) checkAttributes(data.attributes)
  const { entityId } = data
  const claims = entityId === undefined ? [] : [releaseEntity(saml.entityId), takeEntity(entityId)]
  return [{ type: "project.application.config.saml.changed", data, claims }]
}

function givenMethod(config: AppKind): AuthMethod {
  if (config.kind === "api") return config.api.authMethod
  if (config.kind === "saml") return "none"
  return config.oidc.authMethod ?? oidcDefaults.authMethod
}

/** The given fields that differ from what is so; values are texts, numbers, and lists of texts. */
function changesOf<Config extends object>(config: Config, input: Partial<Config>): Partial<Config> {
  const changes: Partial<Config> = {}
  for (const field in input) {
    const value = input[field]
    if (value === undefined || JSON.stringify(value) === JSON.stringify(config[field])) continue
    changes[field] = value
  }
  return changes
}

/** Whoever stopped the console could not undo it there. */
function mustNotBeConsole(cx: Decision, clientId: string): void {
  const { consoleClientId } = cx.state(instance, cx.instance)
  if (clientId === "" || consoleClientId !== clientId) return
  throw new Fault(
    "failed_precondition",
    "app.is_console",
    "this application can't be stopped or removed: it is the console",
  )
}

const otherKindError = () =>
  new Fault("invalid_argument", "app.kind_differs", "the application is of another type")
