import type { GrantInput } from "../../domain/grant/index.ts"
import type { Cx } from "../../store/index.ts"
import type { AuthenticatedApp } from "../client/authentication.ts"
import type { DpopProof } from "../client/proof.ts"
import type { Lifetimes } from "./lifetime.ts"

type RefreshTokenRequest = {
  readonly client: AuthenticatedApp
  readonly proof: DpopProof | undefined
  readonly scopes: readonly string[]
  readonly lifetimes: Lifetimes
}

/**
 * Grants with a refresh token outlive their session. OpenID Connect Core §11: the scope requests
 * it, and the application must have the grant type.
 */
export function offlineAccessOf({
  client,
  proof,
  scopes,
  lifetimes,
}: RefreshTokenRequest): GrantInput["offline"] {
  const { state } = client
  const mayRefresh = state.kind === "oidc" && state.oidc.grantTypes.includes("refresh_token")
  if (!mayRefresh || !scopes.includes("offline_access")) return undefined
  return {
    lifetimeSeconds: lifetimes.refreshAbsolute,
    idleLifetimeSeconds: lifetimes.refreshIdle,
    // RFC 9449 §5: a client with a secret is already bound to it.
    ...(client.method === "none" && proof && { jkt: proof.jkt }),
  }
}

/** The content of a refresh token: its grant and its generation. */
export type RefreshToken = { readonly grantId: string; readonly generation: number }

/** The refresh token, sealed; the state of the grant contains its current generation. */
export const sealRefreshToken = (cx: Cx, { grantId, generation }: RefreshToken): string =>
  cx.secrets.seal("token", JSON.stringify([1, grantId, generation]), sealContextOf(cx))

/** Opens a refresh token, valid or not; undefined if it was not issued here. */
export function openRefreshToken(cx: Cx, token: string): RefreshToken | undefined {
  const plain = cx.secrets.open("token", token, sealContextOf(cx))
  if (plain === undefined) return undefined
  const [version, grantId, generation] = JSON.parse(plain)
  return version === 1 ? { grantId, generation } : undefined
}

/** IDs may repeat across instances: a token of one instance must not be valid in another. */
const sealContextOf = (cx: Cx) => `refresh_token/${cx.instance}`
