import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { loginPaths } from "../../src/login/index.ts"
import { writePosted } from "../../src/oauth/handed/posted.ts"
import { oauthPaths } from "../../src/oauth/index.ts"
import { paths as samlPaths } from "../../src/saml/path.ts"
import { type App, appOf } from "../../src/server/app.ts"
import { chooser, type Hostile, hostile, type Material } from "../support/hostile.ts"
import { countLetters } from "../support/letters.ts"
import { driveClock } from "../support/wait.ts"
import { type Worst, worst } from "../support/worst.ts"
import { addRobot } from "./clients.ts"
import { type Browser, metadata, post, signedIn, tokensOf, userinfo } from "./must.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  password,
  redirectUri,
  signedOutUri,
} from "./provider.ts"
import { addMachine, type Machine, personalTokenOf } from "./service.ts"

// The bundler puts files of the console there, which only the binary can carry.
vi.mock("../../src/gen/ui-assets.ts", () => ({
  uiEntry: { css: "/ui/assets/kit.css", pageJs: "/ui/assets/page.js", icon: "/ui/mark.svg" },
  uiAssets: new Map(),
}))

const rounds = 10
const perRound = 2000
const atOnce = 16

const loopback = "http://127.0.0.1/cb"
const forget = "https://app.example.com/forget"
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
let robot: Awaited<ReturnType<typeof addRobot>>
const log: string[] = []

/** Somebody who has nothing to do with it: none of this is ever sent, and all of it stays good. */
let bystander: { client: NewClient; browser: Browser; token: string; secrets: readonly string[] }

beforeAll(async () => {
  provider = await openProvider()
  app = houseAround(provider)
  web = await provider.addClient({
    ...lists,
    redirectUris: [redirectUri, `${redirectUri}?x=1`],
    frontChannelLogout: { uri: forget, sessionRequired: true },
  })
  spa = await provider.addClient({ ...lists, appType: "user_agent", authMethod: "none" })
  const uris = { redirectUris: [loopback], postLogoutRedirectUris: [loopback] }
  native = await provider.addClient({ ...lists, ...uris, appType: "native", authMethod: "none" })
  machine = await addMachine(provider)
  robot = await addRobot(provider)
  bystander = await somebodyElse()
})
afterAll(() => provider.close())

const lists = {
  responseTypes: [...everything.responseTypes],
  grantTypes: [...everything.grantTypes],
}

async function somebodyElse() {
  await provider.addPerson("bea")
  const client = await provider.addClient()
  const browser = browserOf(provider)
  await browser.signIn(authorizePath(client.id), "bea")
  const { access_token, id_token } = await tokensOf(provider, browser, client)
  const token = String(access_token)
  const cookie = browser.cookie().split("=")[1] ?? ""
  return { client, browser, token, secrets: [token, String(id_token), cookie, client.secret] }
}

/** The house as it stands behind the listeners, whose log is kept here. */
function houseAround({ store, clock, secrets, cx }: Provider): App {
  const line =
    (level: string) =>
    (...said: readonly unknown[]) =>
      void log.push(`${level} ${JSON.stringify(said)}`)
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
    broke: (what: string) => void log.push(`broke ${what}`),
  }
  const setupToken = { isOpen: () => false, renew: () => "", matches: () => false, close: () => {} }
  return appOf({ services: services as never, setupToken, upstream: "http://127.0.0.1:8080" })
}

/** Fresh codes and tokens of the prey: what went before may have ended them. */
async function material(): Promise<Material & { readonly secrets: readonly string[] }> {
  const browser = await signedIn(provider, web)
  const codeOf = async (client: NewClient, changes = {}) =>
    answerOf(await browser.go(authorizePath(client.id, changes))).code ?? ""
  const offline = { scope: "openid offline_access" }
  const as = `${web.id}:${web.secret}`
  const { answer } = await askToken(provider, codeFields(await codeOf(web, offline)), as)
  const started = await post(provider, oauthPaths.deviceAuthorization, `client_id=${spa.id}`)
  const device = await started.json()
  const pushed = await post(
    provider,
    oauthPaths.par,
    new URL(authorizePath(spa.id), issuer).search.slice(1),
  )
  const stranger = browserOf(provider)
  const { page } = await stranger.go(authorizePath(web.id, { prompt: "login" }))
  // What the stranger's own page has for its forms, the stranger may know.
  const hidden = (name: string) =>
    new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? ""
  const [access, id, refresh] = [answer.access_token, answer.id_token, answer.refresh_token]
  const secret = {
    code: [await codeOf(web), await codeOf(web), await codeOf(spa)],
    token: [String(access), String(refresh), String((await fresh(browser)).access_token)],
    refresh_token: [String(refresh)],
    subject_token: [String(access)],
    actor_token: [String(access)],
    id_token_hint: [String(id)],
    assertion: [await machine.assertion(), await machine.assertion({ jti: "1" })],
    device_code: [String(device.device_code)],
    request_uri: [String((await pushed.json()).request_uri)],
    access_token: [await personalTokenOf(provider, robot.userId)],
    client_secret: [web.secret, robot.secret],
  }
  const answered = { responseMode: "form_post", languages: [] } as const
  const asked = { ...answered, appId: web.appId, clientId: web.id, redirectUri }
  const posted = writePosted(provider.cx(), { asked, fields: { error: "access_denied" } })
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
    clients: [client(web), client(web), client(spa), client(native, loopback), client(robot)],
    redirectUris: [redirectUri, redirectUri, `${redirectUri}?x=1`, signedOutUri, loopback],
    kinds: { ...secret, ...shown },
    tokens: Object.values({ ...secret, ...shown }).flat(),
    cookies: [browser.cookie(), browser.cookie(), stranger.cookie()],
  }
}

