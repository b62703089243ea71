import { create, fromJson, type JsonObject, toJson } from "@bufbuild/protobuf"
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import { APIAuthMethodType } from "../../../gen/core/app/v1/app_pb.ts"
import {
  type OIDCConfiguration,
  OIDCConfigurationSchema,
} from "../../../gen/core/application/v2/application_pb.ts"
import {
  type CreateOIDCApplicationRequest,
  CreateOIDCApplicationRequestSchema,
} from "../../../gen/core/application/v2/application_service_pb.ts"
import { KeyType } from "../../../gen/core/authn/v1/key_pb.ts"
import {
  type AddOIDCAppRequest,
  AddOIDCAppRequestSchema,
} from "../../../gen/core/management/v1/data_pb.ts"
import { importPublicKey, neverExpires } from "../../../kernel/crypto/signing-key.ts"
import { Fault } from "../../../kernel/fault.ts"
import { parseResourceId } from "../../../kernel/text/identifier.ts"
import { valueOfEnum } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { accessInputOf, newOidc, toAccess, toOidc } from "../../app/api.ts"
import {
  type AppConfigInput,
  addAppKey,
  addApplication,
  app,
  deactivateApplication,
  normalizeScope,
} from "../../app/index.ts"
import { appKeysOf, idsIn } from "../list.ts"
import { itemKind, permissionsFor } from "./v1-item-kind.ts"
import { emptyMessageError, isConsoleProject, requireOwnProject } from "./v1-project.ts"

const apiMethods = ["basic", "private_key_jwt"] as const
const apiMethodNumbers = {
  basic: APIAuthMethodType.API_AUTH_METHOD_TYPE_BASIC,
  private_key_jwt: APIAuthMethodType.API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT,
} as const

/**
 * Client secrets are not exported: only keyed hashes are stored, which another server can't verify.
 */
export const apiRow = itemKind({
  field: "apiApps",
  needs: permissionsFor("project.app"),
  from: ({ apiApps }) => apiApps,
  async *read(cx, orgId) {
    for await (const appId of idsIn(cx, "apis", orgId)) {
      const state = cx.store.state(cx, app, appId)
      if (!("api" in state) || isConsoleProject(cx, state.projectId)) continue
      const { projectId, name, clientId, api } = state
      const message = { projectId, name, authMethodType: apiMethodNumbers[api.authMethod] }
      const resources = [...(api.resources ?? [])]
      const inactive = state.status === "inactive"
      const scopes = [...(api.scopes ?? [])]
      const access = toAccess(state)
      yield { apiApps: [{ appId, app: message, clientId, resources, inactive, scopes, access }] }
    }
  },
  write: (cx, orgId, { app: appInput, resources, scopes, ...data }) => {
    if (!appInput) throw emptyMessageError("application")
    const authMethod = valueOfEnum(apiMethods, appInput.authMethodType)
    const api = {
      authMethod,
      ...(resources.length > 0 && { resources }),
      ...(scopes.length > 0 && { scopes: scopes.map(normalizeScope) }),
    }
    return importApp(cx, orgId, { ...appInput, ...data, config: { kind: "api", api } })
  },
  idOf: ({ appId }) => appId,
  successOf: ({ appId }) => ({ apiAppIds: [appId] }),
})

export const oidcRow = itemKind({
  field: "oidcApps",
  needs: permissionsFor("project.app"),
  from: ({ oidcApps }) => oidcApps,
  async *read(cx, orgId) {
    for await (const appId of idsIn(cx, "clients", orgId)) {
      const state = cx.store.state(cx, app, appId)
      if (!("oidc" in state) || isConsoleProject(cx, state.projectId)) continue
      const { projectId, name, clientId } = state
      const configuration = create(OIDCConfigurationSchema, toOidc(clientId, state.oidc, ""))
      const { privateNetworkHttp, tokenSettings, frontChannelLogout, requestRules, pkce } =
        configuration
      const { idTokenProjectAudience, idTokenClientId, genericRolesClaim } = configuration
      const { backEndLogoutAccepted, forwardAuth, groupsClaim, plainOauth } = configuration
      const message = requestOf(configuration, { projectId, name })
      const ours = {
        privateNetworkHttp,
        pkce,
        groupsClaim,
        idTokenProjectAudience,
        idTokenClientId,
        genericRolesClaim,
        backEndLogoutAccepted,
        plainOauth,
        ...(forwardAuth && { forwardAuth }),
        ...(tokenSettings && { tokenSettings }),
        ...(frontChannelLogout && { frontChannelLogout }),
        ...(requestRules && { requestRules }),
      }
      const inactive = state.status === "inactive"
      const access = toAccess(state)
      yield { oidcApps: [{ appId, app: message, clientId, inactive, access, ...ours }] }
    }
  },
  write: (cx, orgId, { app: appInput, ...data }) => {
    if (!appInput) throw emptyMessageError("application")
    const { projectId, name } = appInput
    const { privateNetworkHttp, tokenSettings, frontChannelLogout, requestRules, pkce } = data
    const { idTokenProjectAudience = true, idTokenClientId = true, genericRolesClaim = true } = data
    const { backEndLogoutAccepted, forwardAuth, groupsClaim, plainOauth } = data
    const ours = {
      privateNetworkHttp,
      tokenSettings,
      frontChannelLogout,
      requestRules,
      pkce,
      idTokenProjectAudience,
      idTokenClientId,
      genericRolesClaim,
      backEndLogoutAccepted,
      forwardAuth,
      groupsClaim,
      plainOauth,
    }
    const oidc = newOidc({ ...toV2Request(appInput), ...ours })
    return importApp(cx, orgId, { projectId, name, ...data, config: { kind: "oidc", oidc } })
  },
  idOf: ({ appId }) => appId,
  successOf: ({ appId }) => ({ oidcAppIds: [appId] }),
})

