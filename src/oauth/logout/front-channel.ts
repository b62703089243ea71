import { findClient, isAppActive } from "../../domain/app/index.ts"
import { session } from "../../domain/session/index.ts"
import type { Cx } from "../../store/index.ts"
import { issuerOf } from "../issuer.ts"

/** What a browser does not load in a frame of a page can't be told there; nobody has this many. */
const framesMax = 50

/**
 * OpenID Connect Front-Channel Logout §3: the pages of applications that the browser loads, each in
 * a frame of its own, so that they forget the session; with the issuer and the session's id.
 */
export function logoutFrames(cx: Cx, sessionIds: readonly string[]): readonly string[] {
  const frames = sessionIds.flatMap((sid) =>
    cx.store.state(cx, session, sid).clients.flatMap((clientId) => {
      const uri = pageOf(cx, clientId)
      return uri === "" ? [] : [withSession(uri, { iss: issuerOf(cx).issuer, sid })]
    }),
  )
  return frames.slice(0, framesMax)
}

function pageOf(cx: Cx, clientId: string): string {
  const client = findClient(cx, clientId)
  if (client?.state.kind !== "oidc" || !isAppActive(cx, client.appId)) return ""
  return client.state.oidc.frontChannelLogout?.uri ?? ""
}

/** §3: a query that the page's address has already is kept. */
const withSession = (uri: string, fields: Record<string, string>): string =>
  `${uri}${uri.includes("?") ? "&" : "?"}${new URLSearchParams(fields)}`
