import { Fault } from "../../kernel/fault.ts"
import { parseDisplayName } from "../../kernel/text/identifier.ts"
import type { Cx, DecisionContext, Draft, Receipt, Transaction } from "../../store/index.ts"
import { claimClientId, claimClientUrl, instance, releaseClientId } from "../instance/index.ts"
import { isProjectThere, project, removeProject } from "../project/index.ts"
import type { AppAccess } from "./access/access.ts"
import { accessChanges } from "./access/change.ts"
import { clientIdTaken, isReservedForever, parseClientId, requireUnusedClientId } from "./client.ts"
import {
  firstSecretEvent,
  hashChosenSecret,
  newSecret,
  type SecretHash,
  secretErasure,
  secretNotAllowedError,
} from "./credential/secret.ts"
import {
  type ApiApp,
  type ApiConfig,
  type App,
  type AppEvent,
  type AuthMethod,
  app,
  hasSecret,
  isMissing,
  type OidcApp,
  type OidcConfig,
  type SamlApp,
  type SamlConfig,
} from "./model.ts"
import {
  type OidcInput,
  oidcDefaults,
  privateOriginOf,
  validateLoginVersion,
  validateOidcConfig,
} from "./oidc.ts"
import {
  releaseAddress,
  resourceClaims,
  resourcesOf,
  takeAddress,
  validateResources,
} from "./resource.ts"
import { validateAttributes } from "./saml/attributes.ts"
import { releaseEntity, takeEntity } from "./saml/metadata.ts"
import { scopesOf, validateScopes } from "./scope.ts"
import { appIdsOf, requireExists } from "./view.ts"

export type AppConfigInput =
  | { readonly kind: "oidc"; readonly oidc: OidcInput }
  | { readonly kind: "api"; readonly api: ApiConfig }
  | { readonly kind: "saml"; readonly saml: SamlConfig }

export type ApplicationInput = {
  readonly projectId: string
  readonly name: string
  /** Empty for SAML applications. */
  readonly clientId: string
  /** Whether the client ID is the URL of a client metadata document. */
  readonly isMetadataUrl?: boolean
  readonly config: AppConfigInput
  /** The hash of the client secret, if the client has one; see `newSecret`. */
  readonly secret?: SecretHash | undefined
  /** Who can use the application; by default, all users that its project admits. */
  readonly access?: Partial<AppAccess>
}

/**
 * Adds an application to a project. Client IDs are unique among clients and service accounts,
 * entity IDs among SAML applications.
 */
export function addApplication(tx: Transaction, id: string, input: ApplicationInput): void {
  if (tx.state(app, id).status !== "absent") {
    throw new Fault("already_exists", "app.exists", "an application with this ID already exists")
  }
  const owner = tx.state(project, input.projectId)
  if (!isProjectThere(owner)) {
    throw new Fault("not_found", "project.missing", "project not found")
  }
  const { projectId, clientId, isMetadataUrl = false, config, secret, access = {} } = input
  if (config.kind !== "saml" && !isMetadataUrl) requireUnusedClientId(tx, clientId)
  const clientClaims = isMetadataUrl
    ? [claimClientUrl(clientId, clientIdTaken), takeAddress(clientId, clientIdTaken)]
    : [claimClientId(clientId, clientIdTaken)]
  const added: Draft<AppEvent> = {
    type: "project.application.added",
    data: { projectId, name: parseDisplayName("name", input.name) },
    claims: config.kind === "saml" ? [takeEntity(config.saml.entityId)] : clientClaims,
  }
  const drafts = [added, configurationEvent(tx, config, clientId)]
  if (secret && config.kind !== "saml") drafts.push(firstSecretEvent(config.kind, secret))
  drafts.push(...accessChanges(tx, app.initial, access))
  tx.append(app, id, drafts, owner.orgId)
}

/** Client ID and secret that the caller chose; absent or empty values are generated. */
export type ChosenCredentials = {
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
}

