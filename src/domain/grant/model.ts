import { aggregate, type Event } from "../../store/index.ts"
import type { Voucher } from "../session/index.ts"
import type { RequestedClaims } from "./request.ts"

/** What a person allowed a client, through one sign-in session. */
type Given = {
  readonly clientId: string
  readonly appId: string
  readonly userId: string
  readonly sessionId: string
  readonly scopes: readonly string[]
  /** What was asked for, too, and not granted; only where it may be refreshed. */
  readonly leftOut?: readonly string[]
  readonly audience: readonly string[]
  /** Projects of others that the person allowed by name; absent where there are none. */
  readonly consented?: readonly string[]
  /** What it asked for beside the scopes. */
  readonly claims?: RequestedClaims
}

/** How the person had proved who they are; absent in grants from before it was kept. */
type Proven = {
  /** ms UTC. */
  readonly authTime?: number
  readonly methods?: readonly string[]
  /** When they last signed in for certain, ms UTC; 0 where nobody knew. */
  readonly freshAt?: number
}

/** How long the access tokens count that are issued now; absent in grants from before. */
type Issuing = { readonly accessLifetimeSeconds?: number }

export type GrantEvent =
  | Event<"oidc_session.added", Given & Proven & Issuing>
  | Event<
      "oidc_session.refresh_token.added",
      {
        /** As `signInVersion` was for the person; a newer one ends the grant. */
        readonly passwordVersion: number
        /** The provider that the sign-in depends on alone; its removal ends the grant. */
        readonly voucher?: Voucher
        readonly lifetimeSeconds: number
        readonly idleLifetimeSeconds: number
        /** RFC 9449 §5: thumbprint of the key that a client without a secret must show. */
        readonly jkt?: string
      }
    >
  | Event<
      "oidc_session.refresh_token.renewed",
      Issuing & { readonly generation: number; readonly idleLifetimeSeconds: number }
    >
  | Event<"oidc_session.terminated", { readonly reason: string }>

/** A grant that outlives its session. Only the newest generation of its refresh token counts. */
export type Offline = {
  readonly passwordVersion: number
  readonly voucher?: Voucher
  readonly jkt?: string
  readonly generation: number
  /** When this generation began, ms UTC. */
  readonly renewed: number
  /** ms UTC; moves with every use. */
  readonly idleExpires: number
  /** ms UTC; stays. */
  readonly expires: number
}

type There = Given &
  Required<Proven> & {
    readonly status: "active" | "ended"
    /** Absent where the grant ends with its session. */
    readonly offline?: Offline
    /** When the last of its access tokens expires, ms UTC. */
    readonly until: number
  }

export type Grant = { readonly status: "absent" } | There

const absent: Grant = { status: "absent" }

const untilOf = ({ accessLifetimeSeconds = 43_200 }: Issuing, time: number): number =>
  time + accessLifetimeSeconds * 1000

/** When its refresh token is worth nothing any more, ms UTC. */
export const offlineUntil = ({ idleExpires, expires }: Offline): number =>
  Math.min(idleExpires, expires)

/** Tokens hang from it: when it ends, they are worth nothing. */
export const grant = aggregate<GrantEvent, Grant>({
  stream: "oidc_session",
  retention: "transient",
  // An hour for clocks that are wrong. What is gone counts as ended.
  expires: (state) => {
    if (state.status === "absent") return undefined
    const { status, until, offline } = state
    const idle = offline && status === "active" ? offlineUntil(offline) : 0
    return Math.max(until, idle) + 3_600_000
  },
  revision: 4,
  initial: absent,
  evolve: {
    "oidc_session.added": (_, { data, time }) => {
      const { accessLifetimeSeconds: _seconds, ...given } = data
      const { authTime = time, methods = [] } = given
      // An older version took each answer of a provider for a sign-in, and named no method for it.
      const { freshAt = methods.length > 0 ? authTime : 0 } = given
      return { ...given, status: "active", authTime, methods, freshAt, until: untilOf(data, time) }
    },
    "oidc_session.refresh_token.added": (state, { data, time }) => {
      if (state.status === "absent") return state
      const { passwordVersion, voucher, jkt, lifetimeSeconds, idleLifetimeSeconds } = data
      const offline: Offline = {
        passwordVersion,
        ...(voucher && { voucher }),
        ...(jkt !== undefined && { jkt }),
        generation: 1,
        renewed: time,
        idleExpires: time + idleLifetimeSeconds * 1000,
        expires: time + lifetimeSeconds * 1000,
      }
      return { ...state, offline }
    },
    "oidc_session.refresh_token.renewed": (state, { data, time }) => {
      if (state.status === "absent" || !state.offline) return state
      const idleExpires = time + data.idleLifetimeSeconds * 1000
      const offline = { ...state.offline, generation: data.generation, renewed: time, idleExpires }
      return { ...state, offline, until: Math.max(state.until, untilOf(data, time)) }
    },
    "oidc_session.terminated": (state) =>
      state.status === "absent" ? state : { ...state, status: "ended" },
  },
})
