import { createPrivateKey, type KeyObject } from "node:crypto"
import { SignJWT } from "jose"
import { createApplication } from "../../src/domain/app/commands.ts"
import { createAppKey } from "../../src/domain/app/credential/app-key.ts"
import { generateSecret } from "../../src/domain/app/credential/secret.ts"
import * as app from "../../src/domain/app/index.ts"
import type { ApiConfig } from "../../src/domain/app/model.ts"
import { claimClientId } from "../../src/domain/instance/index.ts"
import { addServiceKey, createServiceKey } from "../../src/domain/service-account/index.ts"
import { generateMachineSecret } from "../../src/domain/service-account/machine-secret.ts"
import { createUser } from "../../src/domain/user/create.ts"
import type { AccessTokenType } from "../../src/domain/user-model/index.ts"
import { neverExpires } from "../../src/kernel/crypto/signing-key.ts"
import type { Draft } from "../../src/store/index.ts"
import { issuer, type NewClient, type Provider, redirectUri } from "./provider.ts"

export const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

/** The key with which a client signs assertions. */
export type ClientKey = { readonly id: string; readonly keyId: string; readonly key: KeyObject }

/** An application that signs assertions with its own key. */
export async function addKeyClient(provider: Provider): Promise<NewClient & ClientKey> {
  const client = await provider.addClient({ authMethod: "private_key_jwt" })
  return { ...client, ...(await addKeyTo(provider, client.appId)) }
}

/** Adds a key to an application, from its key file. */
export async function addKeyTo(provider: Provider, appId: string, expires = neverExpires) {
  const { key } = await createAppKey(provider.cx(), appId, expires)
  const file = JSON.parse(key.content)
  return {
    id: String(file.clientId),
    keyId: String(file.keyId),
    key: createPrivateKey(file.key),
  }
}

/** An API as a client. */
export async function addApi(provider: Provider, authMethod: ApiConfig["authMethod"]) {
  const cx = provider.cx()
  const appId = cx.ids.next()
  const config = { kind: "api", api: { authMethod } } as const
  const { projectId } = provider
  const made = await createApplication(cx, appId, { projectId, name: "API", config })
  return { appId, id: made.clientId, secret: made.secret ?? "" }
}

/** A service account with a secret and a key, whose name is not a number. */
export async function addServiceAccount(
  provider: Provider,
  accessTokenType: AccessTokenType = "bearer",
  orgId = provider.setup.orgId,
) {
  const cx = provider.cx()
  const userId = cx.ids.next()
  const name = `robot ${userId}+%`
  const machine = { kind: "machine", name: "Robot", accessTokenType } as const
  await createUser(cx, userId, { ...machine, orgId, userName: name })
  const { secret } = await generateMachineSecret(cx, userId)
  const made = await createServiceKey(cx, userId)
  await addServiceKey(cx, userId, { ...made, expires: neverExpires })
  const file = JSON.parse(made.content)
  const keyId = String(file.keyId)
  return { userId, id: name, secret, keyId, key: createPrivateKey(file.key) }
}

export type Claims = Readonly<Record<string, unknown>>

/** The fields of a client assertion; claims set to undefined are omitted. */
export async function signAssertion(
  provider: Provider,
  client: ClientKey,
  changes: { readonly claims?: Claims; readonly header?: Claims; readonly key?: KeyObject } = {},
) {
  const now = Math.floor(provider.clock.now() / 1000)
  const claims = { iss: client.id, sub: client.id, aud: issuer, iat: now, exp: now + 300 }
  const kept = Object.entries({ ...claims, ...changes.claims }).filter(
    ([, value]) => value !== undefined,
  )
  const assertion = await new SignJWT(Object.fromEntries(kept))
    .setProtectedHeader({ alg: "RS256", kid: client.keyId, ...changes.header })
    .sign(changes.key ?? client.key, { crit: { x: true } })
  return { client_assertion_type: assertionType, client_assertion: assertion }
}

/** RFC 6749 §2.3.1: "<id>:<secret>", each form-encoded. */
export const encodeBasic = (id: string, secret: string) =>
  `${encodeURIComponent(id)}:${encodeURIComponent(secret)}`

/** An application as stored by an earlier version, without later settings. */
export async function addExistingClient(
  provider: Provider,
  oidc: Partial<app.OidcConfig>,
): Promise<NewClient> {
  const cx = provider.cx()
  const {
    idTokenProjectAudience: _,
    idTokenClientId: __,
    genericRolesClaim: ___,
    ...earlier
  } = app.oidcDefaults
  const [appId, clientId] = [cx.ids.next(), cx.ids.next()]
  const { projectId } = provider
  const config = { ...earlier, redirectUris: [redirectUri], ...oidc } as const
  const drafts: Draft<app.AppEvent>[] = [
    {
      type: "project.application.added",
      data: { projectId, name: "Existing" },
      claims: [claimClientId(clientId, { id: "taken", message: "taken" })],
    },
    { type: "project.application.config.oidc.added", data: { ...config, clientId } },
  ]
  await provider.store.transact(cx, (tx) => tx.append(app.app, appId, drafts, provider.setup.orgId))
  const { secret } = await generateSecret(cx, appId)
  return { appId, id: clientId, secret }
}
