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
import { importPublicKey, never } from "../../../kernel/crypto/signing-key.ts"
import { Fault } from "../../../kernel/fault.ts"
import { givenId } from "../../../kernel/text/given.ts"
import { meaning } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { accessChange, newOidc, toAccess, toOidc } from "../../app/api.ts"
import {
  type AppKind,
  addAppKey,
  addApplication,
  apiScope,
  app,
  deactivateApplication,
} from "../../app/index.ts"
import { appKeysOf, idsIn } from "../list.ts"
import { emptyError, isOwn, mustOwn } from "./v1-project.ts"
import { needs, row } from "./v1-row.ts"

const apiMethods = ["basic", "private_key_jwt"] as const
const apiMethodNumbers = {
  basic: APIAuthMethodType.API_AUTH_METHOD_TYPE_BASIC,
  private_key_jwt: APIAuthMethodType.API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT,
} as const

/** Secrets stay behind: of those, keyed hashes are kept, which mean nothing elsewhere. */
export const apiRow = row({
  field: "apiApps",
  needs: needs("project.app"),
  from: ({ apiApps }) => apiApps,
  async *read(cx, orgId) {
    for await (const appId of idsIn(cx, "apis", orgId)) {
      const state = cx.store.state(cx, app, appId)
      if (!("api" in state) || isOwn(cx, state.projectId)) continue
      const { projectId, name, clientId, api } = state
      const message = { projectId, name, authMethodType: apiMethodNumbers[api.authMethod] }
      const resources = [...(api.resources ?? [])]
      const inactive = state.status === "inactive"
      const scopes = [...(api.scopes ?? [])]
      const access = toAccess(state)
      yield { apiApps: [{ appId, app: message, clientId, resources, inactive, scopes, access }] }
    }
  },
  write: (cx, orgId, { app: given, resources, scopes, ...data }) => {
    if (!given) throw emptyError("application")
    const authMethod = meaning(apiMethods, given.authMethodType)
    const api = {
      authMethod,
      ...(resources.length > 0 && { resources }),
      ...(scopes.length > 0 && { scopes: scopes.map(apiScope) }),
    }
    return take(cx, orgId, { ...given, ...data, config: { kind: "api", api } })
  },
  idOf: ({ appId }) => appId,
  taken: ({ appId }) => ({ apiAppIds: [appId] }),
})

export const oidcRow = row({
  field: "oidcApps",
  needs: needs("project.app"),
  from: ({ oidcApps }) => oidcApps,
  async *read(cx, orgId) {
    for await (const appId of idsIn(cx, "clients", orgId)) {
      const state = cx.store.state(cx, app, appId)
      if (!("oidc" in state) || isOwn(cx, state.projectId)) continue
      const { projectId, name, clientId } = state
      const shown = create(OIDCConfigurationSchema, toOidc(clientId, state.oidc, ""))
      const { privateNetworkHttp, tokenSettings, frontChannelLogout, requestRules, pkce } = shown
      const { idTokenProjectAudience, idTokenClientId, genericRolesClaim } = shown
      const { backEndLogoutAccepted, forwardAuth, groupsClaim, plainOauth } = shown
      const message = requestOf(shown, { projectId, name })
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
  write: (cx, orgId, { app: given, ...data }) => {
    if (!given) throw emptyError("application")
    const { projectId, name } = given
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
    const oidc = newOidc({ ...askedOf(given), ...ours })
    return take(cx, orgId, { projectId, name, ...data, config: { kind: "oidc", oidc } })
  },
  idOf: ({ appId }) => appId,
  taken: ({ appId }) => ({ oidcAppIds: [appId] }),
})

/** Two fields are called otherwise in each version; all others, and enums, are named alike. */
const lenient = { ignoreUnknownFields: true } as const

function requestOf(
  shown: OIDCConfiguration,
  at: { readonly projectId: string; readonly name: string },
): AddOIDCAppRequest {
  const json: JsonObject = Object(toJson(OIDCConfigurationSchema, shown))
  const { applicationType: appType = 0, developmentMode: devMode = false } = json
  return fromJson(AddOIDCAppRequestSchema, { ...json, ...at, appType, devMode }, lenient)
}

function askedOf(given: AddOIDCAppRequest): CreateOIDCApplicationRequest {
  const json: JsonObject = Object(toJson(AddOIDCAppRequestSchema, given))
  const { appType: applicationType = 0, devMode: developmentMode = false } = json
  const asked = { ...json, applicationType, developmentMode }
  return fromJson(CreateOIDCApplicationRequestSchema, asked, lenient)
}

type Given = {
  readonly appId: string
  readonly clientId: string
  readonly projectId: string
  readonly name: string
  readonly inactive: boolean
  readonly access?: Parameters<typeof accessChange>[0]
  readonly config: AppKind
}

async function take(cx: Cx, orgId: string, given: Given): Promise<void> {
  const { projectId, name, config, inactive } = given
  mustOwn(cx, orgId, projectId)
  const id = givenId(cx.ids, "app_id", given.appId)
  const clientId = givenId({ next: () => id }, "client_id", given.clientId)
  const access = accessChange(given.access)
  await cx.store.transact(cx, (tx) => {
    addApplication(tx, id, { projectId, name, clientId, config, access })
    if (inactive) deactivateApplication.within(tx, id)
  })
}

export const appKeyRow = row({
  field: "appKeys",
  needs: needs("project.app"),
  from: ({ appKeys }) => appKeys,
  async *read(cx, orgId) {
    for (const list of ["apis", "clients"] as const) {
      for await (const appId of idsIn(cx, list, orgId)) {
        const state = cx.store.state(cx, app, appId)
        if (!("clientId" in state) || isOwn(cx, state.projectId)) continue
        const { projectId, clientId } = state
        for (const { id, publicKey, expires } of appKeysOf(cx, appId)) {
          yield { appKeys: [{ id, projectId, appId, clientId, ...keyOf(publicKey, expires) }] }
        }
      }
    }
  },
  write: async (cx, orgId, given) => {
    const { projectId, appId } = given
    mustOwn(cx, orgId, projectId)
    const state = cx.store.state(cx, app, appId)
    if (!("projectId" in state) || state.projectId !== projectId) throw missingError()
    const key = readKey(given)
    const keyId = givenId(cx.ids, "id", given.id)
    mustNotHave(appKeysOf(cx, appId), keyId)
    await addAppKey(cx, appId, { keyId, ...key })
  },
  lane: ({ appId }) => appId,
  idOf: ({ id }) => id,
  taken: ({ id }) => ({ appKeys: [id] }),
})

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** A public key as a message carries it, in PEM. */
export const keyOf = (publicKey: string, expires: number) => ({
  type: KeyType.JSON,
  publicKey: encoder.encode(publicKey),
  expirationDate: timestampFromMs(expires),
})

type GivenKey = {
  readonly publicKey: Uint8Array
  readonly expirationDate?: Parameters<typeof timestampMs>[0] | undefined
}

/** The other way round; refuses what is no public key, and keys that are too weak. */
export const readKey = ({ publicKey, expirationDate }: GivenKey) => ({
  publicKey: importPublicKey(decoder.decode(publicKey)),
  expires: expirationDate ? timestampMs(expirationDate) : never,
})

/** Nothing that is there changes. */
export function mustNotHave(keys: readonly { readonly id: string }[], keyId: string): void {
  if (!keys.some(({ id }) => id === keyId)) return
  throw new Fault("already_exists", "transfer.exists", "there is a key with this id already")
}

const missingError = () =>
  new Fault("not_found", "app.missing", "the project has no such application")
