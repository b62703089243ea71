import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { loginPaths } from "../../src/login/index.ts"
import { sealResponse } from "../../src/oauth/custom-login/sealed-response.ts"
import { oauthPaths } from "../../src/oauth/index.ts"
import { paths as samlPaths } from "../../src/saml/path.ts"
import { type App, createApp } from "../../src/server/app.ts"
import { countCharacters } from "../support/character-count.ts"
import { type CostlyRequest, costlyRequests } from "../support/costly-requests.ts"
import {
  chooser,
  createHostileRequest,
  type HostileRequest,
  type Material,
} from "../support/hostile.ts"
import { driveClock } from "../support/wait.ts"
import { addServiceAccount } from "./clients.ts"
import { type Browser, loadDiscovery, openSignedIn, post, tokensOf, userinfo } from "./must.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  password,
  redirectUri,
  responseOf,
  sendTokenRequest,
  signedOutUri,
} from "./provider.ts"
import { addMachine, type Machine, personalTokenOf } from "./service-account.ts"

// The bundler puts the console's files there, which only the binary contains.
vi.mock("../../src/gen/ui-assets.ts", () => ({
  uiEntry: { css: "/ui/assets/kit.css", pageJs: "/ui/assets/page.js", icon: "/ui/mark.svg" },
  uiAssets: new Map(),
}))

const rounds = 10
const perRound = 2000
const atOnce = 16

const loopback = "http://127.0.0.1/cb"
const logoutPage = "https://app.example.com/forget"
const everything = {
  responseTypes: ["code", "id_token", "id_token_token"],
  grantTypes: ["authorization_code", "implicit", "refresh_token", "device_code", "token_exchange"],
} as const

let provider: Provider
let app: App
let web: NewClient
let spa: NewClient
let native: NewClient
let machine: Machine
let serviceAccount: Awaited<ReturnType<typeof addServiceAccount>>
const log: string[] = []

/** An uninvolved user: none of their secrets is ever sent, and all of them stay valid. */
let bystander: { client: NewClient; browser: Browser; token: string; secrets: readonly string[] }

beforeAll(async () => {
  provider = await openProvider()
  app = createLoggedApp(provider)
  web = await provider.addClient({
    ...lists,
    redirectUris: [redirectUri, `${redirectUri}?x=1`],
    frontChannelLogout: { uri: logoutPage, sessionRequired: true },
  })
  spa = await provider.addClient({ ...lists, appType: "user_agent", authMethod: "none" })
  const uris = { redirectUris: [loopback], postLogoutRedirectUris: [loopback] }
  native = await provider.addClient({ ...lists, ...uris, appType: "native", authMethod: "none" })
  machine = await addMachine(provider)
  serviceAccount = await addServiceAccount(provider)
  bystander = await createBystander()
})
afterAll(() => provider.close())

const lists = {
  responseTypes: [...everything.responseTypes],
  grantTypes: [...everything.grantTypes],
}

async function createBystander() {
  await provider.addPerson("bea")
  const client = await provider.addClient()
  const browser = browserOf(provider)
  await browser.signIn(authorizePath(client.id), "bea")
  const { access_token, id_token } = await tokensOf(provider, browser, client)
  const token = String(access_token)
  const cookie = browser.cookie().split("=")[1] ?? ""
  return { client, browser, token, secrets: [token, String(id_token), cookie, client.secret] }
}

/** The app behind the listeners, with a recorded log. */
function createLoggedApp({ store, clock, secrets, cx }: Provider): App {
  const line =
    (level: string) =>
    (...values: readonly unknown[]) =>
      void log.push(`${level} ${JSON.stringify(values)}`)
  const { ids, random } = cx()
  const services = {
    store,
    clock,
    secrets,
    ids,
    random,
    systemUsers: [],
    notReady: () => undefined,
    log: {
      ...Object.fromEntries(
        ["trace", "debug", "info", "warn", "warning", "error", "fatal"].map((level) => [
          level,
          line(level),
        ]),
      ),
      isEnabledFor: () => true,
    },
    isProxy: () => false,
    limits: () => ({
      spend: () => undefined,
      refund: () => undefined,
      source: () => undefined,
      pace: () => async () => undefined,
    }),
    call: (instance: string, name: string) => cx({ instance, caller: { kind: "system", name } }),
    broke: (label: string) => void log.push(`broke ${label}`),
  }
  const setupToken = { isOpen: () => false, renew: () => "", matches: () => false, close: () => {} }
  return createApp({ services: services as never, setupToken, upstream: "http://127.0.0.1:8080" })
}

