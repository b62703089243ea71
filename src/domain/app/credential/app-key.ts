import { createSigningPair, neverExpires } from "../../../kernel/crypto/signing-key.ts"
import { type Cx, type Receipt, statement } from "../../../store/index.ts"
import { type CredentialKind, createRemoval, requireExpiry } from "../../family/index.ts"
import { appChain } from "../client.ts"
import { app, type ClientJwk, isClient, isMissing } from "../model.ts"
import { jwkToPem } from "../registration.ts"
import { type AppKeyRow, keyNotFoundError, requireClient, requireExists } from "../view.ts"

/** A registered key, with the key file that contains the private key for the application. */
export type AppKey = {
  readonly keyId: string
  readonly publicKey: string
  readonly content: string
}

const appKeys = {
  noun: "key",
  holder: "an application",
  errorIds: { expired: "app.key_expired", tooMany: "app.too_many_keys" },
} as const satisfies CredentialKind

type AddAppKeyInput = Omit<AppKey, "content"> & { readonly expires: number }

/** Registers a public key that verifies the application's assertions until `expires` (ms UTC). */
export const addAppKey = app.command<AddAppKeyInput>(
  (state, { keyId, publicKey, expires }, { now }) => {
    requireExists(state)
    requireClient(state)
    const count = Object.keys(state.keys).length
    const data = { keyId, publicKey, expires: requireExpiry(appKeys, { expires, now, count }) }
    return [{ type: `project.application.${state.kind}.key.added`, data }]
  },
)

/**
 * Creates a key pair for an application and registers the public key. The private key is only in
 * the returned file; it is not stored.
 */
export async function createAppKey(
  cx: Cx,
  appId: string,
  expires: number,
): Promise<{ readonly receipt: Receipt; readonly key: AppKey }> {
  const state = cx.store.state(cx, app, appId)
  requireExists(state)
  const { publicKey, privateKey } = await createSigningPair()
  const keyId = cx.ids.next()
  const { clientId } = state
  const file = { type: "application", keyId, key: privateKey, appId, clientId }
  const receipt = await addAppKey(cx, appId, { keyId, publicKey, expires })
  return { receipt, key: { keyId, publicKey, content: JSON.stringify(file) } }
}

/**
 * Removes a key, so that assertions signed with it are rejected. Returns undefined if the
 * key does not exist.
 */
export const removeAppKey = createRemoval(app)<string>((state, keyId) => {
  requireExists(state)
  if (!isClient(state) || !Object.hasOwn(state.keys, keyId)) return undefined
  const type = `project.application.${state.kind}.key.removed` as const
  return { type, data: { keyId } }
})

const keyById = statement<AppKeyRow>(
  "SELECT * FROM app_keys WHERE instance = $instance AND id = $keyId",
)

/** The row of a key. Throws if it does not exist or belongs to another application. */
export function getAppKey(cx: Cx, keyId: string, appId?: string): AppKeyRow {
  const row = cx.store.get(cx, keyById, { keyId })
  if (row && (appId === undefined || row.app === appId)) return row
  throw keyNotFoundError()
}

/** The owner chain of a key, for access checks: that of its application. */
export function appKeyChain(cx: Cx, keyId: string) {
  const row = cx.store.get(cx, keyById, { keyId })
  return row && appChain(cx, row.app)
}

const publicKeyById = statement<{ publicKey: string; expires: number }>(
  `SELECT public_key AS publicKey, expires FROM app_keys
   WHERE instance = $instance AND app = $appId AND id = $keyId`,
)

/**
 * The public key (PEM, SPKI) that verifies an application's assertions, with its expiry in ms UTC.
 * Applications that registered themselves provide their own keys and key IDs.
 */
export function findAppPublicKey(
  cx: Cx,
  appId: string,
  keyId: string,
): { readonly publicKey: string; readonly expires: number } | undefined {
  const state = cx.store.state(cx, app, appId)
  const jwk = isMissing(state) ? undefined : state.registration?.jwks.find(hasKeyId(keyId))
  if (jwk) return { publicKey: jwkToPem(jwk), expires: neverExpires }
  return cx.store.get(cx, publicKeyById, { appId, keyId })
}

const hasKeyId =
  (keyId: string) =>
  ({ kid = "" }: ClientJwk): boolean =>
    kid === keyId
