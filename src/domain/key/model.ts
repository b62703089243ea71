import { aggregate, type Event } from "../../store/index.ts"

/** The kind of a key pair; bits or curve, with the hash, determine its algorithm. */
export type KeyKind =
  | { readonly kind: "rsa"; readonly bits: 2048 | 3072 | 4096; readonly hash: 256 | 384 | 512 }
  | { readonly kind: "ecdsa"; readonly curve: "P-256" | "P-384" | "P-521" }
  | { readonly kind: "ed25519" }

export const algorithms = ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "EdDSA"] as const

/** A JWS algorithm that Latchkey signs with (RFC 7518 §3.1, RFC 8037). */
export type Algorithm = (typeof algorithms)[number]

/** The public key of a pair as a JWK, without `kid`, `alg` and `use`. */
export type PublicJwk = Readonly<Record<string, string>>

export type WebKeyEvent =
  | Event<
      "web_key.added",
      {
        readonly kind: KeyKind
        readonly algorithm: Algorithm
        readonly publicKey: PublicJwk
      },
      { readonly sealed: string }
    >
  | Event<"web_key.activated">
  | Event<"web_key.deactivated">
  | Event<"web_key.removed">

export type WebKeyStatus = "initial" | "active" | "inactive" | "removed"

export type WebKey =
  | { readonly status: "absent" }
  | {
      readonly status: WebKeyStatus
      readonly algorithm: Algorithm
      /** When the key was generated and published, ms UTC. */
      readonly added: number
      /** When the key entered its status, ms UTC. */
      readonly since: number
    }

const absent: WebKey = { status: "absent" }

const withStatus = (state: WebKey, status: WebKeyStatus, since: number): WebKey =>
  state.status === "absent" ? state : { ...state, status, since }

/** A key pair that signs tokens; its ID is the `kid` that clients see. */
export const webKey = aggregate<WebKeyEvent, WebKey>({
  stream: "web_key",
  revision: 2,
  initial: absent,
  evolve: {
    "web_key.added": (_, { data: { algorithm }, time }) => ({
      status: "initial",
      algorithm,
      added: time,
      since: time,
    }),
    "web_key.activated": (state, { time }) => withStatus(state, "active", time),
    "web_key.deactivated": (state, { time }) => withStatus(state, "inactive", time),
    "web_key.removed": (state, { time }) => withStatus(state, "removed", time),
  },
})

/** The algorithm of a kind of key. */
export function algorithmOf(kind: KeyKind): Algorithm {
  if (kind.kind === "ed25519") return "EdDSA"
  if (kind.kind === "rsa") return rsaAlgorithms[kind.hash]
  return curveAlgorithms[kind.curve]
}

const rsaAlgorithms = { 256: "RS256", 384: "RS384", 512: "RS512" } as const

/** RFC 7518 §3.4: each curve has its own algorithm; ES512 uses P-521. */
const curveAlgorithms = { "P-256": "ES256", "P-384": "ES384", "P-521": "ES512" } as const
