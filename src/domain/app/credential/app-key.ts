import { createSigningPair, never } from "../../../kernel/crypto/signing-key.ts"
import { type Cx, type Receipt, statement } from "../../../store/index.ts"
import { type CredentialKind, expiryOf, removalFrom } from "../../family/index.ts"
import { appChain } from "../client.ts"
import { app, type ClientJwk, isClient, isGone } from "../model.ts"
import { pemOf } from "../registration.ts"
import { type AppKeyRow, missingKeyError, mustBeClient, mustExist } from "../view.ts"

/** A key to be registered, and the file that the application reads its private half from. */
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

type AddKey = Omit<AppKey, "content"> & { readonly expires: number }

/** Registers a key that an application signs its assertions with, until `expires`. */
export const addAppKey = app.command<AddKey>((state, { keyId, publicKey, expires }, { now }) => {
  mustExist(state)
  mustBeClient(state)
  const count = Object.keys(state.keys).length
  const data = { keyId, publicKey, expires: expiryOf(appKeys, { expires, now, count }) }
  return [{ type: `project.application.${state.kind}.key.added`, data }]
})

/**
 * Makes a pair for an application and registers its public half; the private half is in the answer
 * and nowhere else.
 */
export async function createAppKey(
  cx: Cx,
  appId: string,
  expires: number,
): Promise<{ readonly receipt: Receipt; readonly key: AppKey }> {
  const state = cx.store.state(cx, app, appId)
  mustExist(state)
  const { publicKey, privateKey } = await createSigningPair()
  const keyId = cx.ids.next()
  const { clientId } = state
  const file = { type: "application", keyId, key: privateKey, appId, clientId }
  const receipt = await addAppKey(cx, appId, { keyId, publicKey, expires })
  return { receipt, key: { keyId, publicKey, content: JSON.stringify(file) } }
}

/** Removes a key; what it signs is refused. Answers undefined where there is no such key. */
export const removeAppKey = removalFrom(app)<string>((state, keyId) => {
  mustExist(state)
  if (!isClient(state) || !Object.hasOwn(state.keys, keyId)) return undefined
  const type = `project.application.${state.kind}.key.removed` as const
  return { type, data: { keyId } }
})

const byId = statement<AppKeyRow>(
  "SELECT * FROM app_keys WHERE instance = $instance AND id = $keyId",
)

/** One key as it is listed; faults where there is none, or another application's. */
export function appKeyOf(cx: Cx, keyId: string, appId?: string): AppKeyRow {
  const row = cx.store.get(cx, byId, { keyId })
  if (row && (appId === undefined || row.app === appId)) return row
  throw missingKeyError()
}

/** What the access to a key hangs from: its application's. */
export function appKeyChain(cx: Cx, keyId: string) {
  const row = cx.store.get(cx, byId, { keyId })
  return row && appChain(cx, row.app)
}

const one = statement<{ publicKey: string; expires: number }>(
  `SELECT public_key AS publicKey, expires FROM app_keys
   WHERE instance = $instance AND app = $appId AND id = $keyId`,
)

/**
 * The public key (PEM, SPKI) that an application's assertions are checked with; ms UTC. Whoever
 * registered itself has said its keys, and what they are called.
 */
export function appKey(
  cx: Cx,
  appId: string,
  keyId: string,
): { readonly publicKey: string; readonly expires: number } | undefined {
  const state = cx.store.state(cx, app, appId)
  const jwk = isGone(state) ? undefined : state.registration?.jwks.find(isCalled(keyId))
  if (jwk) return { publicKey: pemOf(jwk), expires: never }
  return cx.store.get(cx, one, { appId, keyId })
}

const isCalled =
  (keyId: string) =>
  ({ kid = "" }: ClientJwk): boolean =>
    kid === keyId