const fresh = (browser: Browser) => tokensOf(provider, browser, web)

/** Where hostile requests were answered as good ones: they must reach that far. */
const wentWell: string[] = []

/** Tokens that were given out on the way; the log must not have them, either. */
const issued = new Set<string>()

async function tried(request: Hostile, known: readonly string[]): Promise<readonly string[]> {
  const { method, path, headers, body } = request
  const init = { method, headers, body: body ?? null, redirect: "manual" } as const
  const response = await app.answer(new Request(issuer + path, init), () => "192.0.2.1")
  const text = await response.text()
  if (response.status < 400) wentWell.push(`${method} ${new URL(issuer + path).pathname}`)
  const location = response.headers.get("location")
  const sent = sentBy(request)
  const leaks = (secret: string) => text.includes(secret) || location?.includes(secret)
  for (const [, token = ""] of text.matchAll(/"(?:access|refresh|id)_token":"([^"]+)"/g)) {
    issued.add(token)
  }
  const wrong = [
    response.status >= 500 && `answered ${response.status}`,
    traces.test(text) && "shows its inside",
    bystander.secrets.some(leaks) && "tells a secret of somebody else",
    known.some((secret) => !sent.includes(secret) && leaks(secret)) && "tells a secret",
    location !== null && !isHome(location) && `leads to ${location}`,
    leadsAway(text).map((away) => `leads to ${away}`)[0] ?? false,
    !isHome(afterwards(response)) && `leads to ${afterwards(response)} in a while`,
    response.headers
      .getSetCookie()
      .some((line) => !/^__Host-latchkey(-device)?=[^\r\n]*$/.test(line)) && "sets another cookie",
  ]
  const what = `${method} ${path.slice(0, 400)} ${String(body ?? "").slice(0, 400)}`
  return wrong.flatMap((each) => (each ? [`${each}: ${what}\n${text.slice(0, 300)}`] : []))
}

/** All that a request says, as it stands and decoded: it may come back to who sent it. */
const sentBy = ({ path, headers, body }: Hostile): string => {
  const plain = `${path} ${body ?? ""} ${Object.values(headers).join(" ")}`
  const basic = /Basic ([\w+/=]+)/.exec(headers.authorization ?? "")?.[1] ?? ""
  const credentials = Buffer.from(basic, "base64").toString()
  return `${plain} ${credentials} ${plain.replace(/%([0-9a-f]{2})/gi, fromHex)}`
}

const fromHex = (_: string, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))

const traces = /\n\s+at |\/src\/|SQLITE|TypeError|RangeError|SyntaxError|bunfs|node_modules/

