import {
  type Client,
  findAppPublicKey,
  findClient,
  isAppActive,
  methodOf,
} from "../../domain/app/index.ts"
import { type Finding, likelyCauseOf } from "../../domain/refusal/index.ts"
import { findMachine, findServiceKey } from "../../domain/service-account/index.ts"
import type { Machine } from "../../domain/user-model/index.ts"
import { type Cx, cacheQuery } from "../../store/index.ts"
import { isActive } from "../token/active.ts"
import type { ClientAuthMethod } from "./credentials.ts"

/** A client that is registered under a client ID: an application or a service account. */
export type RegisteredClient =
  | (Client & { readonly kind: "application" })
  | { readonly kind: "service user"; readonly userId: string; readonly state: Machine }

/**
 * The client with this ID, active or not. Both kinds are always looked up, and unknown IDs are
 * cached, too, so that the response time does not reveal which IDs exist.
 */
export function findRegisteredClient(cx: Cx, clientId: string): RegisteredClient | undefined {
  if (clientId.length > clientIdLengthMax) return undefined
  const cache = clientCache(cx)
  if (cache.has(clientId)) return cache.get(clientId)
  if (cache.size >= clientCacheMax) cache.clear()
  const application = findClient(cx, clientId)
  const machine = findMachine(cx, clientId)
  const found = application
    ? ({ kind: "application", ...application } as const)
    : machine && ({ kind: "service user", ...machine } as const)
  cache.set(clientId, found)
  return found
}

/** Cleared when an application or a user changes. */
const clientCache = cacheQuery(
  () => new Map<string, RegisteredClient | undefined>(),
  ["app", "user"],
)
const clientCacheMax = 10_000

/** No name or ID is longer. */
const clientIdLengthMax = 200

/**
 * The authentication methods of a client: only the registered one. RFC 6749 §2.3.1 defines one
 * secret, in the header or in the body; an application can require one of them. Service accounts
 * have no registered method: each of their credentials is accepted.
 */
export function methodsOf(client: RegisteredClient): readonly ClientAuthMethod[] {
  if (client.kind === "service user") return serviceUserMethods
  const { state } = client
  const [own, ...others] = methodsByRegistration[methodOf(state)]
  const insists = state.kind === "oidc" && state.oidc.requestRules?.authMethod === true
  return insists ? [own] : [own, ...others]
}

const serviceUserMethods = ["client_secret_basic", "client_secret_post", "private_key_jwt"] as const

/** By registered method; the first one is the method itself. */
const methodsByRegistration: Readonly<
  Record<ReturnType<typeof methodOf>, readonly [ClientAuthMethod, ...ClientAuthMethod[]]>
> = {
  basic: ["client_secret_basic", "client_secret_post"],
  post: ["client_secret_post", "client_secret_basic"],
  none: ["none"],
  private_key_jwt: ["private_key_jwt"],
}

/**
 * The key for an assertion without a key ID: OpenID Connect Core §10.1 requires one only if there
 * are several keys.
 */
export function findOnlyKeyId(cx: Cx, { state }: RegisteredClient): string {
  const now = cx.clock.now()
  const live = Object.entries(state.keys).flatMap(([id, expires]) => (now < expires ? [id] : []))
  return live.length === 1 ? live.join() : ""
}

/**
 * The public key of a client for its assertions, with its expiry in ms UTC. Undefined for an
 * unknown client.
 */
export const findPublicKey = (cx: Cx, client: RegisteredClient | undefined, keyId: string) =>
  client?.kind === "service user"
    ? findServiceKey(cx, client.userId, keyId)
    : findAppPublicKey(cx, client?.appId ?? "", keyId)

/**
 * Whether a client is active; `anchor` is what its tokens depend on, the credential of a service
 * account.
 */
export const isClientActive = (cx: Cx, client: RegisteredClient, anchor: string): boolean =>
  client.kind === "application"
    ? isAppActive(cx, client.appId)
    : isActive(cx, { grantId: anchor, userId: client.userId })

/** Why no client with this ID can be used: it does not exist, or is deactivated. */
export function unusableFindings(cx: Cx, clientId: string): readonly Finding[] {
  const client = findRegisteredClient(cx, clientId)
  if (!client) {
    const subject = "client_id"
    const cause = likelyCauseOf(subject, clientId.includes("@") ? "client.at" : "client.unknown")
    return [{ subject, received: clientId, expected: [], ...cause }]
  }
  if (client.kind !== "application" || isAppActive(cx, client.appId)) return []
  const subject = "application"
  const itself = client.state.status === "inactive"
  const cause = likelyCauseOf(subject, itself ? "client.inactive" : "client.project_inactive")
  return [{ subject, received: "inactive", expected: ["active"], ...cause }]
}
