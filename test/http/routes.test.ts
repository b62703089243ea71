// The response of every path to every method: routes of all areas, and other paths.
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { folderAt } from "../../src/boot/folder/folder.ts"
import { setLimits } from "../../src/domain/quota/commands.ts"
import { firstInstance, setUp } from "../../src/domain/setup/index.ts"
import { findRoute } from "../../src/http/visit.ts"
import { parseConfig } from "../../src/kernel/config.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { loginPaths } from "../../src/login/index.ts"
import { oauthPaths } from "../../src/oauth/index.ts"
import { paths as samlPaths } from "../../src/saml/path.ts"
import { createApp } from "../../src/server/app.ts"
import { openServices, type ServerServices } from "../../src/server/services.ts"
import { createToken } from "../../src/server/setup/setup-token.ts"
import { temporaryFolder } from "../support/latchkey.ts"

// The bundler puts files of the console there, which only the binary contains.
vi.mock("../../src/gen/ui-assets.ts", () => ({
  uiEntry: {
    css: "/ui/assets/kit.css",
    pageJs: "/ui/assets/page.js",
    icon: "/ui/mark.svg",
    readerJs: "/ui/assets/reader.js",
    readerCss: "/ui/assets/reader.css",
  },
  uiAssets: {},
}))
vi.mock("../../src/gen/openapi.ts", () => import("../support/openapi-texts.ts"))

const folder = temporaryFolder()
let services: ServerServices
let app: ReturnType<typeof createApp>
let isSetUp = false
beforeAll(() => {
  const env = { LATCHKEY_LIMITS: "off", LATCHKEY_LOG_LEVEL: "fatal" }
  const config = parseConfig({ flags: {}, env, file: {} })
  const master = new Uint8Array(32)
  services = openServices({ config, folder: folderAt(folder.path), master, started: 0 })
  const open = () => !isSetUp
  const setupToken = createToken(systemRandom, { open, closed: () => undefined })
  app = createApp({ services, setupToken, upstream: "" })
})
afterAll(async () => {
  await services.store.close()
  folder.remove()
})

/** In addition to the addresses of areas: paths below them, other spellings, and unknown paths. */
const otherPaths = [
  "/",
  "/x",
  "/setup",
  "/setup/",
  "/setup/x",
  "/setup/reached/x",
  `/setup/reached/${"n".repeat(43)}`,
  "/healthz",
  "/healthz/",
  "/debug/healthz",
  "/debug/ready",
  "/debug",
  "/debug/x",
  "/ui",
  "/ui/",
  "/ui/console",
  "/ui/console/",
  "/ui/console/users/1",
  "/ui/consoles",
  "/ui/console/environment.json",
  "/ui/console/callback",
  "/ui/account",
  "/ui/account/x",
  "/ui/login/",
  "/ui/login/nothing",
  "/ui/LOGIN",
  "/ui//login",
  "/ui/%6cogin",
  "/ui/assets/x",
  "/openapi",
  "/openapi/",
  "/openapi/json",
  "/openapi/v2",
  "/openapi/x",
  "/openapix",
  "/oauth/v2/token/",
  "/oauth/v2/%74oken",
  "/oauth/v2/nothing",
  "/oidc/v1/nothing",
  "/forward-auth",
  "/forward-auth/x",
  "/forward-auth/id.example.com/1/check",
  "/forward-auth/id.example.com/1/authorization/ask",
  "/.well-known/nothing",
  "/idps",
  "/idps/callback",
  "/idps/jwt",
  "/idps/1/callback",
  "/idps/x/callback",
  "/idps/azure",
  "/idps/1/saml/metadata",
  "/idps/1/saml/acs",
  "/idps/1/saml/start",
  "/idps/1/saml/slo",
  "/idps/1/saml/x",
  "/idps/x/saml/slo",
  "/idps/1/saml/slo/",
  "/idps/azure/1",
  "/saml/v2/SSO/",
  "/saml/v2/sso",
  "/saml/v2/nothing",
  "/assets/v1/instance/policy/label/logo",
  "/assets/v1/users/me/avatar",
  "/assets/x",
  "/management/v1/projects/1",
  "/management/v1/projects/1/",
  "/management/v1/%70rojects/1",
  "/management/v1/projects/a%2Fb",
  "/management/v1/projects/%ff",
  "/management/v1/nothing",
  "/management/v1/projects/1/roles/a/b",
  "/management/v1",
  "/management/v1/healthz",
  "/actions/1",
  "/actions/_search",
  "/admin/v1/iam",
  "/core.user.v2.UserService/ListUsers",
  "/core.user.v2.UserService/nothing",
  "/core.x",
  "/scim/v2/Users",
  "/favicon.ico",
  "/resources/v3alpha/web_keys",
]

const paths = [
  ...Object.values(oauthPaths),
  ...Object.values(samlPaths),
  ...Object.values(loginPaths),
  ...otherPaths,
]

const methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"]

/** Headers about permitted methods and the handling of the response. */
const comparedHeaders = [
  "allow",
  "location",
  "content-type",
  "cache-control",
  "vary",
  "www-authenticate",
  "cross-origin-opener-policy",
  "x-frame-options",
  "retry-after",
  "etag",
  "access-control-allow-origin",
  "access-control-allow-methods",
  "set-cookie",
]

/** Headers that differ between responses. */
const varyingHeaders = new Set(["etag", "set-cookie"])

function formatResponse({ status, headers }: Response): string {
  const lines = comparedHeaders.flatMap((name) => {
    const value = headers.get(name)?.replace(/\bas=[\w.-]+/, "as=…")
    return value === undefined ? [] : [`${name}: ${varyingHeaders.has(name) ? "…" : value}`]
  })
  return [status, ...lines].join(" | ")
}

