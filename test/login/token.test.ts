// Signing in with a service that signs JWTs: the token comes in a header, beside the way back.
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose"
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { addIdp, linkIdp } from "../../src/domain/idp/commands.ts"
import type { Options } from "../../src/domain/idp/index.ts"
import type { Settings } from "../../src/domain/idp/model.ts"
import type { Outside } from "../../src/kernel/port/outbound.ts"
import {
  answerOf,
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  issuer as own,
  type Provider,
} from "../oauth/provider.ts"
import { nowhere } from "../support/outside.ts"

const issuer = "https://tokens.example.com"
const keysUrl = `${issuer}/keys`
const settings: Settings = {
  kind: "jwt",
  issuer,
  jwtEndpoint: `${issuer}/jwt?x=1`,
  keysEndpoint: keysUrl,
  headerName: "x-user-token",
}

type Keys = Awaited<ReturnType<typeof generateKeyPair>>
let first: Keys
let second: Keys
beforeAll(async () => {
  first = await generateKeyPair("ES256", { extractable: true })
  second = await generateKeyPair("ES256", { extractable: true })
})

let provider: Provider
let client: NewClient
let asked: string[]
let published: readonly (readonly [kid: string, keys: Keys])[]
let outside: Outside
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  asked = []
  published = [["k1", first]]
  outside = {
    ...nowhere,
    send: async ({ url }) => {
      asked.push(url)
      const keys = await Promise.all(
        published.map(async ([kid, { publicKey }]) => ({ ...(await exportJWK(publicKey)), kid })),
      )
      return { status: 200, body: JSON.stringify({ keys }) }
    },
  }
  const options: Options = {
    isLinkingAllowed: true,
    isCreationAllowed: true,
    isAutoCreation: true,
    isAutoUpdate: false,
    autoLinking: "off",
  }
  const { id } = await addIdp(provider.cx(), undefined, { name: "Tokens", settings, options })
  await linkIdp(provider.cx(), undefined, id)
})
afterEach(() => provider.close())

const newBrowser = () => browserOf({ send: (path, init) => provider.send(path, init, { outside }) })
type Browser = ReturnType<typeof newBrowser>

/** The address at the service that the browser is sent to. */
async function away(browser: Browser): Promise<URL> {
  const first = await browser.go(authorizePath(client.id))
  const href = /href="([^"]*externalidp[^"]*)"/.exec(first.page)?.[1] ?? ""
  return new URL((await browser.go(href.replaceAll("&amp;", "&"))).path)
}

const ada = {
  sub: "ada-1",
  preferred_username: "ada",
  given_name: "Ada",
  family_name: "Lovelace",
  email: "ada@example.com",
  email_verified: true,
}

type Signed = { readonly claims?: JWTPayload; readonly kid?: string; readonly keys?: Keys }

function tokenOf({ claims, kid = "k1", keys = first }: Signed = {}): Promise<string> {
  const now = Math.floor(provider.clock.now() / 1000)
  const all = { iss: issuer, iat: now, exp: now + 300, ...ada, ...claims }
  return new SignJWT(all).setProtectedHeader({ alg: "ES256", kid }).sign(keys.privateKey)
}

/** The way back, as whatever stands before the service makes it. */
const back = ({ searchParams }: URL, browser: Browser, token: string) => {
  const parameters = new URLSearchParams({
    authRequestID: searchParams.get("authRequestID") ?? "",
    userAgentID: searchParams.get("userAgentID") ?? "",
  })
  return browser.go(`/idps/jwt?${parameters}`, { headers: { "x-user-token": token } })
}

async function signIn(token: string) {
  const browser = newBrowser()
  return back(await away(browser), browser, token)
}

