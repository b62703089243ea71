import { Fault } from "../kernel/fault.ts"
import type { Cx } from "../store/index.ts"
import { askConsent, takeConsent } from "./consent.ts"
import { type Base, postedScene, type Scene, sceneOf, trouble } from "./context.ts"
import { type Fields, fieldsOf, goTo } from "./form.ts"
import { askInvite, takeInvite, takeInvitePassword } from "./invite.ts"
import { type ShowPage, showFault } from "./page.ts"
import { askNoChange, takePasswordChange } from "./password-change.ts"
import { loginPaths } from "./path.ts"
import {
  askAccount,
  askLoginName,
  askPassword,
  type SignedInHrefs,
  showSignedIn,
  showSignedOut,
  takeAccount,
  takeLoginName,
  takePassword,
} from "./screen.ts"
import { visitOf } from "./visit.ts"

export type LoginParts = {
  readonly show: ShowPage
  /** Where a request goes on when the login has done its part. */
  readonly onward: Scene["onward"]
  readonly answering: Scene["answering"]
  readonly hrefs: SignedInHrefs
}

type Answer = Promise<Response> | Response
type Route = {
  readonly get: (scene: Scene) => Answer
  readonly post?: (scene: Scene, fields: Fields) => Answer
}

/** Serves the login pages; undefined for paths that aren't theirs. */
export function loginHandler({ show, onward, answering, hrefs }: LoginParts) {
  const routes = routesOf(hrefs)
  return async (request: Request, cx: Cx, url: URL): Promise<Response | undefined> => {
    const route = routes[url.pathname]
    if (!route) return undefined
    try {
      const visit = await visitOf(cx, request)
      return await answer(route, { cx, show, request, visit, onward, answering }, url.searchParams)
    } catch (cause) {
      if (cause instanceof Fault) return showFault(show, cx, cause)
      throw cause
    }
  }
}

async function answer(route: Route, base: Base, search: URLSearchParams): Promise<Response> {
  const { method } = base.request
  if (method === "GET" || method === "HEAD") {
    const scene = await sceneOf(base, search.get("authRequest") ?? "")
    return scene instanceof Response ? scene : route.get(scene)
  }
  const { post } = route
  if (method !== "POST" || !post) return wrongMethod(post !== undefined)
  const fields = await fieldsOf(base.request)
  if (!fields) return trouble(base, { problem: "invalid_request" })
  const scene = await postedScene(base, fields)
  return scene instanceof Response ? scene : post(scene, fields)
}

const routesOf = (hrefs: SignedInHrefs): Readonly<Record<string, Route>> => ({
  [loginPaths.entry]: { get: () => goTo(loginPaths.signedIn) },
  [loginPaths.loginName]: { get: askLoginName, post: takeLoginName },
  [loginPaths.password]: { get: askPassword, post: takePassword },
  [loginPaths.passwordChange]: { get: askNoChange, post: takePasswordChange },
  [loginPaths.accounts]: { get: askAccount, post: takeAccount },
  [loginPaths.consent]: { get: askConsent, post: takeConsent },
  [loginPaths.invite]: { get: askInvite, post: takeInvite },
  [loginPaths.invitePassword]: { get: askNoChange, post: takeInvitePassword },
  [loginPaths.signedIn]: { get: (scene) => showSignedIn(scene, hrefs) },
  [loginPaths.signedOut]: { get: showSignedOut },
})

const wrongMethod = (posts: boolean): Response =>
  new Response(null, { status: 405, headers: { allow: posts ? "GET, HEAD, POST" : "GET, HEAD" } })