/**
 * Adds an application in a transaction of its own, with a secret if its authentication method uses
 * one. Returns the secret only if it was generated.
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
  const needsSecret = hasSecret(authMethodOf(config))
  if (chosen.clientSecret && !needsSecret) throw secretNotAllowedError()
  const chosenHash = chosen.clientSecret ? hashChosenSecret(cx, id, chosen.clientSecret) : undefined
  const fresh = needsSecret && !chosenHash ? newSecret(cx, id) : undefined
  const step = await cx.store.transact(cx, (tx) =>
    addApplication(tx, id, { ...rest, config, clientId, secret: chosenHash ?? fresh }),
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

/**
 * Updates the fields that are present. A change to a method without a secret revokes the existing
 * secrets.
 */
export const updateApplication = app.command<ApplicationChange>((state, input, cx) => {
  requireExists(state)
  const drafts: Draft<AppEvent>[] = []
  const name = input.name === undefined ? state.name : parseDisplayName("name", input.name)
  if (name !== state.name) drafts.push({ type: "project.application.changed", data: { name } })
  if (input.oidc) {
    if (state.kind !== "oidc") throw typeMismatchError()
    drafts.push(...oidcChanges(cx, state, input.oidc))
  }
  if (input.api) {
    if (state.kind !== "api") throw typeMismatchError()
    drafts.push(...apiChanges(cx, state, input.api))
  }
  if (input.saml) {
    if (state.kind !== "saml") throw typeMismatchError()
    drafts.push(...samlChanges(state, input.saml))
  }
  if (input.access) drafts.push(...accessChanges(cx, state, input.access))
  return drafts
})

/** Deactivates an application, so that users can't sign in to it. Rejects the console. */
export const deactivateApplication = app.command((state, _, cx) => {
  requireExists(state)
  rejectConsole(cx, state.clientId)
  if (state.status === "inactive") return []
  return [{ type: "project.application.deactivated", data: {} }]
})

export const reactivateApplication = app.command((state) => {
  requireExists(state)
  if (state.status === "active") return []
  return [{ type: "project.application.reactivated", data: {} }]
})

/** Removes an application and erases the hashes of its secrets; no-op if it is already removed. */
export const removeApplication = app.command((state, _, cx) => {
  if (isMissing(state)) return []
  rejectConsole(cx, state.clientId)
  return [removalEvent(state)]
})

/** The event that removes an application and erases the hashes of its secrets. */
export function removalEvent(
  state: Exclude<App, { status: "absent" | "removed" }>,
): Draft<AppEvent> {
  const claims = [
    ...(state.kind === "saml" ? [releaseEntity(state.saml.entityId)] : []),
    ...(state.kind !== "saml" && !isReservedForever(state.clientId)
      ? [releaseClientId(state.clientId)]
      : []),
    ...(state.kind === "api" ? resourceClaims(resourcesOf(state.api), []) : []),
    // Only client IDs from client metadata documents are URLs.
    ...(state.clientId.startsWith("https:") ? [releaseAddress(state.clientId)] : []),
  ]
  return { type: "project.application.removed", data: {}, claims, erase: {} }
}

/** Number of applications that are removed in the same transaction as their project. */
const cascadeMax = 500

/**
 * Removes a project and its applications. If there are too many applications, the remaining ones
 * are unusable without their project.
 */
export async function removeProjectWithApps(cx: Cx, id: string): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => removeProjectInTransaction(cx, tx, id))
  return step.receipt(project, id)
}

/** Removes a project and its applications within a transaction. */
export function removeProjectInTransaction(cx: Cx, tx: Transaction, id: string): void {
  removeProject.within(tx, id)
  for (const appId of appIdsOf(cx, id, cascadeMax)) removeApplication.within(tx, appId)
}

