import { lru } from "../../kernel/lru.ts"
import { createMatcher, parseRange } from "../../kernel/net/address.ts"
import type { Cx } from "../../store/index.ts"
import { app } from "../app/index.ts"
import { user } from "../user-model/index.ts"

/** What an application requires of a sign-in. */
export type SignInRequirements = {
  /** Whether a second factor or a passkey is required. */
  readonly secondFactor: boolean
  /** Maximum seconds since the sign-in; undefined for no limit. */
  readonly maxAge: number | undefined
}

/** What an application currently requires of its users' sign-ins. */
export function requirementsOfApp(cx: Cx, appId: string): SignInRequirements {
  const access = appAccessOf(cx, appId)
  return { secondFactor: access?.secondFactor === true, maxAge: access?.maxAge }
}

function appAccessOf(cx: Cx, appId: string) {
  const state = cx.store.state(cx, app, appId)
  return "access" in state ? state.access : undefined
}

/** How and when a user proved their identity. */
export type SignInProof = {
  /** RFC 8176: the methods; includes "mfa" for more than one factor. */
  readonly methods: readonly string[]
  /** When the user last verifiably signed in, ms UTC; 0 if unknown. */
  readonly freshAt: number
}

/**
 * When a sign-in stops satisfying an application's requirements, ms UTC: 0 if it doesn't satisfy
 * them, infinity if there are none. Service accounts don't sign in, so the requirements don't apply
 * to them.
 */
export function signInProofExpiry(
  cx: Cx,
  { appId, userId }: { readonly appId: string; readonly userId: string },
  { methods, freshAt }: SignInProof,
): number {
  const { secondFactor, maxAge } = requirementsOfApp(cx, appId)
  if ((!secondFactor && maxAge === undefined) || isServiceAccount(cx, userId)) return neverExpires
  if (secondFactor && !methods.includes("mfa")) return 0
  return maxAge === undefined ? neverExpires : freshAt + maxAge * 1000
}

const neverExpires = Number.POSITIVE_INFINITY

export function isServiceAccount(cx: Cx, userId: string): boolean {
  const state = cx.store.state(cx, user, userId)
  return "kind" in state && state.kind === "machine"
}

/**
 * Whether a request's browser is in the networks that an application allows. An address from an
 * untrusted proxy is in no network. In forward auth (`proxy`), the connection comes from the proxy,
 * so a trusted proxy must provide the browser's address.
 */
export function isInNetworks(
  cx: Cx,
  appId: string,
  peer: "browser" | "proxy" = "browser",
): boolean {
  const networks = appAccessOf(cx, appId)?.networks
  if (networks === undefined) return true
  const { address = "", addressSource = "connection" } = cx.from ?? {}
  if (addressSource === "unknown proxy") return false
  if (peer === "proxy" && addressSource !== "trusted proxy") return false
  return matcherFor(networks)(address)
}

/** Whether an application is limited to networks. */
export const hasNetworks = (cx: Cx, appId: string): boolean =>
  appAccessOf(cx, appId)?.networks !== undefined

const matchers = lru<(address: string) => boolean>(1000)

/** Cached because creating a matcher costs more than the rest of the check. */
function matcherFor(networks: readonly string[]): (address: string) => boolean {
  const key = networks.join(" ")
  const matcher =
    matchers.get(key) ?? createMatcher(networks.flatMap((each) => parseRange(each) ?? []))
  matchers.set(key, matcher)
  return matcher
}
