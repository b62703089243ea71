// Signing in with a certified third-party provider, over sockets, through the outbound guard.
import { decodeJwt } from "jose"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest"
import { createIdp, linkIdp } from "../../src/domain/idp/commands.ts"
import type { Options } from "../../src/domain/idp/index.ts"
import type { Settings } from "../../src/domain/idp/model.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { linksOf } from "../../src/domain/user-model/links.ts"
import { user } from "../../src/domain/user-model/model.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import { parseAllowedOutbound } from "../../src/kernel/setting/allow-list.ts"
import { createOutbound } from "../../src/notify/outbound.ts"
import { systemNetwork } from "../../src/runtime/network.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  issuer as own,
  type Provider,
  responseOf,
  sendTokenRequest,
  type VisitedPage,
} from "../oauth/provider.ts"
import { type OidcPeer, startOidcPeer } from "../support/oidc-peer.ts"
import { unreachableOutside } from "../support/outside.ts"

const options: Options = {
  isLinkingAllowed: true,
  isCreationAllowed: true,
  isAutoCreation: true,
  isAutoUpdate: true,
  autoLinking: "email",
}
const allow = ["127.0.0.1", "::1"].map((each) => parseAllowedOutbound(each) ?? { host: each })
const send = createOutbound({ ...systemNetwork, clock: systemClock, allow })

let peer: OidcPeer
beforeAll(async () => {
  peer = await startOidcPeer([`${own}/idps/callback`])
})
afterAll(() => peer?.stop())
afterEach(() => {
  vi.useRealTimers()
})

let userCount = 0
let name: string
beforeEach(async () => {
  name = `ada${++userCount}`
  const person = {
    sub: `sub-${name}`,
    preferred_username: name,
    given_name: "Ada",
    family_name: "Lovelace",
    email: `${name}@example.com`,
    email_verified: true,
  }
  await peer.set({ person })
})

const kinds: readonly (readonly [string, () => Settings])[] = [
  [
    "OpenID Connect",
    () => ({
      kind: "oidc",
      issuer: peer.issuer,
      clientId: "client",
      scopes: [],
      isIdTokenMapping: false,
      usePkce: true,
    }),
  ],
  [
    "OAuth",
    () => ({
      kind: "oauth",
      clientId: "client-post",
      scopes: ["openid", "profile", "email"],
      authorizationEndpoint: `${peer.issuer}/auth`,
      tokenEndpoint: `${peer.issuer}/token`,
      userEndpoint: `${peer.issuer}/me`,
      idAttribute: "sub",
      usePkce: true,
    }),
  ],
]

/** A new instance with the peer as its only provider. */
async function openInstance(
  settings: Settings,
): Promise<{ provider: Provider; client: NewClient }> {
  const provider = await openProvider()
  const client = await provider.addClient()
  const wish = { name: "Peer", settings, options, secret: "s3cret" }
  const { id } = await createIdp(provider.cx(), undefined, wish)
  await linkIdp(provider.cx(), undefined, id)
  return { provider, client }
}

type PeerInstance = Awaited<ReturnType<typeof openInstance>>

const newBrowser = ({ provider }: PeerInstance) =>
  browserOf({
    send: (path, init) => provider.send(path, init, { outside: { ...unreachableOutside, send } }),
  })
type Browser = ReturnType<typeof newBrowser>

/** Selects the provider; returns the page that the browser reaches. */
async function chooseProvider(
  { client }: PeerInstance,
  browser: Browser,
  asking: Readonly<Record<string, string>> = {},
): Promise<VisitedPage> {
  const first = await browser.go(authorizePath(client.id, asking))
  const href = /href="([^"]*externalidp[^"]*)"/.exec(first.page)?.[1] ?? ""
  return browser.go(href.replaceAll("&amp;", "&"))
}

async function signIn(at: PeerInstance, browser = newBrowser(at)): Promise<VisitedPage> {
  const { path } = await chooseProvider(at, browser)
  const back = new URL(await peer.signIn(path))
  return browser.go(back.pathname + back.search)
}