/** Fresh codes and tokens of the targeted user: earlier requests may have ended them. */
async function createMaterial(): Promise<Material & { readonly secrets: readonly string[] }> {
  const browser = await openSignedIn(provider, web)
  const codeOf = async (client: NewClient, changes = {}) =>
    responseOf(await browser.go(authorizePath(client.id, changes))).code ?? ""
  const offline = { scope: "openid offline_access" }
  const as = `${web.id}:${web.secret}`
  const { answer } = await sendTokenRequest(provider, codeFields(await codeOf(web, offline)), as)
  const started = await post(provider, oauthPaths.deviceAuthorization, `client_id=${spa.id}`)
  const device = await started.json()
  const pushed = await post(
    provider,
    oauthPaths.par,
    new URL(authorizePath(spa.id), issuer).search.slice(1),
  )
  const stranger = browserOf(provider)
  const { page } = await stranger.go(authorizePath(web.id, { prompt: "login" }))
  // The attacker may know the hidden fields of their own page.
  const hidden = (name: string) =>
    new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? ""
  const [access, id, refresh] = [answer.access_token, answer.id_token, answer.refresh_token]
  const secret = {
    code: [await codeOf(web), await codeOf(web), await codeOf(spa)],
    token: [String(access), String(refresh), String((await freshTokens(browser)).access_token)],
    refresh_token: [String(refresh)],
    subject_token: [String(access)],
    actor_token: [String(access)],
    id_token_hint: [String(id)],
    assertion: [await machine.assertion(), await machine.assertion({ jti: "1" })],
    device_code: [String(device.device_code)],
    request_uri: [String((await pushed.json()).request_uri)],
    access_token: [await personalTokenOf(provider, serviceAccount.userId)],
    client_secret: [web.secret, serviceAccount.secret],
  }
  const answered = { responseMode: "form_post", languages: [] } as const
  const asked = { ...answered, appId: web.appId, clientId: web.id, redirectUri }
  const posted = sealResponse(provider.cx(), { asked, fields: { error: "access_denied" } })
  const shown = {
    user_code: [String(device.user_code)],
    csrf: [hidden("csrf")],
    authRequest: [hidden("authRequest")],
    id: [hidden("authRequest")],
    answer: [new URL(posted).searchParams.get("answer") ?? ""],
  }
  const client = ({ id, secret }: Pick<NewClient, "id" | "secret">, uri = redirectUri) => ({
    id,
    secret,
    redirectUri: uri,
  })
  return {
    secrets: [...Object.values(secret).flat(), password],
    paths: [...Object.values(oauthPaths), ...Object.values(loginPaths)],
    clients: [
      client(web),
      client(web),
      client(spa),
      client(native, loopback),
      client(serviceAccount),
    ],
    redirectUris: [redirectUri, redirectUri, `${redirectUri}?x=1`, signedOutUri, loopback],
    kinds: { ...secret, ...shown },
    tokens: Object.values({ ...secret, ...shown }).flat(),
    cookies: [browser.cookie(), browser.cookie(), stranger.cookie()],
  }
}

const freshTokens = (browser: Browser) => tokensOf(provider, browser, web)

/** The hostile requests that were answered like valid ones; some must reach that far. */
const succeededPaths: string[] = []

/** The tokens issued during the run; the log must not contain them either. */
const issued = new Set<string>()

async function findProblems(
  request: HostileRequest,
  knownNames: readonly string[],
): Promise<readonly string[]> {
  const { method, path, headers, body } = request
  const init = { method, headers, body: body ?? null, redirect: "manual" } as const
  const response = await app.answer(new Request(issuer + path, init), () => "192.0.2.1")
  const text = await response.text()
  if (response.status < 400) succeededPaths.push(`${method} ${new URL(issuer + path).pathname}`)
  const location = response.headers.get("location")
  const sent = textOf(request)
  const leaks = (secret: string) => text.includes(secret) || location?.includes(secret)
  for (const [, token = ""] of text.matchAll(/"(?:access|refresh|id)_token":"([^"]+)"/g)) {
    issued.add(token)
  }
  const wrong = [
    response.status >= 500 && `answered ${response.status}`,
    traces.test(text) && "shows its inside",
    bystander.secrets.some(leaks) && "tells a secret of somebody else",
    knownNames.some((secret) => !sent.includes(secret) && leaks(secret)) && "tells a secret",
    location !== null && !isAllowedRedirect(location) && `leads to ${location}`,
    foreignTargets(text).map((away) => `leads to ${away}`)[0] ?? false,
    !isAllowedRedirect(refreshTarget(response)) && `leads to ${refreshTarget(response)} in a while`,
    response.headers
      .getSetCookie()
      .some((line) => !/^__Host-latchkey(-device)?=[^\r\n]*$/.test(line)) && "sets another cookie",
  ]
  const what = `${method} ${path.slice(0, 400)} ${String(body ?? "").slice(0, 400)}`
  return wrong.flatMap((each) => (each ? [`${each}: ${what}\n${text.slice(0, 300)}`] : []))
}

