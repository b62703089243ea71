import { isSelfRegistered } from "../../domain/app/index.ts"
import { connectedApps } from "../../domain/grant/index.ts"
import type { BrowserContext, ShowPage } from "../../login/index.ts"
import { isOnDevice } from "../../protocol/redirect-uri.ts"
import type { Cx } from "../../store/index.ts"

type RedirectCheck = {
  readonly appId: string
  readonly uri: string
  /** The sessions in this browser. */
  readonly present: BrowserContext["present"]
}

/**
 * RFC 9700 §4.11.2: whether a URI belongs to an application that no administrator has approved and
 * that no user of this browser has consented to. Otherwise anyone could register an application and
 * use our URL as an open redirect. Redirects to the user's own device are harmless.
 */
export const isUnapprovedRedirect = (cx: Cx, { appId, uri, present }: RedirectCheck): boolean =>
  isSelfRegistered(cx, appId) &&
  !isOnDevice(uri) &&
  !present.some(({ userId }) => connectedApps(cx, userId).some((each) => each.appId === appId))

/**
 * RFC 9700 §4.11.2 exempts silent authentication: a page that renews its sign-in in a frame waits
 * for the response, and a link never opens a frame. A top-level window asks nevertheless.
 */
export const isSilent = ({ headers }: Request, prompt: string | null): boolean =>
  headers.get("sec-fetch-dest") === "iframe" && prompt === "none"

type UnapprovedRedirect = {
  readonly application: string
  readonly why: "answer" | "signed_out"
  readonly href: string
  readonly fields?: Readonly<Record<string, string>>
  /** Set-Cookie headers. */
  readonly cookies: readonly (string | undefined)[]
}

/** Asks the user whether to continue to the application. */
export function showUnapprovedRedirect(
  cx: Cx,
  show: ShowPage,
  stranger: UnapprovedRedirect,
): Promise<Response> {
  const { cookies, ...said } = stranger
  const { host } = new URL(said.href)
  return show(cx, (ui, shared) => ui.UnapprovedRedirectPage({ ...shared, ...said, host }), {
    postsElsewhere: said.fields !== undefined,
    cookies,
  })
}
