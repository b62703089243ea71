import { lru } from "../../kernel/lru.ts"
import { matcherOf, rangeOf } from "../../kernel/net/address.ts"
import type { Cx } from "../../store/index.ts"
import { app } from "../app/index.ts"
import { user } from "../user-model/index.ts"

/** What an application requires of a sign-in. */
export type SignInRequirements = {
  /** Whether a second factor or a passkey is required. */
  readonly secondFactor: boolean
  /** Seconds since the sign-in; undefined for no limit. */
  readonly maxAge: number | undefined
}

/** What an application requires of the sign-in of its users now. */
export function requirementsOfApp(cx: Cx, appId: string): SignInRequirements {
  const access = accessIn(cx, appId)
  return { secondFactor: access?.secondFactor === true, maxAge: access?.maxAge }
}

function accessIn(cx: Cx, appId: string) {
  const state = cx.store.state(cx, app, appId)
  return "access" in state ? state.access : undefined
}

/** How a user proved who they are. */
export type SignInProof = {
  /** RFC 8176: the methods; "mfa" where they are more than one factor. */
  readonly methods: readonly string[]
  /** When they last signed in for certain, ms UTC; 0 where nobody knows. */
  readonly freshAt: number
}

/**
 * When a sign-in stops to satisfy what an application requires, ms UTC: 0 where it does not, and
 * never where nothing is required. Service accounts do not sign in.
 */
export function satisfiedUntil(
  cx: Cx,
  { appId, userId }: { readonly appId: string; readonly userId: string },
  { methods, freshAt }: SignInProof,
): number {
  const { secondFactor, maxAge } = requirementsOfApp(cx, appId)
  if ((!secondFactor && maxAge === undefined) || isServiceAccount(cx, userId)) return never
  if (secondFactor && !methods.includes("mfa")) return 0
  return maxAge === undefined ? never : freshAt + maxAge * 1000
}

const never = Number.POSITIVE_INFINITY

export function isServiceAccount(cx: Cx, userId: string): boolean {
  const state = cx.store.state(cx, user, userId)
  return "kind" in state && state.kind === "machine"
}

/**
 * Whether the browser of a request is where the users of an application must be. An address that a
 * proxy has not named, or only one that is not trusted, is in no network; behind a proxy that asks
 * about its visitors, the connection is the proxy's.
 */
export function isInNetworks(
  cx: Cx,
  appId: string,
  sees: "browser" | "proxy" = "browser",
): boolean {
  const networks = accessIn(cx, appId)?.networks
  if (networks === undefined) return true
  const { address = "", addressSource = "connection" } = cx.from ?? {}
  if (addressSource === "unknown proxy") return false
  if (sees === "proxy" && addressSource !== "trusted proxy") return false
  return matcherFor(networks)(address)
}

/** Whether an application is limited to networks. */
export const hasNetworks = (cx: Cx, appId: string): boolean =>
  accessIn(cx, appId)?.networks !== undefined

const matchers = lru<(address: string) => boolean>(1000)

/** To build a matcher costs more than all the rest, and a page asks for many things. */
function matcherFor(networks: readonly string[]): (address: string) => boolean {
  const key = networks.join(" ")
  const known = matchers.get(key) ?? matcherOf(networks.flatMap((each) => rangeOf(each) ?? []))
  matchers.set(key, known)
  return known
}