describe("a token in the header", () => {
  test("signs in whom its issuer names", async () => {
    const browser = newBrowser()
    const there = await away(browser)
    expect(there.href).toMatch(/^https:\/\/tokens\.example\.com\/jwt\?x=1&authRequestID=\d+&/)
    expect(answerOf(await back(there, browser, await tokenOf()))).toHaveProperty("code")
    expect(asked).toEqual([keysUrl])
  })

  test("may be called a bearer's, and name us", async () => {
    const token = await tokenOf({ claims: { aud: ["other", own] } })
    expect(answerOf(await signIn(`Bearer ${token}`))).toHaveProperty("code")
  })

  test("counts when its key is a new one", async () => {
    await signIn(await tokenOf())
    published = [["k2", second]]
    provider.clock.advance(60_000)
    const token = await tokenOf({ kid: "k2", keys: second })
    expect(answerOf(await signIn(token))).toHaveProperty("code")
    expect(asked).toHaveLength(2)
  })
})

describe("a token is refused", () => {
  const made = (signed: Signed) => () => tokenOf(signed)
  test.each<[string, () => Promise<string> | string]>([
    ["that is none", () => "nonsense"],
    ["that is missing", () => ""],
    ["of another issuer", made({ claims: { iss: "https://evil.example.com" } })],
    ["for somebody else", made({ claims: { aud: "other" } })],
    ["that is over", made({ claims: { exp: 1_700_000_000 } })],
    ["that is never over", made({ claims: { exp: undefined } as never })],
    ["that is not valid yet", made({ claims: { nbf: 4_000_000_000 } })],
    ["that names nobody", made({ claims: { sub: undefined } as never })],
    [
      "signed with a key that is not published",
      async () => tokenOf({ keys: await generateKeyPair("ES256") }),
    ],
    ["signed with a key that nobody knows", made({ kid: "k9" })],
    [
      "without a signature",
      async () => {
        const none = Buffer.from('{"alg":"none"}').toString("base64url")
        return `${none}.${(await tokenOf()).split(".")[1]}.`
      },
    ],
    [
      "signed with the public key as if it were a secret",
      async () => {
        const secret = Buffer.from(JSON.stringify(await exportJWK(first.publicKey)))
        const now = Math.floor(provider.clock.now() / 1000)
        const claims = { iss: issuer, exp: now + 300, ...ada }
        return new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "k1" }).sign(secret)
      },
    ],
    [
      "that brings its own key",
      async () => {
        const jwk = await exportJWK(second.publicKey)
        const now = Math.floor(provider.clock.now() / 1000)
        const header = { alg: "ES256", jwk, jku: "https://evil.example.com/keys" }
        const claims = { iss: issuer, exp: now + 300, ...ada }
        return new SignJWT(claims).setProtectedHeader(header).sign(second.privateKey)
      },
    ],
  ])("%s", async (_, make) => {
    const end = await signIn(await make())
    expect(end.response.status).toBe(400)
    expect(end.page).toContain("Invalid response from the other service")
    expect(asked.every((url) => url === keysUrl)).toBe(true)
  })

  test("that another browser's sign-in is to be ended with", async () => {
    const there = await away(newBrowser())
    const victim = newBrowser()
    await victim.go(authorizePath(client.id))
    const end = await back(there, victim, await tokenOf())
    expect(end.response.status).toBe(403)
  })

  test("the second time in the same sign-in", async () => {
    const browser = newBrowser()
    const there = await away(browser)
    await back(there, browser, await tokenOf())
    expect((await back(there, browser, await tokenOf())).page).toContain("expired")
  })

  test("where another answer of a provider is waited for", async () => {
    const browser = newBrowser()
    const there = await away(browser)
    const [id, secret] = ["authRequestID", "userAgentID"].map((name) =>
      there.searchParams.get(name),
    )
    const end = await browser.go(`/idps/callback?state=${id}.${secret}&code=x`)
    expect(end.page).toContain("expired")
  })

  test("and keys that nobody knows are asked for again once, not with each of them", async () => {
    for (let at = 0; at < 5; at++) await signIn(await tokenOf({ kid: `k${at + 5}` }))
    expect(asked).toHaveLength(2)
  })
})