const stateOf = ({ provider }: PeerInstance) =>
  provider.cx().store.state(provider.cx(), user, findByLoginName(provider.cx(), name) ?? "")

const expectProviderError = (end: VisitedPage) =>
  expect([
    end.response.status,
    end.page.includes("Invalid response from the other service"),
  ]).toEqual([400, true])

describe.each(kinds)("a certified provider, by %s,", (_, settings) => {
  let at: PeerInstance
  beforeAll(async () => {
    at = await openInstance(settings())
  })
  afterAll(() => at?.provider.close())

  test("signs users in, the second time to the same account", async () => {
    expect(responseOf(await signIn(at))).toHaveProperty("code")
    expect(stateOf(at)).toMatchObject({ email: { address: `${name}@example.com` } })
    expect(responseOf(await signIn(at))).toHaveProperty("code")
    expect(linksOf(stateOf(at))).toMatchObject([{ externalId: `sub-${name}` }])
  })

  test("reports that the user has canceled", async () => {
    await peer.set({ lie: { cancel: true } })
    const end = await signIn(at)
    expect([end.response.status, end.page.includes("canceled")]).toEqual([400, true])
  })

  test.each(["/token", "/me"])(
    "that sends fifty megabytes at %s leads to an error page",
    async (path) => {
      await peer.set({ lie: { [path]: "huge" } })
      const end = await signIn(at)
      expect([end.response.status, end.page.includes("reached")]).toEqual([503, true])
    },
  )

  test.each(["https://evil.example.com", "/elsewhere", "/au", "?x=1"])(
    "is rejected if the response comes from the issuer %s",
    async (other) => {
      const browser = newBrowser(at)
      const back = new URL(await peer.signIn((await chooseProvider(at, browser)).path))
      const isOwn = !other.startsWith("https:")
      back.searchParams.set("iss", isOwn ? peer.issuer + other : other)
      expectProviderError(await browser.go(back.pathname + back.search))
    },
  )

  test("gets a code of another browser's sign-in, and rejects it", async () => {
    const [mine, theirs] = [newBrowser(at), newBrowser(at)]
    const stolen = new URL(await peer.signIn((await chooseProvider(at, theirs)).path))
    const back = new URL(await peer.signIn((await chooseProvider(at, mine)).path))
    back.searchParams.set("code", stolen.searchParams.get("code") ?? "")
    expectProviderError(await mine.go(back.pathname + back.search))
  })
})

describe("an OpenID Connect provider that returns false data", () => {
  let at: PeerInstance
  beforeAll(async () => {
    at = await openInstance(kinds[0]?.[1]() ?? { kind: "google", clientId: "", scopes: [] })
  })
  afterAll(() => at?.provider.close())

  test.each([
    [
      "the token is about another access token",
      { "/token": { at_hash: "AAAAAAAAAAAAAAAAAAAAAA" } },
    ],
    ["the token is of another issuer", { "/token": { iss: "https://evil.example.com" } }],
    ["the token is for another client", { "/token": { aud: "other" } }],
    ["the token is of another sign-in", { "/token": { nonce: "other" } }],
    ["the profile is somebody else's", { "/me": { sub: "eve" } }],
  ])("is rejected if %s", async (_, lie) => {
    await peer.set({ lie })
    expectProviderError(await signIn(at))
    expect(stateOf(at).status).toBe("absent")
  })

  test("is rejected if the response lacks the iss that its metadata announces", async () => {
    const browser = newBrowser(at)
    const back = new URL(await peer.signIn((await chooseProvider(at, browser)).path))
    back.searchParams.delete("iss")
    expectProviderError(await browser.go(back.pathname + back.search))
  })

  test("can rotate its keys at any time", async () => {
    await signIn(at)
    await peer.set({ rotate: true })
    expect(responseOf(await signIn(at))).toHaveProperty("code")
  })
})