/** Ours, or an address that is registered, with an answer behind it. */
const isHome = (location: string): boolean =>
  /^\/(?![/\\])/.test(location) ||
  location.startsWith(`${issuer}/`) ||
  [redirectUri, signedOutUri, forget].some(
    (uri) => location === uri || /^[?#]/.test(after(location, uri)),
  ) ||
  /^http:\/\/127\.0\.0\.1(:\d{1,5})?\/cb([?#]|$)/.test(location)

/** Where a page goes on to by itself. */
const afterwards = ({ headers }: Response): string =>
  /;url=(.*)$/.exec(headers.get("refresh") ?? ";url=/")?.[1] ?? ""

const after = (text: string, start: string) =>
  text.startsWith(start) ? text.slice(start.length) : ""

/** Where forms, links and frames of a page lead, if that is neither here nor registered. */
const leadsAway = (page: string): readonly string[] =>
  [...page.matchAll(/<(?:form|a|iframe|link|script|img)\b[^>]*?(?:action|href|src)="([^"]*)"/g)]
    .map(([, address = ""]) => address.replaceAll("&amp;", "&"))
    .filter((address) => !isHome(address) && !address.startsWith("#"))

/** The paths of all endpoints that discovery names. */
const endpoints = async (): Promise<readonly string[]> =>
  Object.entries(await metadata(provider))
    .filter(([name]) => name.endsWith("_endpoint"))
    .map(([, address]) => new URL(String(address)).pathname)

async function round(seed: number): Promise<{ count: number; findings: readonly string[] }> {
  const choose = chooser(seed)
  const now = await material()
  const { secrets } = now
  const findings: string[] = []
  let left = perRound
  let count = 0
  const worker = async () => {
    while (left-- > 0) {
      findings.push(...(await tried(hostile(choose, now), secrets)))
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

test("20,000 hostile requests meet no accident, learn nothing, and lead nowhere", async () => {
  // Tries that are slowed down wait for the clock.
  const all = []
  for (let seed = 1; seed <= rounds; seed++) {
    const passing = { intervalMs: 5, limitMs: 600_000 }
    all.push(await driveClock(round(seed), () => provider.clock.advance(20), passing))
  }
  expect(all.flatMap(({ findings }) => findings).slice(0, 20)).toEqual([])
  expect(log.filter((line) => /^(error|fatal|broke)/.test(line))).toEqual([])
  expect(all.reduce((sum, { count }) => sum + count, 0)).toBe(20_000)

  for (const path of await endpoints()) {
    const good = wentWell.filter((each) => /^(GET|POST) /.test(each) && each.endsWith(` ${path}`))
    expect(good.length, path).toBeGreaterThan(50)
  }
  const { client, browser, token } = bystander
  expect((await userinfo(provider, token)).status).toBe(200)
  expect(answerOf(await browser.go(authorizePath(client.id, { prompt: "none" })))).toHaveProperty(
    "code",
  )
}, 600_000)

/** A body of this type that never ends by itself, and how much of it was asked for. */
function endless(type: string) {
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

/** What an endpoint reads where it says nothing else; larger ones say how much. */
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
])("no stranger is listened to for long at %s", async (path) => {
  for (const type of [form, "application/json", "text/plain"]) {
    const { init, sent } = endless(type)
    const { status } = await app.answer(new Request(issuer + path, init), () => "192.0.2.1")
    expect(status).toBeLessThan(500)
    expect(sent(), type).toBeLessThanOrEqual((largerBytes[path] ?? usualBytes) + 8192)
  }
})

/** What a gRPC client sends comes by another listener; its messages are those of gRPC-Web. */
const sent = worst.filter(({ over }) => over === undefined)
const sizeOf = ({ path, headers = {}, body = "" }: Worst) =>
  path.length + body.length + Object.values(headers).join().length

/** What a text costs beyond its bytes: how often it is looked through, cut, and read as JSON. */
async function costOf(work: () => Promise<unknown>) {
  const split = vi.spyOn(String.prototype, "split")
  const parse = vi.spyOn(JSON, "parse")
  const find = ["get", "getAll", "has"] as const
  const finds = find.map((name) => vi.spyOn(URLSearchParams.prototype, name))
  const [letters, stop] = countLetters()
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

test.each(sent.map((row) => [`${row.decoder}, ${row.what}, by ${row.as}`, row] as const))(
  "the worst of its kind costs as little as any: %s",
  async (_, row) => {
    const { path, type, answer } = row
    const token = row.as === "owner" ? await ownerToken() : undefined
    const body = typeof row.body === "string" ? filledIn(row.body) : row.body
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
    // Each letter is looked at some twenty times, whatever they say, beside what any page costs.
    // Inflated, a message has many more letters than were sent.
    expect(cost.letters).toBeLessThan(25 * sizeOf(row) + 1_250_000)
    // A cookie is looked for by name a few times; nothing else is cut up.
    expect(cost.pieces).toBeLessThan(10_000)
    expect(cost.json).toBeLessThan(4 * sizeOf(row))
    expect(cost.searches).toBeLessThan(100)
  },
)

const filledIn = (body: string) =>
  body
    .replace("$project", provider.projectId)
    .replace("$org", provider.setup.orgId)
    .replace("$user", robot.userId)
    .replace("$fresh", "")

/** Of a service user who owns the instance. */
const ownerToken = () =>
  personalTokenOf(provider, String(JSON.parse(provider.setup.serviceKey).userId))
