import type { AuthorizationRequest } from "../../domain/grant/index.ts"
import type { Cx } from "../../store/index.ts"

/** As long as a browser takes to follow a redirect. */
const lifetimeMs = 60_000

/** A validated request, sealed for the URL of a redirect. */
export const sealRequest = (cx: Cx, authorizationRequest: AuthorizationRequest): string =>
  cx.secrets.seal(
    "token",
    JSON.stringify([authorizationRequest, cx.clock.now() + lifetimeMs]),
    sealContextOf(cx),
  )

/** Opens a sealed request; undefined if it is invalid or expired. */
export function openRequest(cx: Cx, sealed: string): AuthorizationRequest | undefined {
  const plain = cx.secrets.open("token", sealed, sealContextOf(cx))
  if (plain === undefined) return undefined
  const [authorizationRequest, expires]: [AuthorizationRequest, number] = JSON.parse(plain)
  return cx.clock.now() < expires ? authorizationRequest : undefined
}

const sealContextOf = (cx: Cx) => `saml_carried/${cx.instance}`
