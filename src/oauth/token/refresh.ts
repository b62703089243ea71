import type { NewGrant } from "../../domain/grant/index.ts"
import type { Cx } from "../../store/index.ts"
import type { AuthenticatedApp } from "../client/authentication.ts"
import type { Proof } from "../client/proof.ts"
import type { Lifetimes } from "./lifetime.ts"

type Wanted = {
  readonly client: AuthenticatedApp
  readonly proof: Proof | undefined
  readonly scopes: readonly string[]
  readonly lifetimes: Lifetimes
}

/**
 * What makes a grant outlive its session. OpenID Connect Core §11: the scope asks for it, and the
 * application must be one that may.
 */
export function offlineFor({ client, proof, scopes, lifetimes }: Wanted): NewGrant["offline"] {
  const { state } = client
  const mayRefresh = state.kind === "oidc" && state.oidc.grantTypes.includes("refresh_token")
  if (!mayRefresh || !scopes.includes("offline_access")) return undefined
  return {
    lifetimeSeconds: lifetimes.refreshAbsolute,
    idleLifetimeSeconds: lifetimes.refreshIdle,
    // RFC 9449 §5: a client that has a secret is bound by that already.
    ...(client.method === "none" && proof && { jkt: proof.jkt }),
  }
}

/** What a refresh token says: whose it is, and how often that grant was renewed before. */
export type RefreshToken = { readonly grantId: string; readonly generation: number }

/** Writes a refresh token. It authenticates itself; the grant's state counts its uses. */
export const writeRefreshToken = (cx: Cx, { grantId, generation }: RefreshToken): string =>
  cx.secrets.seal("token", JSON.stringify([1, grantId, generation]), aboutOf(cx))

/** Reads a refresh token of ours, whether it still counts or not; undefined for anything else. */
export function readRefreshToken(cx: Cx, token: string): RefreshToken | undefined {
  const plain = cx.secrets.open("token", token, aboutOf(cx))
  if (plain === undefined) return undefined
  const [version, grantId, generation] = JSON.parse(plain)
  return version === 1 ? { grantId, generation } : undefined
}

/** Ids may repeat across instances: a token of one must not open in another. */
const aboutOf = (cx: Cx) => `refresh_token/${cx.instance}`