describe("a discovery document", () => {
  const discovery = "/.well-known/openid-configuration"
  const settings = () => kinds[0]?.[1]() ?? { kind: "google" as const, clientId: "", scopes: [] }

  test.each([
    ["of another issuer", { issuer: "https://evil.example.com" }, 400],
    ["whose token endpoint is not encrypted", { token_endpoint: "http://192.0.2.1/token" }, 400],
    ["whose keys are in a private network", { jwks_uri: "https://10.0.0.1/keys" }, 503],
    ["that is fifty megabytes", "huge", 503],
  ] as const)("%s leads to an error page", async (_, lie, status) => {
    const at = await openInstance(settings())
    try {
      await peer.set({ lie: { [discovery]: lie } })
      const browser = newBrowser(at)
      const there = await chooseProvider(at, browser)
      const isAway = there.path.startsWith(peer.issuer)
      const back = isAway ? new URL(await peer.signIn(there.path)) : undefined
      const end = back ? await browser.go(back.pathname + back.search) : there
      expect(end.response.status).toBe(status)
      expect(stateOf(at).status).toBe("absent")
    } finally {
      await at.provider.close()
    }
  })

  test("that doesn't arrive times out after ten seconds", async () => {
    const at = await openInstance(settings())
    try {
      await peer.set({ lie: { [discovery]: "silent" } })
      const began = Date.now()
      const there = await chooseProvider(at, newBrowser(at))
      expect([there.response.status, there.page.includes("reached")]).toEqual([503, true])
      expect(Date.now() - began).toBeLessThan(19_000)
    } finally {
      await at.provider.close()
    }
  })
})

test("an unavailable provider leads to an error page, and other sign-ins work", async () => {
  const gone = await startOidcPeer([`${own}/idps/callback`])
  const at = await openInstance({
    kind: "oidc",
    issuer: gone.issuer,
    clientId: "client",
    scopes: [],
    isIdTokenMapping: false,
    usePkce: true,
  })
  await gone.stop()
  const browser = newBrowser(at)
  const there = await chooseProvider(at, browser)
  expect([there.response.status, there.page.includes("reached")]).toEqual([503, true])
  expect(responseOf(await browser.signIn(authorizePath(at.client.id)))).toHaveProperty("code")
  await at.provider.close()
})

describe("a fresh sign-in that an application requires, by a certified provider,", () => {
  const [, settings] = kinds[0] ?? []
  let at: PeerInstance
  beforeAll(async () => {
    if (!settings) throw new Error("no kind speaks OpenID Connect")
    at = await openInstance(settings())
  })
  afterAll(() => at?.provider.close())

  const threeHours = 3 * 3600

  /** Signs in at the provider three hours ago, then through it; returns the ID token's claims. */
  async function signInLater(asking: Readonly<Record<string, string>>) {
    const { provider, client } = at
    const cookies = new Map<string, string>()
    const before = await chooseProvider(at, newBrowser(at))
    await peer.signIn(before.path, cookies)
    await peer.set({ ageSeconds: threeHours })
    const browser = newBrowser(at)
    const follow = () => provider.clock.advance(Date.now() - provider.clock.now())
    follow()
    const { path } = await chooseProvider(at, browser, asking)
    const back = new URL(await peer.signIn(path, cookies))
    follow()
    const end = await browser.go(back.pathname + back.search)
    const { code = "" } = responseOf(end)
    const { answer } = await sendTokenRequest(
      provider,
      codeFields(code),
      `${client.id}:${client.secret}`,
    )
    return { path, authTime: Number(decodeJwt(String(answer.id_token)).auth_time) }
  }

  test("happens there for prompt=login and for an exceeded max_age", async () => {
    const seconds = Math.floor(Date.now() / 1000)
    for (const asking of [{ prompt: "login" }, { max_age: "3600" }]) {
      const { authTime, path } = await signInLater(asking)
      const { searchParams } = new URL(path)
      expect(Object.fromEntries(searchParams)).toMatchObject(asking)
      expect(Math.abs(Math.floor(Date.now() / 1000) - authTime)).toBeLessThan(60)
    }
    const kept = await signInLater({ max_age: String(4 * 3600) })
    expect(seconds - kept.authTime).toBeGreaterThan(threeHours - 60)
  })
})
