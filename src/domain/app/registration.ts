import { createPublicKey } from "node:crypto"
import { isOneOf } from "../../kernel/crypto/secret.ts"
import { Fault } from "../../kernel/fault.ts"
import { lru } from "../../kernel/lru.ts"
import type { Cx } from "../../store/index.ts"
import { requireInstance } from "../instance/index.ts"
import { findClient } from "./client.ts"
import { addApplication, changeApplication, removal } from "./commands.ts"
import { newSecret, replaceSecret } from "./credential/secret.ts"
import {
  app,
  type ClientJwk,
  hasSecret,
  isGone,
  type OidcApp,
  type OidcConfig,
  type Registration,
} from "./model.ts"
import { countRegistered, mustExist, oldestUnused, unusedSince } from "./view.ts"

/** What an application says of itself when it registers (RFC 7591 §2), checked and translated. */
export type ClientMetadata = {
  readonly name: string
  readonly oidc: Partial<OidcConfig> & Pick<OidcConfig, "authMethod">
  readonly jwks: readonly ClientJwk[]
  /** The scopes that it says it requests; absent or empty is none. */
  readonly scope?: string
}

/** What a new application is told this once; a secret only where it has one. */
export type Credentials = {
  readonly appId: string
  readonly clientId: string
  readonly token: string
  readonly secret: string | undefined
}

/**
 * Adds an application that registered itself to the project for those; `address` is the client id
 * of one that is described there. Where there are as many as there may be, the oldest that nobody
 * has ever signed in to makes room; refuses where there is none. Those that register at the same
 * moment are counted a moment later.
 */
export async function registerApplication(
  cx: Cx,
  metadata: ClientMetadata,
  address?: string,
): Promise<Credentials> {
  const { projectId, applicationsMax } = requireInstance(cx).oidc.registration
  const isFull = countRegistered(cx) >= applicationsMax
  const dropped = isFull ? oldestUnused(cx) : undefined
  if (isFull && dropped === undefined) throw tooManyError()
  const { name, oidc, jwks, scope = "" } = metadata
  const appId = cx.ids.next()
  const token = Buffer.from(cx.random.bytes(32)).toString("base64url")
  const secret = hasSecret(oidc.authMethod) ? newSecret(cx, appId) : undefined
  const clientId = address ?? cx.ids.next()
  const client = { clientId, isAddress: address !== undefined }
  const hashedToken = cx.secrets.hash(token, aboutOf(appId))
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

/** Somebody may have signed in, just now. */
const makeRoom = app.command((state) => {
  if (isGone(state) || !state.registration) return []
  if (isUsed(state.registration)) throw tooManyError()
  return [removal(state)]
})

/** Whether anybody has ever signed in. */
const isUsed = ({ used, created }: Registration): boolean => used > created

/** Binds the hash of a token to its application. */
const aboutOf = (appId: string) => `registration/${appId}`

/** Whether a text is the token that an application is changed with; it takes as long for nobody. */
export function isRegistrationToken(
  cx: Cx,
  client: { readonly appId: string; readonly state: OidcApp } | undefined,
  plain: string,
): boolean {
  const hash = client?.state.registration?.hash ?? undefined
  const about = aboutOf(client?.appId ?? "")
  return isOneOf(cx.secrets, hash === undefined ? [] : [hash], { plain, about })
}

/**
 * Changes what an application says of itself. Answers its new secret, where the way in which it
 * proves itself from now on needs the first one.
 */
export async function changeRegistration(
  cx: Cx,
  appId: string,
  { name, oidc, jwks, scope = "" }: ClientMetadata,
): Promise<string | undefined> {
  const fresh = newSecret(cx, appId)
  const step = await cx.store.transact(cx, (tx) => {
    const before = tx.state(app, appId)
    mustExist(before)
    changeApplication.within(tx, appId, { name, oidc })
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

const day = 86_400_000

/**
 * Notes that somebody signs in to an application that registered itself: the first time, and then
 * once a day.
 */
export async function noteUse(cx: Cx, clientId: string): Promise<void> {
  const client = findClient(cx, clientId)
  const registration = client?.state.registration
  if (!client || !registration || isNoted(registration, cx.clock.now())) return
  await noteUsed(cx, client.appId)
}

const isNoted = (registration: Registration, now: number): boolean =>
  isUsed(registration) && now - registration.used < day

const noteUsed = app.command((state, _, cx) => {
  if (isGone(state) || !state.registration || isNoted(state.registration, cx.now)) return []
  return [{ type: "project.application.used", data: {} }]
})

const expiredMax = 500

/** Removes applications that registered themselves and that nobody signs in to any more. */
export async function expireApplications(cx: Cx): Promise<void> {
  const { lifetimeSeconds } = requireInstance(cx).oidc.registration
  const before = cx.clock.now() - lifetimeSeconds * 1000
  for (const id of unusedSince(cx, before, expiredMax)) await expireApplication(cx, id, before)
}

/** Somebody may have signed in, just now. */
const expireApplication = app.command<number>((state, before) =>
  isGone(state) || !state.registration || state.registration.used > before ? [] : [removal(state)],
)

/** The public key of a JWK, as PEM (SPKI). Throws for what is no key. */
export function pemOf(jwk: ClientJwk): string {
  const text = JSON.stringify(jwk)
  const known = pems.get(text)
  if (known !== undefined) return known
  const key = createPublicKey({ key: jwk, format: "jwk" })
  const pem = key.export({ type: "spki", format: "pem" }).toString()
  pems.set(text, pem)
  return pem
}
const pems = lru<string>(1000)

/** Whether an application has registered itself: nobody here vouches for it. */
export const isSelfRegistered = (cx: Cx, appId: string): boolean => {
  const state = cx.store.state(cx, app, appId)
  return !isGone(state) && state.registration !== undefined
}

const tooManyError = () =>
  new Fault(
    "resource_exhausted",
    "app.too_many_registered",
    "as many applications have registered themselves as there may be, and people use all of " +
      "them; those go that nobody uses any more, or an administrator removes some",
  )