/**
 * Two fields have different names in each version; all other fields and enums have the same names.
 */
const lenient = { ignoreUnknownFields: true } as const

function requestOf(
  configuration: OIDCConfiguration,
  at: { readonly projectId: string; readonly name: string },
): AddOIDCAppRequest {
  const json: JsonObject = Object(toJson(OIDCConfigurationSchema, configuration))
  const { applicationType: appType = 0, developmentMode: devMode = false } = json
  return fromJson(AddOIDCAppRequestSchema, { ...json, ...at, appType, devMode }, lenient)
}

function toV2Request(appInput: AddOIDCAppRequest): CreateOIDCApplicationRequest {
  const json: JsonObject = Object(toJson(AddOIDCAppRequestSchema, appInput))
  const { appType: applicationType = 0, devMode: developmentMode = false } = json
  const v2Request = { ...json, applicationType, developmentMode }
  return fromJson(CreateOIDCApplicationRequestSchema, v2Request, lenient)
}

type AppInput = {
  readonly appId: string
  readonly clientId: string
  readonly projectId: string
  readonly name: string
  readonly inactive: boolean
  readonly access?: Parameters<typeof accessInputOf>[0]
  readonly config: AppConfigInput
}

async function importApp(cx: Cx, orgId: string, appInput: AppInput): Promise<void> {
  const { projectId, name, config, inactive } = appInput
  requireOwnProject(cx, orgId, projectId)
  const id = parseResourceId(cx.ids, "app_id", appInput.appId)
  const clientId = parseResourceId({ next: () => id }, "client_id", appInput.clientId)
  const access = accessInputOf(appInput.access)
  await cx.store.transact(cx, (tx) => {
    addApplication(tx, id, { projectId, name, clientId, config, access })
    if (inactive) deactivateApplication.within(tx, id)
  })
}

export const appKeyRow = itemKind({
  field: "appKeys",
  needs: permissionsFor("project.app"),
  from: ({ appKeys }) => appKeys,
  async *read(cx, orgId) {
    for (const list of ["apis", "clients"] as const) {
      for await (const appId of idsIn(cx, list, orgId)) {
        const state = cx.store.state(cx, app, appId)
        if (!("clientId" in state) || isConsoleProject(cx, state.projectId)) continue
        const { projectId, clientId } = state
        for (const { id, publicKey, expires } of appKeysOf(cx, appId)) {
          yield { appKeys: [{ id, projectId, appId, clientId, ...formatKey(publicKey, expires) }] }
        }
      }
    }
  },
  write: async (cx, orgId, appInput) => {
    const { projectId, appId } = appInput
    requireOwnProject(cx, orgId, projectId)
    const state = cx.store.state(cx, app, appId)
    if (!("projectId" in state) || state.projectId !== projectId) throw appNotFoundError()
    const key = parseKey(appInput)
    const keyId = parseResourceId(cx.ids, "id", appInput.id)
    requireNewKey(appKeysOf(cx, appId), keyId)
    await addAppKey(cx, appId, { keyId, ...key })
  },
  lane: ({ appId }) => appId,
  idOf: ({ id }) => id,
  successOf: ({ id }) => ({ appKeys: [id] }),
})

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** A public key in a message, in PEM. */
export const formatKey = (publicKey: string, expires: number) => ({
  type: KeyType.JSON,
  publicKey: encoder.encode(publicKey),
  expirationDate: timestampFromMs(expires),
})

type KeyInput = {
  readonly publicKey: Uint8Array
  readonly expirationDate?: Parameters<typeof timestampMs>[0] | undefined
}

/** Parses a public key; throws for invalid and weak keys. */
export const parseKey = ({ publicKey, expirationDate }: KeyInput) => ({
  publicKey: importPublicKey(decoder.decode(publicKey)),
  expires: expirationDate ? timestampMs(expirationDate) : neverExpires,
})

/** Existing keys are not changed. */
export function requireNewKey(keys: readonly { readonly id: string }[], keyId: string): void {
  if (!keys.some(({ id }) => id === keyId)) return
  throw new Fault("already_exists", "transfer.exists", "a key with this ID already exists")
}

const appNotFoundError = () =>
  new Fault("not_found", "app.missing", "application not found in the project")
