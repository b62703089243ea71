import { appKey, type Client, findClient, isAppActive, methodOf } from "../../domain/app/index.ts"
import { because, type Finding } from "../../domain/refusal/index.ts"
import { findMachine, serviceUserKey } from "../../domain/service-account/index.ts"
import type { Machine } from "../../domain/user-model/index.ts"
import { type Cx, cached } from "../../store/index.ts"
import { isActive } from "../token/active.ts"
import type { Method } from "./attempt.ts"

/** Whoever is registered by a client id: an application, or a service user. */
export type Registered =
  | (Client & { readonly kind: "application" })
  | { readonly kind: "service user"; readonly userId: string; readonly state: Machine }

/**
 * The client of exactly this id, usable or not. Both modules are always asked, and what is not
 * there is remembered like what is: the time must not tell which ids there are.
 */
export function registered(cx: Cx, clientId: string): Registered | undefined {
  if (clientId.length > lengthMax) return undefined
  const known = answers(cx)
  if (known.has(clientId)) return known.get(clientId)
  if (known.size >= answersMax) known.clear()
  const application = findClient(cx, clientId)
  const machine = findMachine(cx, clientId)
  const found = application
    ? ({ kind: "application", ...application } as const)
    : machine && ({ kind: "service user", ...machine } as const)
  known.set(clientId, found)
  return found
}

/** Good until an application or a user changes. */
const answers = cached(() => new Map<string, Registered | undefined>(), ["app", "user"])
const answersMax = 10_000

/** No name and no id is longer. */
const lengthMax = 200

/**
 * How a client may prove itself: by the method that it is registered with. RFC 6749 §2.3.1 knows
 * one secret, in the header or in the body; an application may insist on the place that it chose.
 * A service user has no method of its own: each of its credentials is good for itself.
 */
export function methodsOf(client: Registered): readonly Method[] {
  if (client.kind === "service user") return serviceUserMethods
  const { state } = client
  const [own, ...others] = methods[methodOf(state)]
  const insists = state.kind === "oidc" && state.oidc.requestRules?.authMethod === true
  return insists ? [own] : [own, ...others]
}

const serviceUserMethods = ["client_secret_basic", "client_secret_post", "private_key_jwt"] as const

/** By what is registered; the first is its own. */
const methods: Readonly<Record<ReturnType<typeof methodOf>, readonly [Method, ...Method[]]>> = {
  basic: ["client_secret_basic", "client_secret_post"],
  post: ["client_secret_post", "client_secret_basic"],
  none: ["none"],
  private_key_jwt: ["private_key_jwt"],
}

/**
 * The key that an assertion is checked with which names none: OpenID Connect Core §10.1 wants a
 * name only where there are several.
 */
export function onlyKeyOf(cx: Cx, { state }: Registered): string {
  const now = cx.clock.now()
  const live = Object.entries(state.keys).flatMap(([id, expires]) => (now < expires ? [id] : []))
  return live.length === 1 ? live.join() : ""
}

/** The public key that a client registered for its assertions; ms UTC. Nobody has none. */
export const keyOf = (cx: Cx, client: Registered | undefined, keyId: string) =>
  client?.kind === "service user"
    ? serviceUserKey(cx, client.userId, keyId)
    : appKey(cx, client?.appId ?? "", keyId)

/**
 * Whether a client may do anything now; `anchor` is the token parent: what a service user came
 * with.
 */
export const isUsable = (cx: Cx, client: Registered, anchor: string): boolean =>
  client.kind === "application"
    ? isAppActive(cx, client.appId)
    : isActive(cx, { grantId: anchor, userId: client.userId })

/** Why the client of an id can do nothing at all: there is none, or it is switched off. */
export function unusableFindings(cx: Cx, clientId: string): readonly Finding[] {
  const client = registered(cx, clientId)
  if (!client) {
    const subject = "client_id"
    const cause = because(subject, clientId.includes("@") ? "client.at" : "client.unknown")
    return [{ subject, received: clientId, expected: [], ...cause }]
  }
  if (client.kind !== "application" || isAppActive(cx, client.appId)) return []
  const subject = "application"
  const itself = client.state.status === "inactive"
  const cause = because(subject, itself ? "client.inactive" : "client.project_inactive")
  return [{ subject, received: "inactive", expected: ["active"], ...cause }]
}
