import type { DevelopmentTranslate, ShownMessage } from "../../../ui/development/index.ts"
import type { PageProps } from "../../../ui/login/index.ts"
import {
  type BrowserState,
  browser,
  csrfTokenOf,
  endSession,
  enterBrowser,
  isValidCsrfToken,
  readBrowser,
} from "../../domain/session/index.ts"
import { findByLoginName } from "../../domain/user-lookup/index.ts"
import { originOf } from "../../http/origin.ts"
import { createArea, type Route } from "../../http/route.ts"
import { loadOnce } from "../../kernel/lazy.ts"
import type { ShowPage } from "../../login/index.ts"
import { readForm } from "../../protocol/body.ts"
import type { Cx } from "../../store/index.ts"
import { createAnonymousCall } from "../caller.ts"
import type { ServerServices } from "../services.ts"
import { createDemo } from "./demo.ts"
import { clients, ownRedirectUri, password, people, signsWithFixedKeys } from "./seed.ts"

type Parts = {
  readonly publicUrl: string
  readonly messages: () => readonly ShownMessage[]
  readonly show: ShowPage
}

type Visitor = {
  readonly cx: Cx
  readonly request: Request
  readonly url: URL
  readonly known: BrowserState
}

type PageHandler = (visitor: Visitor) => Promise<Response>

const loadUi = loadOnce(() => import("../../../ui/development/index.ts"))

/** The pages of a development instance. */
export function developmentRoutes(services: ServerServices, parts: Parts) {
  const pages = { ...overviewPages(parts), ...demoPages(parts) }
  const paths = new Set(Object.keys(pages).map((page) => page.replace(/^[A-Z]+ /, "")))
  const routeOf = (path: string): Route => ({
    anyHost: async ({ request, peer, url }) => {
      const page = pages[`${request.method} ${path}`]
      // Another name that resolves to this machine can be a foreign page (DNS rebinding).
      const cx =
        page && createAnonymousCall(services, request.headers, originOf(services, request, peer))
      if (!page || !cx) return undefined
      const known = await readBrowser(cx, false, request.headers.get("cookie"))
      return page({ cx, request, url, known })
    },
  })
  const routes = [...paths].flatMap((path) => {
    const route = routeOf(path)
    return [[path, route] as const, [`${path}/`, route] as const]
  })
  return createArea("other", Object.fromEntries(routes))
}

type PageInput = PageProps & { readonly say: DevelopmentTranslate; readonly csrf: string }
type Ui = Awaited<ReturnType<typeof loadUi>>

async function renderPage(
  { show }: Parts,
  { cx, known }: Visitor,
  page: (ui: Ui, props: PageInput) => ReturnType<Ui["DemoPage"]>,
  cookies: readonly string[] = [],
): Promise<Response> {
  const ui = await loadUi()
  const { language, t: translate } = ui.developmentTexts(cx.languages)
  const csrf = csrfTokenOf(cx, known)
  return show(cx, (_, shared) => page(ui, { ...shared, language, say: translate, csrf }), {
    cookies: [known.setCookie, ...cookies],
  })
}

function overviewPages(parts: Parts): Readonly<Record<string, PageHandler>> {
  const { publicUrl, messages } = parts
  return {
    "GET /dev": (visitor) =>
      renderPage(parts, visitor, (ui, props) => {
        const here = people.flatMap(({ firstName, lastName, ...person }) => {
          const userId = findByLoginName(visitor.cx, person.loginName)
          const { loginName, organization, owns, roles } = person
          const name = `${firstName} ${lastName}`
          return userId ? [{ userId, name, loginName, organization, owns, roles }] : []
        })
        const client = [
          ["issuer", publicUrl],
          ["client", clients.own],
          ["redirect", ownRedirectUri],
        ] as const
        return ui.OverviewPage({
          ...props,
          people: here,
          password,
          client,
          fixed: signsWithFixedKeys(visitor.cx),
        })
      }),
    "GET /dev/messages": (visitor) =>
      renderPage(parts, visitor, (ui, props) => ui.MessagePage({ ...props, messages: messages() })),
    "POST /dev/sign-in": async ({ cx, request, known }) => {
      const form = await readPostedForm(request)
      const person = people.find(
        ({ loginName }) => findByLoginName(cx, loginName) === form.get("user"),
      )
      if (!person || !isValidCsrfToken(cx, known, form.get("csrf") ?? "")) return redirectTo("/dev")
      const cookie = await enterBrowser<never>(cx, known, {
        userId: form.get("user") ?? "",
        secure: false,
        also: () => undefined,
        // Replaces the current session, so that no account selection is shown.
        first: (tx) => {
          for (const id of tx.state(browser, known.id).sessions) endSession(tx, id)
          return undefined
        },
      })
      return redirectTo(form.get("to") === "console" ? "/ui/console/" : "/dev/demo/sign-in", [
        cookie,
      ])
    },
  }
}

function demoPages(parts: Parts): Readonly<Record<string, PageHandler>> {
  const demo = createDemo(parts.publicUrl, clients.demo)
  return {
    "GET /dev/demo": (visitor) => {
      const { tokens, failure } = demo.visit(sessionIdIn(visitor))
      return renderPage(parts, visitor, (ui, props) => ui.DemoPage({ ...props, tokens, failure }))
    },
    "GET /dev/demo/sign-in": async ({ cx, url }) => {
      const id = cx.random.bytes(16).toHex()
      const to = await demo.begin(id, url.searchParams.get("prompt"))
      return redirectTo(to, [`${cookieName}=${id}; Path=/dev/demo; HttpOnly; SameSite=Lax`])
    },
    "GET /dev/demo/callback": async (visitor) => {
      await demo.end(sessionIdIn(visitor), visitor.url)
      return redirectTo("/dev/demo")
    },
    "POST /dev/demo/sign-out": async (visitor) => {
      const form = await readPostedForm(visitor.request)
      const isOurs = isValidCsrfToken(visitor.cx, visitor.known, form.get("csrf") ?? "")
      return redirectTo(isOurs ? await demo.leave(sessionIdIn(visitor)) : "/dev/demo")
    },
  }
}

const cookieName = "latchkey-demo"

/** The cookie of the demo application. */
const sessionIdIn = ({ request }: Visitor): string =>
  /latchkey-demo=([0-9a-f]{32})/.exec(request.headers.get("cookie") ?? "")?.[1] ?? ""

async function readPostedForm(request: Request): Promise<URLSearchParams> {
  const form = await readForm(request, { bytes: 4096, parameters: 10 })
  return typeof form === "string" ? new URLSearchParams() : form
}

function redirectTo(location: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ location, "cache-control": "no-store" })
  for (const cookie of cookies) headers.append("set-cookie", cookie)
  return new Response(null, { status: 303, headers })
}
