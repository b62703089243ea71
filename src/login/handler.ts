import type { Cx } from "../store/index.ts"
import { postedScene, type Scene, sceneOf, trouble } from "./context.ts"
import { type Fields, fieldsOf, goTo } from "./form.ts"
import type { ShowPage } from "./page.ts"
import { loginPaths } from "./path.ts"
import {
  askAccount,
  askLoginName,
  askPassword,
  type Continue,
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
  readonly onward: Continue
  readonly hrefs: SignedInHrefs
}

type Answer = Promise<Response> | Response
type Route = {
  readonly get: (scene: Scene) => Answer
  readonly post?: (scene: Scene, fields: Fields) => Answer
}

/** Serves the login pages; undefined for paths that aren't theirs. */
export function loginHandler({ show, onward, hrefs }: LoginParts) {
  const routes = routesOf(onward, hrefs)
  return async (request: Request, cx: Cx): Promise<Response | undefined> => {
    const url = new URL(request.url)
    const route = routes[url.pathname]
    if (!route) return undefined
    const base = { cx, show, request, visit: await visitOf(cx, request) }
    if (request.method === "GET" || request.method === "HEAD") {
      const scene = await sceneOf(base, url.searchParams.get("authRequest") ?? "")
      return scene instanceof Response ? scene : route.get(scene)
    }
    const { post } = route
    if (request.method !== "POST" || !post) return wrongMethod(post !== undefined)
    const fields = await fieldsOf(request)
    const scene = await postedScene(base, fields)
    if (scene instanceof Response) return scene
    return fields ? post(scene, fields) : trouble(base, { problem: "invalid_request" })
  }
}

const routesOf = (onward: Continue, hrefs: SignedInHrefs): Readonly<Record<string, Route>> => ({
  [loginPaths.entry]: { get: () => goTo(loginPaths.signedIn) },
  [loginPaths.loginName]: { get: askLoginName, post: takeLoginName },
  [loginPaths.password]: {
    get: askPassword,
    post: (scene, fields) => takePassword(scene, fields, onward),
  },
  [loginPaths.accounts]: {
    get: askAccount,
    post: (scene, fields) => takeAccount(scene, fields, onward),
  },
  [loginPaths.signedIn]: { get: (scene) => showSignedIn(scene, hrefs) },
  [loginPaths.signedOut]: { get: showSignedOut },
})

const wrongMethod = (posts: boolean): Response =>
  new Response(null, { status: 405, headers: { allow: posts ? "GET, HEAD, POST" : "GET, HEAD" } })
