import { findClient, isAppActive } from "../../domain/app/index.ts"
import { session } from "../../domain/session/index.ts"
import type { Cx } from "../../store/index.ts"
import { issuerOf } from "../issuer.ts"

/** Browsers don't load an unlimited number of frames; no session has this many applications. */
const framesMax = 50

/**
 * OpenID Connect Front-Channel Logout §3: the logout pages of applications, each loaded in a frame,
 * with the issuer and the session ID.
 */
export function frontChannelUris(cx: Cx, sessionIds: readonly string[]): readonly string[] {
  const frames = sessionIds.flatMap((sid) =>
    cx.store.state(cx, session, sid).clients.flatMap((clientId) => {
      const uri = logoutPageOf(cx, clientId)
      return uri === "" ? [] : [withSession(uri, { iss: issuerOf(cx).issuer, sid })]
    }),
  )
  return frames.slice(0, framesMax)
}

function logoutPageOf(cx: Cx, clientId: string): string {
  const client = findClient(cx, clientId)
  if (client?.state.kind !== "oidc" || !isAppActive(cx, client.appId)) return ""
  return client.state.oidc.frontChannelLogout?.uri ?? ""
}

/** §3: an existing query of the URI is kept. */
const withSession = (uri: string, fields: Record<string, string>): string =>
  `${uri}${uri.includes("?") ? "&" : "?"}${new URLSearchParams(fields)}`
