import { isSelfRegistered } from "../../domain/app/index.ts"
import { connectedApps } from "../../domain/grant/index.ts"
import type { BrowserContext, ShowPage } from "../../login/index.ts"
import { isOnDevice } from "../../protocol/redirect-uri.ts"
import type { Cx } from "../../store/index.ts"

type Way = {
  readonly appId: string
  readonly uri: string
  /** Who is signed in here. */
  readonly here: BrowserContext["present"]
}

/**
 * RFC 9700 §4.11.2: whether an address is that of an application that nobody vouches for, and that
 * nobody here has let in so far. Whoever registers one would have a link of ours that leads to a
 * place of theirs. What stays on the person's own device leads nowhere.
 */
export const isStranger = (cx: Cx, { appId, uri, here }: Way): boolean =>
  isSelfRegistered(cx, appId) &&
  !isOnDevice(uri) &&
  !here.some(({ userId }) => connectedApps(cx, userId).some((each) => each.appId === appId))

/**
 * RFC 9700 §4.11.2 excepts silent authentication: a page that renews its sign-in in a frame waits
 * for the answer, and a link to us never opens one. The window itself is asked all the same.
 */
export const isSilent = ({ headers }: Request, prompt: string | null): boolean =>
  headers.get("sec-fetch-dest") === "iframe" && prompt === "none"

type Stranger = {
  readonly application: string
  readonly why: "answer" | "signed_out"
  readonly href: string
  readonly fields?: Readonly<Record<string, string>>
  /** Set-Cookie lines. */
  readonly cookies: readonly (string | undefined)[]
}

/** Lets the person decide whether to go there. */
export function showStranger(cx: Cx, show: ShowPage, stranger: Stranger): Promise<Response> {
  const { cookies, ...said } = stranger
  const { host } = new URL(said.href)
  return show(cx, (ui, shared) => ui.StrangerPage({ ...shared, ...said, host }), {
    postsElsewhere: said.fields !== undefined,
    cookies,
  })
}
