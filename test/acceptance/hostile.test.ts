import { createPrivateKey } from "node:crypto"
import { afterAll, beforeAll, expect, test } from "vitest"
import { allServices } from "../../src/api/book.ts"
import {
  freePort,
  owner,
  type RunningServer,
  type ServiceKey,
  serviceToken,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"

const requestCount = 2000
const atOnce = 16
const callback = "https://app.example.com/callback"
const folder = temporaryFolder()

let server: RunningServer
let key: ServiceKey
let tokens: readonly string[] = []
let clientId = ""
beforeAll(async () => {
  const port = await freePort()
  const data = `${folder.path}/data`
  key = await setUp(data, `http://localhost:${port}`)
  server = await startLatchkey({ data, port })
  const token = await serviceToken(server.url, key)
  tokens = [token, await serviceToken(server.url, key, "openid")]
  clientId = await addClient(token)
})
afterAll(async () => {
  await server.stop()
  folder.remove()
})

async function addClient(token: string): Promise<string> {
  const call = async (path: string, body: object) => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${token}` }
    const init = { method: "POST", headers, body: JSON.stringify(body) }
    return (await fetch(`${server.url}/${path}`, init)).json()
  }
  const { projects } = await call("core.project.v2.ProjectService/ListProjects", {})
  const made = await call("core.application.v2.ApplicationService/CreateApplication", {
    projectId: projects[0].projectId,
    name: "Prey",
    oidcConfiguration: { redirectUris: [callback], postLogoutRedirectUris: [callback] },
  })
  return made.oidcConfiguration.clientId
}

type HostileRequest = { readonly path: string; readonly init: RequestInit }

test("hostile requests cause no internal error, disclosure or open redirect", async () => {
  const choose = chooser(20_261_121)
  const queue = Array.from({ length: requestCount }, () => createHostileRequest(choose))
  const findings: string[] = []
  const worker = async () => {
    for (let next = queue.pop(); next; next = queue.pop())
      findings.push(...(await findProblems(next)))
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  expect(findings).toEqual([])
  expect(secrets().filter((secret) => server.output().includes(secret))).toEqual([])
})

async function findProblems({ path, init }: HostileRequest): Promise<readonly string[]> {
  const response = await fetch(server.url + path, { ...init, redirect: "manual" })
  const text = await response.text()
  const location = response.headers.get("location")
  const wrong = [
    // 501 is a valid response: the operation exists in the API definition, and is not implemented.
    response.status >= 500 && response.status !== 501 && `answered ${response.status}`,
    traces.test(text) && "shows its inside",
    secrets().some((secret) => text.includes(secret)) && "tells a secret",
    location !== null && !isAllowedRedirect(location) && `leads to ${location}`,
    response.headers.getSetCookie().some((line) => /smuggled/.test(line)) && "took a header",
  ]
  const what = `${init.method} ${path.slice(0, 300)} ${String(init.body ?? "").slice(0, 300)}`
  return wrong.flatMap((each) => (each ? [`${each}: ${what}\n${text.slice(0, 300)}`] : []))
}

const traces = /\n\s+at |\/src\/|SQLITE|TypeError|RangeError|bunfs|node_modules/

/** The private key and the password; tokens must not be returned either. */
const secrets = () => [
  owner.password,
  createPrivateKey(key.key).export({ format: "jwk" }).d ?? "",
  ...tokens,
]

/** Our own origin, or the registered redirect URI with an error in its query. */
const isAllowedRedirect = (location: string) =>
  /^\/(?![/\\])/.test(location) || location.startsWith(`${callback}?`) || location === callback

type Choose = <T>(from: readonly T[]) => T

/** A seeded generator: every run makes the same choices, so failures can be reproduced. */
function chooser(seed: number): Choose {
  let state = seed
  const below = (count: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * count)
  }
  return (from) => {
    const chosen = from[below(from.length)]
    if (chosen === undefined) throw new Error("nothing to choose from")
    return chosen
  }
}

const texts = [
  "",
  " ",
  "0",
  "-1",
  "1e999",
  "null",
  "\u0000",
  "\r\nset-cookie: smuggled=1",
  "%0d%0a",
  "%",
  "../../etc/passwd",
  "%2e%2e%2f",
  "\\\\evil.example",
  "//evil.example",
  "javascript:alert(1)",
  "https://evil.example/",
  "https://app.example.com@evil.example/",
  `${callback}/../x`,
  "' OR '1'='1",
  '"><script>alert(1)</script>',
  "{{7*7}}",
  "__proto__",
  "constructor",
  "\ud800",
  "\u202e",
  "Ⅷ",
  "a".repeat(5000),
  "core",
  "1",
  "9".repeat(30),
  "a.b.c",
  "..",
  ".",
  "openid",
  "none",
  "code",
  "S256",
  "authorization_code",
  "a".repeat(43),
  callback,
  "openid urn:core:iam:org:project:id:core:aud",
  "urn:ietf:params:oauth:grant-type:jwt-bearer",
]

const names = [
  "client_id",
  "redirect_uri",
  "response_type",
  "scope",
  "state",
  "nonce",
  "prompt",
  "max_age",
  "code_challenge",
  "code_challenge_method",
  "id_token_hint",
  "login_hint",
  "ui_locales",
  "response_mode",
  "request",
  "request_uri",
  "grant_type",
  "code",
  "code_verifier",
  "assertion",
  "client_secret",
  "client_assertion",
  "post_logout_redirect_uri",
  "id",
  "authRequest",
  "csrf",
  "loginName",
  "password",
  "session",
  "token",
  "access_token",
  "publicUrl",
  "instance.id",
  "query.limit",
  "query.offset",
  "sortingColumn",
  "__proto__",
]

const pages = [
  "/",
  "/setup",
  "/healthz",
  "/iam",
  "/ui/console/",
  "/ui/console/environment.json",
  "/ui/login",
  "/ui/login/loginname",
  "/ui/login/password",
  "/ui/login/accounts",
  "/ui/login/signedin",
  "/ui/login/signedout",
  "/ui/assets/x.js",
  "/auth/v1/users/me",
  "/oauth/v2/authorize",
  "/oauth/v2/authorize",
  "/oauth/v2/authorize/callback",
  "/oauth/v2/token",
  "/oauth/v2/token",
  "/oauth/v2/keys",
  "/oidc/v1/userinfo",
  "/oidc/v1/endsession",
  "/oidc/v1/end_session",
  "/.well-known/openid-configuration",
  "/management/v1/projects/1",
  "/management/v1/projects/_search",
  "/admin/v1/domains/_search",
  "/management/v1/users/1",
  "/management/v1/iam",
  "/domains/_search",
  "/resources/v3alpha",
]

const methods = allServices.flatMap((service) =>
  service.methods.map((method) => ({ path: `/${service.typeName}/${method.name}`, method })),
)

function createHostileRequest(choose: Choose): HostileRequest {
  const headers = new Headers()
  const maybe = (name: string, values: readonly string[]) => {
    const value = choose(["", ...values])
    if (value !== "") headers.set(name, value)
  }
  maybe("authorization", [...tokens.map((token) => `Bearer ${token}`), "Bearer a.b.c", "Basic ="])
  maybe("accept", ["text/html", "application/json"])
  maybe("cookie", ["latchkey=1.x", "latchkey=%00", `latchkey=${"1".repeat(20)}.${"a".repeat(99)}`])
  maybe("x-forwarded-host", ["evil.example"])
  maybe("x-forwarded-proto", ["https", "javascript"])
  maybe("x-core-orgid", ["1", "'", "a".repeat(500)])
  maybe("x-http-method-override", ["DELETE"])
  maybe("origin", ["https://evil.example", "null"])
  maybe("accept-language", ["../de", "de;q=x,*;q=9", "a".repeat(600)])
  maybe("content-encoding", ["", "", "", "", "", "", "gzip", "deflate"])
  return choose([true, false])
    ? createPageRequest(choose, headers)
    : createMethodRequest(choose, headers)
}

function createPageRequest(choose: Choose, headers: Headers): HostileRequest {
  const method = choose(["GET", "GET", "POST", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"])
  const path = choose([respellPath(choose, choose(pages)), choose(pages)])
  const query = choose(["", `?${createForm(choose)}`])
  if (method === "GET" || method === "HEAD")
    return { path: path + query, init: { method, headers } }
  const forms = ["application/x-www-form-urlencoded", "application/x-www-form-urlencoded"]
  headers.set("content-type", choose([...forms, "application/json", "text/plain", "multipart/x"]))
  const body = choose([createForm(choose), createForm(choose), choose(texts), "{", "a=%&b=%ff"])
  return { path: path + query, init: { method, headers, body } }
}

/** Some parameters, a few of them valid, so that requests pass the first check. */
function createForm(choose: Choose): string {
  const right = {
    client_id: clientId,
    redirect_uri: callback,
    response_type: "code",
    scope: "openid",
    grant_type: "authorization_code",
  }
  const kept = Object.entries(right).filter(() => choose([true, true, true, false]))
  const more = Array.from({ length: choose([0, 1, 2, 5]) }, () => [choose(names), choose(texts)])
  return new URLSearchParams([...kept, ...more]).toString()
}

/** The path in a spelling that a lax router confuses with another path. */
const respellPath = (choose: Choose, path: string): string =>
  choose([
    path.replace("/", "//"),
    `${path}/`,
    `${path}/..`,
    `${path}/%2e%2e/x`,
    `${path}%2f`,
    `${path}%00`,
    `${path};a=b`,
    path.toUpperCase(),
    path.replaceAll("o", "%6f"),
    `${path}/${encodeURIComponent(choose(texts).toWellFormed())}`,
    `/%`,
  ])

function createMethodRequest(choose: Choose, headers: Headers): HostileRequest {
  const { path, method } = choose(methods)
  const json = "application/json"
  const types = [json, json, json, json, "application/proto", "application/grpc-web+proto"]
  headers.set("content-type", choose([...types, "application/connect+json", "text/plain"]))
  const body = choose([
    () => JSON.stringify(createMessage(choose, method.input.fields, 3)),
    () => JSON.stringify(createMessage(choose, method.input.fields, 3)),
    () => "[".repeat(9000),
    () => `{"a":${'{"a":'.repeat(3000)}1${"}".repeat(3001)}`,
    () => Buffer.from(Array.from({ length: 40 }, () => choose(bytes))).toString("latin1"),
    () => choose(texts),
  ])()
  return { path, init: { method: "POST", headers, body } }
}

const bytes = [0, 1, 8, 10, 18, 0x7f, 0x80, 0xff, 0x22, 0x2a, 5, 200]

type Fields = (typeof methods)[number]["method"]["input"]["fields"]

/** A message with valid field names and wrong values, as deep as its type allows. */
function createMessage(choose: Choose, fields: Fields, depth: number): object {
  const given = fields.filter(() => choose([true, false]))
  return Object.fromEntries(
    given.map((field) => [field.jsonName, valueFor(choose, field, depth)] as const),
  )
}

function valueFor(choose: Choose, field: Fields[number], depth: number): unknown {
  const one =
    field.message && depth > 0 ? createMessage(choose, field.message.fields, depth - 1) : null
  const any = choose<unknown>([choose(texts), choose(texts), 0, -1, 2 ** 53, true, null, [], {}])
  const value = choose<unknown>([one ?? any, one ?? any, one ?? any, any])
  return field.fieldKind === "list" ? choose<unknown>([[value], [value, value], value]) : value
}
