import { appKey, type Client, findClient, isAppActive } from "../../domain/app/index.ts"
import { findMachine, type Machine, serviceUserKey } from "../../domain/user/index.ts"
import { type Cx, remembered } from "../../store/index.ts"
import { stands } from "../token/chain.ts"

/** Whoever is registered by a client id: an application, or a service user. */
export type Registered =
  | (Client & { readonly kind: "application" })
  | { readonly kind: "service user"; readonly userId: string; readonly state: Machine }

/**
 * The client of exactly this id, usable or not. Both rooms are always asked, and what is not there
 * is remembered like what is: the time must not tell which ids there are.
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
const answers = remembered(() => new Map<string, Registered | undefined>(), ["app", "user"])
const answersMax = 10_000

/** No name and no id is longer. */
const lengthMax = 200

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

/** Whether a client may do anything now; `anchor` is what a service user came with. */
export const isUsable = (cx: Cx, client: Registered, anchor: string): boolean =>
  client.kind === "application"
    ? isAppActive(cx, client.appId)
    : stands(cx, { grantId: anchor, userId: client.userId })
