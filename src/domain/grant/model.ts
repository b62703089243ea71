import { aggregate, type Event } from "../../store/index.ts"
import type { Voucher } from "../session/index.ts"
import type { RequestedClaims } from "./request.ts"

/** What a user granted to a client in one sign-in session. */
type GrantData = {
  readonly clientId: string
  readonly appId: string
  readonly userId: string
  readonly sessionId: string
  readonly scopes: readonly string[]
  /** Scopes that were requested and not granted; stored only if the grant can be refreshed. */
  readonly leftOut?: readonly string[]
  readonly audience: readonly string[]
  /** Projects of other organizations that the user allowed explicitly; absent if there are none. */
  readonly consented?: readonly string[]
  /** Claims that were requested in addition to those of the scopes. */
  readonly claims?: RequestedClaims
}

/** How the user had authenticated; absent in older events. */
type AuthenticationData = {
  /** ms UTC. */
  readonly authTime?: number
  readonly methods?: readonly string[]
  /** Time of the last verified sign-in, ms UTC; 0 if unknown. */
  readonly freshAt?: number
}

/** Lifetime of the access tokens that are issued now; absent in older events. */
type AccessTokenData = { readonly accessLifetimeSeconds?: number }

export type GrantEvent =
  | Event<"oidc_session.added", GrantData & AuthenticationData & AccessTokenData>
  | Event<
      "oidc_session.refresh_token.added",
      {
        /** The user's `signInVersion` at the time; a newer one ends the grant. */
        readonly passwordVersion: number
        /** The only identity provider that the sign-in relied on; its removal ends the grant. */
        readonly voucher?: Voucher
        readonly lifetimeSeconds: number
        readonly idleLifetimeSeconds: number
        /**
         * RFC 9449 §5: thumbprint of the key that a client without a secret must prove possession
         * of.
         */
        readonly jkt?: string
      }
    >
  | Event<
      "oidc_session.refresh_token.renewed",
      AccessTokenData & { readonly generation: number; readonly idleLifetimeSeconds: number }
    >
  | Event<"oidc_session.terminated", { readonly reason: string }>

/**
 * State of a grant that outlives its session. Only the newest generation of its refresh token is
 * valid.
 */
export type Offline = {
  readonly passwordVersion: number
  readonly voucher?: Voucher
  readonly jkt?: string
  readonly generation: number
  /** When this generation was issued, ms UTC. */
  readonly renewed: number
  /** ms UTC; extended with every use. */
  readonly idleExpires: number
  /** ms UTC; never extended. */
  readonly expires: number
}

type ExistingGrant = GrantData &
  Required<AuthenticationData> & {
    readonly status: "active" | "ended"
    /** Absent if the grant ends with its session. */
    readonly offline?: Offline
    /** When the last of its access tokens expires, ms UTC. */
    readonly until: number
  }

export type Grant = { readonly status: "absent" } | ExistingGrant

const absent: Grant = { status: "absent" }

const accessExpiryOf = (
  { accessLifetimeSeconds = 43_200 }: AccessTokenData,
  time: number,
): number => time + accessLifetimeSeconds * 1000

/** When the refresh token expires, ms UTC. */
export const offlineExpiryOf = ({ idleExpires, expires }: Offline): number =>
  Math.min(idleExpires, expires)

/** Tokens depend on it: when the grant ends, they are invalid. */
export const grant = aggregate<GrantEvent, Grant>({
  stream: "oidc_session",
  retention: "transient",
  // An hour for clock skew. A purged grant is treated as ended.
  expires: (state) => {
    if (state.status === "absent") return undefined
    const { status, until, offline } = state
    const idle = offline && status === "active" ? offlineExpiryOf(offline) : 0
    return Math.max(until, idle) + 3_600_000
  },
  revision: 4,
  initial: absent,
  evolve: {
    "oidc_session.added": (_, { data, time }) => {
      const { accessLifetimeSeconds: _seconds, ...grantData } = data
      const { authTime = time, methods = [] } = grantData
      // An older version recorded each provider response as a sign-in, without authentication
      // methods.
      const { freshAt = methods.length > 0 ? authTime : 0 } = grantData
      return {
        ...grantData,
        status: "active",
        authTime,
        methods,
        freshAt,
        until: accessExpiryOf(data, time),
      }
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
      return { ...state, offline, until: Math.max(state.until, accessExpiryOf(data, time)) }
    },
    "oidc_session.terminated": (state) =>
      state.status === "absent" ? state : { ...state, status: "ended" },
  },
})