type Accept = "" | "text/html"

async function fetchResponse(method: string, url: string, accept: Accept): Promise<string> {
  const { host } = new URL(url)
  // A browser in a secure context, such as localhost.
  const headers = { host, ...(accept && { accept, "sec-fetch-dest": "document" }) }
  const body = method === "POST" ? new URLSearchParams({ x: "1" }) : undefined
  const request = new Request(url, { method, headers, ...(body && { body }) })
  const answer = app.publishedDocument(request) ?? (await app.answer(request, () => "127.0.0.1"))
  return formatResponse(app.guarded(request, answer))
}

/** The rows of a path: one for methods and clients with the same response. */
async function rowsOf(origin: string, path: string): Promise<readonly string[]> {
  const byAnswer = new Map<string, Record<Accept, string[]>>()
  for (const accept of ["text/html", ""] as const) {
    for (const method of methods) {
      const answer = await fetchResponse(method, `${origin}${path}`, accept)
      const found = byAnswer.get(answer) ?? { "text/html": [], "": [] }
      byAnswer.set(answer, found)
      found[accept].push(method)
    }
  }
  return [...byAnswer].flatMap(([answer, { "text/html": browser, "": program }]) => {
    const row = (userName: string, which: readonly string[]) =>
      which.length === 0 ? [] : [`${path}\t${userName}\t${which.join(" ")}\t${answer}`]
    return browser.join() === program.join()
      ? row("both", browser)
      : [...row("browser", browser), ...row("program", program)]
  })
}

async function responseTable(
  state: string,
  origin: string,
  requested: readonly string[],
): Promise<string> {
  const rows: string[] = []
  for (const path of new Set(requested)) rows.push(...(await rowsOf(origin, path)))
  return [`# ${state}`, ...rows, ""].join("\n")
}

const ownOrigin = "http://id.example.com"

/** One path of each area: without an instance, or with a blocked one, areas do not respond. */
const samplePaths = [
  "/",
  "/setup",
  `/setup/reached/${"n".repeat(43)}`,
  "/healthz",
  "/debug/ready",
  "/openapi/x",
  "/ui/assets/x",
  "/ui/console/",
  "/ui/login/loginname",
  "/idps/1/saml/slo",
  "/saml/v2/SSO",
  "/.well-known/openid-configuration",
  "/oauth/v2/authorize",
  "/oauth/v2/token",
  "/x",
  "/management/v1/projects/1",
  "/core.user.v2.UserService/ListUsers",
]

const input = {
  publicUrl: "https://id.example.com",
  organization: "Acme",
  owner: {
    loginName: "olga",
    email: "olga@example.com",
    firstName: "Olga",
    lastName: "Owner",
    password: "Correct-horse-7",
  },
  serviceKey: undefined,
}

test("every path responds to every method as listed", async () => {
  const before = await responseTable("before the set-up", ownOrigin, samplePaths)
  const cx = services.call(firstInstance, "test")
  await setUp(cx, input)
  isSetUp = true
  const set = await responseTable("an instance", ownOrigin, paths)
  const elsewhere = await responseTable("a host of nobody", "http://other.example.com", samplePaths)
  await setLimits(cx, firstInstance, { block: true })
  const blocked = await responseTable("a blocked instance", ownOrigin, samplePaths)
  const actual = [before, set, elsewhere, blocked].join("\n")
  await expect(actual).toMatchFileSnapshot("routes.tsv")
})

const listing = "/core.user.v2.UserService/ListUsers"

test("the route of a request has its template and one of few groups", async () => {
  const known: readonly (readonly [path: string, template: string, group: string])[] = [
    ["/oauth/v2/token", "/oauth/v2/token", "token"],
    ["/oidc/v1/end_session", "/oidc/v1/end_session", "endSessionAlias"],
    ["/oauth/v2/nothing", "/oauth/*", "other"],
    ["/forward-auth/id.example.com/1/check", "/forward-auth/*", "forwardAuth"],
    ["/ui/login/password", "/ui/login/password", "login"],
    ["/ui/login/nothing", "/ui/login/*", "login"],
    ["/idps/1/saml/acs", "/idps/:id/saml/acs", "login"],
    ["/idps/1/saml/slo", "/idps/:id/saml/slo", "login"],
    ["/ui/console/users/1", "/ui/console/*", "console"],
    ["/ui/assets/x", "/ui/assets/*", "asset"],
    ["/assets/v1/x", "/assets/*", "asset"],
    ["/saml/v2/SSO", "/saml/v2/SSO", "saml"],
    ["/healthz", "/healthz", "health"],
    ["/debug/x", "/debug/*", "health"],
    ["/openapi/json", "/openapi/*", "openapi"],
    ["/x", "/*", "other"],
    ["/management/v1/projects/1", "/management/v1/projects/{id}", "rest"],
    ["/management/v1/%70rojects/a%2Fb", "/management/v1/projects/{id}", "rest"],
    ["/management/v1/nothing", "/management/*", "rest"],
    ["/actions/1", "/actions/{id}", "rest"],
    ["/core.user.v2.UserService/Nothing", "/core.*", "connect"],
    [listing, listing, "connect"],
  ]
  for (const [path, template, group] of known) {
    const request = new Request(`${ownOrigin}${path}`, { headers: { host: "id.example.com" } })
    await app.answer(request, () => "127.0.0.1")
    expect(findRoute(request), path).toMatchObject({ template, group })
  }
})
