import { createPublicKey } from "node:crypto"
import { matchesAny } from "../../kernel/crypto/secret.ts"
import { Fault } from "../../kernel/fault.ts"
import { lru } from "../../kernel/lru.ts"
import type { Cx } from "../../store/index.ts"
import { requireInstance } from "../instance/index.ts"
import { findClient } from "./client.ts"
import { addApplication, removalEvent, updateApplication } from "./commands.ts"
import { newSecret, replaceSecret } from "./credential/secret.ts"
import {
  app,
  type ClientJwk,
  hasSecret,
  isMissing,
  type OidcApp,
  type OidcConfig,
  type Registration,
} from "./model.ts"
import { countSelfRegisteredApps, findOldestUnused, requireExists, unusedSince } from "./view.ts"

/** The metadata of a client that registers itself (RFC 7591 §2), validated and converted. */
export type ClientMetadata = {
  readonly name: string
  readonly oidc: Partial<OidcConfig> & Pick<OidcConfig, "authMethod">
  readonly jwks: readonly ClientJwk[]
  /** The scopes that the client registers; absent or empty means none. */
  readonly scope?: string
}

/**
 * Returned once to a new client; the secret is present only if its authentication method uses one.
 */
export type RegistrationCredentials = {
  readonly appId: string
  readonly clientId: string
  readonly token: string
  readonly secret: string | undefined
}

/**
 * Adds an application that registered itself to the project for such applications; `address` is the
 * client ID of one with a client metadata document. At the limit, the oldest application without
 * any sign-in is removed; rejects the registration if there is none. Concurrent registrations may
 * exceed the limit briefly.
 */
export async function registerApplication(
  cx: Cx,
  metadata: ClientMetadata,
  address?: string,
): Promise<RegistrationCredentials> {
  const { projectId, applicationsMax } = requireInstance(cx).oidc.registration
  const isFull = countSelfRegisteredApps(cx) >= applicationsMax
  const dropped = isFull ? findOldestUnused(cx) : undefined
  if (isFull && dropped === undefined) throw tooManyRegistrationsError()
  const { name, oidc, jwks, scope = "" } = metadata
  const appId = cx.ids.next()
  const token = Buffer.from(cx.random.bytes(32)).toString("base64url")
  const secret = hasSecret(oidc.authMethod) ? newSecret(cx, appId) : undefined
  const clientId = address ?? cx.ids.next()
  const client = { clientId, isMetadataUrl: address !== undefined }
  const hashedToken = cx.secrets.hash(token, hashContextOf(appId))
  await cx.store.transact(cx, (tx) => {
    if (dropped !== undefined) makeRoom.within(tx, dropped)
    addApplication(tx, appId, {
      ...client,
      projectId,
      name,
      config: { kind: "oidc", oidc },
      secret,
    })
    tx.append(app, appId, [
      {
        type: "project.application.registered",
        data: { jwks, ...(scope !== "" && { scope }) },
        private: { hashedToken },
      },
    ])
  })
  return { appId, clientId, token, secret: secret?.plain }
}

/** A user may have signed in since the query. */
const makeRoom = app.command((state) => {
  if (isMissing(state) || !state.registration) return []
  if (isUsed(state.registration)) throw tooManyRegistrationsError()
  return [removalEvent(state)]
})

/** Whether any user has ever signed in. */
const isUsed = ({ used, created }: Registration): boolean => used > created

/** The hash context that binds a registration access token to its application. */
const hashContextOf = (appId: string) => `registration/${appId}`

/**
 * Whether a text is the registration access token of the client. Takes the same time for an unknown
 * client.
 */
export function isRegistrationToken(
  cx: Cx,
  client: { readonly appId: string; readonly state: OidcApp } | undefined,
  plain: string,
): boolean {
  const hash = client?.state.registration?.hash ?? undefined
  const about = hashContextOf(client?.appId ?? "")
  return matchesAny(cx.secrets, hash === undefined ? [] : [hash], { plain, about })
}

/**
 * Updates the metadata of a client. Returns a new secret if its new authentication method requires
 * its first one.
 */
export async function updateRegistration(
  cx: Cx,
  appId: string,
  { name, oidc, jwks, scope = "" }: ClientMetadata,
): Promise<string | undefined> {
  const fresh = newSecret(cx, appId)
  const step = await cx.store.transact(cx, (tx) => {
    const before = tx.state(app, appId)
    requireExists(before)
    updateApplication.within(tx, appId, { name, oidc })
    const { registration } = before
    const hasKeys = JSON.stringify(registration?.jwks) === JSON.stringify(jwks)
    if (!hasKeys || (registration?.scope ?? "") !== scope) {
      const data = { jwks, scope }
      tx.append(app, appId, [{ type: "project.application.registration.changed", data }])
    }
    const needsSecret = hasSecret(oidc.authMethod) && before.secrets.length === 0
    if (needsSecret) replaceSecret.within(tx, appId, fresh)
    return needsSecret
  })
  return step.value ? fresh.plain : undefined
}

const dayMs = 86_400_000

/**
 * Records a sign-in to an application that registered itself: the first one, and then at most one a
 * day.
 */
export async function recordUse(cx: Cx, clientId: string): Promise<void> {
  const client = findClient(cx, clientId)
  const registration = client?.state.registration
  if (!client || !registration || isUseRecorded(registration, cx.clock.now())) return
  await recordUseOfApp(cx, client.appId)
}

const isUseRecorded = (registration: Registration, now: number): boolean =>
  isUsed(registration) && now - registration.used < dayMs

const recordUseOfApp = app.command((state, _, cx) => {
  if (isMissing(state) || !state.registration || isUseRecorded(state.registration, cx.now))
    return []
  return [{ type: "project.application.used", data: {} }]
})

const expiredMax = 500

/** Removes applications that registered themselves and have had no recent sign-ins. */
export async function expireApplications(cx: Cx): Promise<void> {
  const { lifetimeSeconds } = requireInstance(cx).oidc.registration
  const before = cx.clock.now() - lifetimeSeconds * 1000
  for (const id of unusedSince(cx, before, expiredMax)) await expireApplication(cx, id, before)
}

/** A user may have signed in since the query. */
const expireApplication = app.command<number>((state, before) =>
  isMissing(state) || !state.registration || state.registration.used > before
    ? []
    : [removalEvent(state)],
)

/** The public key of a JWK as PEM (SPKI). Throws if the JWK is invalid. */
export function jwkToPem(jwk: ClientJwk): string {
  const text = JSON.stringify(jwk)
  const cachedPem = pemCache.get(text)
  if (cachedPem !== undefined) return cachedPem
  const key = createPublicKey({ key: jwk, format: "jwk" })
  const pem = key.export({ type: "spki", format: "pem" }).toString()
  pemCache.set(text, pem)
  return pem
}
const pemCache = lru<string>(1000)

/** Whether an application registered itself, so that no administrator has approved it. */
export const isSelfRegistered = (cx: Cx, appId: string): boolean => {
  const state = cx.store.state(cx, app, appId)
  return !isMissing(state) && state.registration !== undefined
}

const tooManyRegistrationsError = () =>
  new Fault(
    "resource_exhausted",
    "app.too_many_registered",
    "too many applications have registered themselves, and all of them are in use; an " +
      "administrator must remove some",
  )