/** All texts of a request, raw and decoded: the response may echo them to the sender. */
const textOf = ({ path, headers, body }: HostileRequest): string => {
  const plain = `${path} ${body ?? ""} ${Object.values(headers).join(" ")}`
  const basic = /Basic ([\w+/=]+)/.exec(headers.authorization ?? "")?.[1] ?? ""
  const credentials = Buffer.from(basic, "base64").toString()
  return `${plain} ${credentials} ${plain.replace(/%([0-9a-f]{2})/gi, fromHex)}`
}

const fromHex = (_: string, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))

const traces = /\n\s+at |\/src\/|SQLITE|TypeError|RangeError|SyntaxError|bunfs|node_modules/

/** Our own origin, or a registered URI with a response. */
const isAllowedRedirect = (location: string): boolean =>
  /^\/(?![/\\])/.test(location) ||
  location.startsWith(`${issuer}/`) ||
  [redirectUri, signedOutUri, logoutPage].some(
    (uri) => location === uri || /^[?#]/.test(textAfter(location, uri)),
  ) ||
  /^http:\/\/127\.0\.0\.1(:\d{1,5})?\/cb([?#]|$)/.test(location)

/** The target of an automatic redirect of the page. */
const refreshTarget = ({ headers }: Response): string =>
  /;url=(.*)$/.exec(headers.get("refresh") ?? ";url=/")?.[1] ?? ""

const textAfter = (text: string, start: string) =>
  text.startsWith(start) ? text.slice(start.length) : ""

/** Form, link and frame targets of a page that are neither ours nor registered. */
const foreignTargets = (page: string): readonly string[] =>
  [...page.matchAll(/<(?:form|a|iframe|link|script|img)\b[^>]*?(?:action|href|src)="([^"]*)"/g)]
    .map(([, address = ""]) => address.replaceAll("&amp;", "&"))
    .filter((address) => !isAllowedRedirect(address) && !address.startsWith("#"))

/** The paths of all endpoints in discovery. */
const endpoints = async (): Promise<readonly string[]> =>
  Object.entries(await loadDiscovery(provider))
    .filter(([name]) => name.endsWith("_endpoint"))
    .map(([, address]) => new URL(String(address)).pathname)

async function round(seed: number): Promise<{ count: number; findings: readonly string[] }> {
  const choose = chooser(seed)
  const now = await createMaterial()
  const { secrets } = now
  const findings: string[] = []
  let left = perRound
  let count = 0
  const worker = async () => {
    while (left-- > 0) {
      findings.push(...(await findProblems(createHostileRequest(choose, now), secrets)))
      count++
      provider.clock.advance(1)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  const told = [...secrets, ...issued, ...bystander.secrets].filter((secret) =>
    log.some((line) => line.includes(secret)),
  )
  return { count, findings: [...findings, ...told.map((secret) => `the log has ${secret}`)] }
}

test("20,000 hostile requests cause no internal error, disclosure or open redirect", async () => {
  // Throttled attempts wait for the clock.
  const all = []
  for (let seed = 1; seed <= rounds; seed++) {
    const passing = { intervalMs: 5, limitMs: 600_000 }
    all.push(await driveClock(round(seed), () => provider.clock.advance(20), passing))
  }
  expect(all.flatMap(({ findings }) => findings).slice(0, 20)).toEqual([])
  expect(log.filter((line) => /^(error|fatal|broke)/.test(line))).toEqual([])
  expect(all.reduce((sum, { count }) => sum + count, 0)).toBe(20_000)

  for (const path of await endpoints()) {
    const good = succeededPaths.filter(
      (each) => /^(GET|POST) /.test(each) && each.endsWith(` ${path}`),
    )
    expect(good.length, path).toBeGreaterThan(50)
  }
  const { client, browser, token } = bystander
  expect((await userinfo(provider, token)).status).toBe(200)
  expect(responseOf(await browser.go(authorizePath(client.id, { prompt: "none" })))).toHaveProperty(
    "code",
  )
}, 600_000)

/** A body of this type that never ends, and the number of bytes read from it. */
function createEndlessBody(type: string) {
  const part = new TextEncoder().encode("a".repeat(8192))
  let sent = 0
  const pull = (stream: ReadableStreamDefaultController<Uint8Array>) => {
    stream.enqueue(part)
    sent += part.length
    if (sent > 8_000_000) stream.close()
  }
  const body = new ReadableStream({ pull }, { highWaterMark: 0 })
  const headers = { "content-type": type, host: new URL(issuer).host }
  return { init: { method: "POST", body, headers }, sent: () => sent }
}

/** The default body limit of an endpoint; larger ones are listed. */
const usualBytes = 65_536
const largerBytes: Readonly<Record<string, number>> = {
  [samlPaths.sso]: 120_000,
  [samlPaths.slo]: 120_000,
  "/idps/1/saml/acs": 720_000,
  "/idps/1/saml/slo": 120_000,
}

const form = "application/x-www-form-urlencoded"
test.each([
  ...Object.values(oauthPaths),
  ...Object.values(loginPaths),
  ...Object.values(samlPaths),
  "/idps/1/saml/acs",
  "/idps/1/saml/slo",
  "/setup",
  "/",
  "/nowhere",
])("an unauthenticated request is not read for long at %s", async (path) => {
  for (const type of [form, "application/json", "text/plain"]) {
    const { init, sent } = createEndlessBody(type)
    const { status } = await app.answer(new Request(issuer + path, init), () => "192.0.2.1")
    expect(status).toBeLessThan(500)
    expect(sent(), type).toBeLessThanOrEqual((largerBytes[path] ?? usualBytes) + 8192)
  }
})

/** gRPC requests use another listener; their messages are those of gRPC-Web. */
const httpRequests = costlyRequests.filter(({ over }) => over === undefined)
const sizeOf = ({ path, headers = {}, body = "" }: CostlyRequest) =>
  path.length + body.length + Object.values(headers).join().length

/** The cost of a text beyond its bytes: how often it is scanned, split, and parsed as JSON. */
async function costOf(work: () => Promise<unknown>) {
  const split = vi.spyOn(String.prototype, "split")
  const parse = vi.spyOn(JSON, "parse")
  const find = ["get", "getAll", "has"] as const
  const finds = find.map((name) => vi.spyOn(URLSearchParams.prototype, name))
  const [letters, stop] = countCharacters()
  try {
    await work()
    return {
      letters: letters(),
      pieces: split.mock.results.reduce((sum, { value }) => sum + (value?.length ?? 0), 0),
      json: parse.mock.calls.reduce((sum, [text]) => sum + text.length, 0),
      searches: finds.reduce((sum, { mock }) => sum + mock.calls.length, 0),
    }
  } finally {
    stop()
    for (const spy of [split, parse, ...finds]) spy.mockRestore()
  }
}

test.each(httpRequests.map((row) => [`${row.decoder}, ${row.what}, by ${row.as}`, row] as const))(
  "the costliest input of its kind costs as little as any: %s",
  async (_, row) => {
    const { path, type, answer } = row
    const token = row.as === "owner" ? await ownerToken() : undefined
    const body = typeof row.body === "string" ? fillIds(row.body) : row.body
    const headers = {
      ...row.headers,
      ...(token && { authorization: `Bearer ${token}` }),
      ...(type && { "content-type": type }),
      host: new URL(issuer).host,
    }
    const request = new Request(new URL(path.replace("$client", web.id), issuer), {
      method: body === undefined ? "GET" : "POST",
      redirect: "manual",
      headers,
      ...(body !== undefined && { body }),
    })
    let said = ""
    const cost = await costOf(async () => {
      const response = await app.answer(request, () => "203.0.113.9")
      said = `${response.status} ${await response.text()}`
    })
    expect(said).toMatch(answer)
    // Each character is scanned about twenty times for any input, in addition to the cost of any
    // page. An inflated message has many more characters than were sent.
    expect(cost.letters).toBeLessThan(25 * sizeOf(row) + 1_250_000)
    // A cookie is searched by name a few times; nothing else is split.
    expect(cost.pieces).toBeLessThan(10_000)
    expect(cost.json).toBeLessThan(4 * sizeOf(row))
    expect(cost.searches).toBeLessThan(100)
  },
)

const fillIds = (body: string) =>
  body
    .replace("$project", provider.projectId)
    .replace("$org", provider.setup.orgId)
    .replace("$user", serviceAccount.userId)
    .replace("$fresh", "")

/** A token of a service account that owns the instance. */
const ownerToken = () =>
  personalTokenOf(provider, String(JSON.parse(provider.setup.serviceKey).userId))
