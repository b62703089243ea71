import { lru } from "../../kernel/lru.ts"
import { createMatcher, parseRange } from "../../kernel/net/address.ts"
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
  /** When the user last provably signed in, ms UTC; 0 if unknown. */
  readonly freshAt: number
}

/**
 * Until when a sign-in satisfies an application's requirements, ms UTC: 0 if it does not, infinity
 * if nothing is required. Service accounts don't sign in, so nothing is required of them.
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
 * Whether the browser of a request is in the networks of an application. An address that only an
 * untrusted proxy names is in no network. In a request of forward auth (`proxy`), the connection is
 * the proxy's, so the address must be named by a trusted proxy.
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

/** Cached, because building a matcher costs more than the rest of the check. */
function matcherFor(networks: readonly string[]): (address: string) => boolean {
  const key = networks.join(" ")
  const known =
    matchers.get(key) ?? createMatcher(networks.flatMap((each) => parseRange(each) ?? []))
  matchers.set(key, known)
  return known
}