function configurationEvent(
  cx: DecisionContext,
  config: AppConfigInput,
  clientId: string,
): Draft<AppEvent> {
  if (config.kind === "api") {
    const resources = resourcesOf(config.api)
    validateResources(cx, resources)
    validateScopes(scopesOf(config.api))
    return {
      type: "project.application.config.api.added",
      data: { ...config.api, clientId },
      claims: resourceClaims([], resources),
    }
  }
  if (config.kind === "saml") {
    validateLoginVersion(config.saml.loginVersion)
    if (config.saml.attributes) validateAttributes(config.saml.attributes)
    return { type: "project.application.config.saml.added", data: config.saml }
  }
  const { isBackChannelPrivate, ...chosenHash } = config.oidc
  const added = { ...oidcDefaults, ...chosenHash }
  const backChannelPrivate = privateOriginOf(cx, added, isBackChannelPrivate)
  const oidc = { ...added, ...(backChannelPrivate !== "" && { backChannelPrivate }) }
  validateOidcConfig(cx, oidc)
  return { type: "project.application.config.oidc.added", data: { ...oidc, clientId } }
}

function oidcChanges(
  cx: DecisionContext,
  { oidc }: OidcApp,
  { isBackChannelPrivate, ...input }: OidcInput,
): readonly Draft<AppEvent>[] {
  const changed = { ...oidc, ...input }
  const backChannelPrivate = privateOriginOf(cx, changed, isBackChannelPrivate)
  const data = {
    // Settings that an older application does not have are inherited.
    ...changesOf<Partial<OidcConfig>>(
      { pkce: "inherited", groupsClaim: "unspecified", ...oidc },
      input,
    ),
    ...(backChannelPrivate !== (oidc.backChannelPrivate ?? "") && { backChannelPrivate }),
  }
  if (Object.keys(data).length === 0) return []
  const next = { ...oidc, ...data }
  validateOidcConfig(cx, next)
  const type = "project.application.config.oidc.changed"
  return hasSecret(next.authMethod)
    ? [{ type, data }]
    : [{ type, data, erase: secretErasure("oidc") }]
}

function apiChanges(
  cx: DecisionContext,
  { api }: ApiApp,
  input: Partial<ApiConfig>,
): readonly Draft<AppEvent>[] {
  const next = { ...api, ...input }
  if (Object.keys(changesOf(api, input)).length === 0) return []
  const resources = resourcesOf(next)
  validateResources(cx, resources, resourcesOf(api))
  validateScopes(scopesOf(next))
  const type = "project.application.config.api.changed"
  const claims = resourceClaims(resourcesOf(api), resources)
  return hasSecret(next.authMethod)
    ? [{ type, data: next, claims }]
    : [{ type, data: next, claims, erase: secretErasure("api") }]
}

function samlChanges({ saml }: SamlApp, input: Partial<SamlConfig>): readonly Draft<AppEvent>[] {
  const data = changesOf(saml, input)
  if (Object.keys(data).length === 0) return []
  if (data.loginVersion) validateLoginVersion(data.loginVersion)
  if (data.attributes) validateAttributes(data.attributes)
  const { entityId } = data
  const claims = entityId === undefined ? [] : [releaseEntity(saml.entityId), takeEntity(entityId)]
  return [{ type: "project.application.config.saml.changed", data, claims }]
}

function authMethodOf(config: AppConfigInput): AuthMethod {
  if (config.kind === "api") return config.api.authMethod
  if (config.kind === "saml") return "none"
  return config.oidc.authMethod ?? oidcDefaults.authMethod
}

/**
 * The fields of the input that differ from the configuration; values are strings, numbers or lists
 * of strings.
 */
function changesOf<Config extends object>(config: Config, input: Partial<Config>): Partial<Config> {
  const changes: Partial<Config> = {}
  for (const field in input) {
    const value = input[field]
    if (value === undefined || JSON.stringify(value) === JSON.stringify(config[field])) continue
    changes[field] = value
  }
  return changes
}

/** Administrators could not undo this, because they would need the console. */
function rejectConsole(cx: DecisionContext, clientId: string): void {
  const { consoleClientId } = cx.state(instance, cx.instance)
  if (clientId === "" || consoleClientId !== clientId) return
  throw new Fault(
    "failed_precondition",
    "app.is_console",
    "permission denied: the console can't be deactivated or removed",
  )
}

const typeMismatchError = () =>
  new Fault("invalid_argument", "app.kind_differs", "the application has a different type")
