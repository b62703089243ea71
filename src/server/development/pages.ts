import type { Say, ShownMessage } from "../../../ui/development/index.ts"
import type { PageProps } from "../../../ui/login/index.ts"
import {
  browser,
  csrfMatches,
  csrfOf,
  endSession,
  enterBrowser,
  type KnownBrowser,
  readBrowser,
} from "../../domain/session/index.ts"
import { findByLoginName } from "../../domain/user-lookup/index.ts"
import { originOf } from "../../http/origin.ts"
import { areaOf, type Route } from "../../http/route.ts"
import { lazily } from "../../kernel/lazy.ts"
import type { ShowPage } from "../../login/index.ts"
import { formWithin } from "../../protocol/body.ts"
import type { Cx } from "../../store/index.ts"
import { anonymousCall } from "../caller.ts"
import type { ServerServices } from "../services.ts"
import { demoOf } from "./demo.ts"
import { clients, ownRedirectUri, password, people, signsFixed } from "./seed.ts"

type Parts = {
  readonly publicUrl: string
  readonly messages: () => readonly ShownMessage[]
  readonly show: ShowPage
}

type Visitor = {
  readonly cx: Cx
  readonly request: Request
  readonly url: URL
  readonly known: KnownBrowser
}

type Pages = (visitor: Visitor) => Promise<Response>

const loadUi = lazily(() => import("../../../ui/development/index.ts"))

/** The pages of a development instance. */
export function developmentRoutes(services: ServerServices, parts: Parts) {
  const pages = { ...overviewPages(parts), ...demoPages(parts) }
  const paths = new Set(Object.keys(pages).map((page) => page.replace(/^[A-Z]+ /, "")))
  const routeOf = (path: string): Route => ({
    anywhere: async ({ request, peer, url }) => {
      const page = pages[`${request.method} ${path}`]
      // Another name that leads to this machine is somebody else's page (DNS rebinding).
      const cx = page && anonymousCall(services, request.headers, originOf(services, request, peer))
      if (!page || !cx) return undefined
      const known = await readBrowser(cx, false, request.headers.get("cookie"))
      return page({ cx, request, url, known })
    },
  })
  const routes = [...paths].flatMap((path) => {
    const route = routeOf(path)
    return [[path, route] as const, [`${path}/`, route] as const]
  })
  return areaOf("other", Object.fromEntries(routes))
}

type Shown = PageProps & { readonly say: Say; readonly csrf: string }
type Ui = Awaited<ReturnType<typeof loadUi>>

async function shown(
  { show }: Parts,
  { cx, known }: Visitor,
  page: (ui: Ui, props: Shown) => ReturnType<Ui["DemoPage"]>,
  cookies: readonly string[] = [],
): Promise<Response> {
  const ui = await loadUi()
  const { language, t: say } = ui.developmentTexts(cx.languages)
  const csrf = csrfOf(cx, known)
  return show(cx, (_, shared) => page(ui, { ...shared, language, say, csrf }), {
    cookies: [known.setCookie, ...cookies],
  })
}

function overviewPages(parts: Parts): Readonly<Record<string, Pages>> {
  const { publicUrl, messages } = parts
  return {
    "GET /dev": (visitor) =>
      shown(parts, visitor, (ui, props) => {
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
          fixed: signsFixed(visitor.cx),
        })
      }),
    "GET /dev/messages": (visitor) =>
      shown(parts, visitor, (ui, props) => ui.MessagePage({ ...props, messages: messages() })),
    "POST /dev/sign-in": async ({ cx, request, known }) => {
      const form = await formOf(request)
      const person = people.find(
        ({ loginName }) => findByLoginName(cx, loginName) === form.get("user"),
      )
      if (!person || !csrfMatches(cx, known, form.get("csrf") ?? "")) return goTo("/dev")
      const cookie = await enterBrowser<never>(cx, known, {
        userId: form.get("user") ?? "",
        secure: false,
        also: () => undefined,
        // One at a time: nobody is asked which of those they have been.
        first: (tx) => {
          for (const id of tx.state(browser, known.id).sessions) endSession(tx, id)
          return undefined
        },
      })
      return goTo(form.get("to") === "console" ? "/ui/console/" : "/dev/demo/sign-in", [cookie])
    },
  }
}

function demoPages(parts: Parts): Readonly<Record<string, Pages>> {
  const demo = demoOf(parts.publicUrl, clients.demo)
  return {
    "GET /dev/demo": (visitor) => {
      const { tokens, failure } = demo.visit(visitIn(visitor))
      return shown(parts, visitor, (ui, props) => ui.DemoPage({ ...props, tokens, failure }))
    },
    "GET /dev/demo/sign-in": async ({ cx, url }) => {
      const id = cx.random.bytes(16).toHex()
      const to = await demo.begin(id, url.searchParams.get("prompt"))
      return goTo(to, [`${cookieName}=${id}; Path=/dev/demo; HttpOnly; SameSite=Lax`])
    },
    "GET /dev/demo/callback": async (visitor) => {
      await demo.end(visitIn(visitor), visitor.url)
      return goTo("/dev/demo")
    },
    "POST /dev/demo/sign-out": async (visitor) => {
      const form = await formOf(visitor.request)
      const isOurs = csrfMatches(visitor.cx, visitor.known, form.get("csrf") ?? "")
      return goTo(isOurs ? await demo.leave(visitIn(visitor)) : "/dev/demo")
    },
  }
}

const cookieName = "latchkey-demo"

/** The cookie of the application, which is none of ours. */
const visitIn = ({ request }: Visitor): string =>
  /latchkey-demo=([0-9a-f]{32})/.exec(request.headers.get("cookie") ?? "")?.[1] ?? ""

async function formOf(request: Request): Promise<URLSearchParams> {
  const form = await formWithin(request, { bytes: 4096, parameters: 10 })
  return typeof form === "string" ? new URLSearchParams() : form
}

function goTo(location: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ location, "cache-control": "no-store" })
  for (const cookie of cookies) headers.append("set-cookie", cookie)
  return new Response(null, { status: 303, headers })
}
