// Signing in with a service that issues JWTs: the token is in a header of the callback request.
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose"
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { createIdp, linkIdp } from "../../src/domain/idp/commands.ts"
import type { Options } from "../../src/domain/idp/index.ts"
import type { Settings } from "../../src/domain/idp/model.ts"
import type { Outside } from "../../src/kernel/port/outbound.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  issuer as own,
  type Provider,
  responseOf,
} from "../oauth/provider.ts"
import { unreachableOutside } from "../support/outside.ts"

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
let requestedUrls: string[]
let publishedKeys: readonly (readonly [kid: string, keys: Keys])[]
let outside: Outside
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  requestedUrls = []
  publishedKeys = [["k1", first]]
  outside = {
    ...unreachableOutside,
    send: async ({ url }) => {
      requestedUrls.push(url)
      const keys = await Promise.all(
        publishedKeys.map(async ([kid, { publicKey }]) => ({
          ...(await exportJWK(publicKey)),
          kid,
        })),
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
  const { id } = await createIdp(provider.cx(), undefined, { name: "Tokens", settings, options })
  await linkIdp(provider.cx(), undefined, id)
})
afterEach(() => provider.close())

const newBrowser = () => browserOf({ send: (path, init) => provider.send(path, init, { outside }) })
type Browser = ReturnType<typeof newBrowser>

/** The URL of the service that the browser is redirected to. */
async function goToService(browser: Browser): Promise<URL> {
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

type SignOptions = { readonly claims?: JWTPayload; readonly kid?: string; readonly keys?: Keys }

function signToken({ claims, kid = "k1", keys = first }: SignOptions = {}): Promise<string> {
  const now = Math.floor(provider.clock.now() / 1000)
  const all = { iss: issuer, iat: now, exp: now + 300, ...ada, ...claims }
  return new SignJWT(all).setProtectedHeader({ alg: "ES256", kid }).sign(keys.privateKey)
}

/** The callback request, as the proxy in front of the service sends it. */
const returnWith = ({ searchParams }: URL, browser: Browser, token: string) => {
  const parameters = new URLSearchParams({
    authRequestID: searchParams.get("authRequestID") ?? "",
    userAgentID: searchParams.get("userAgentID") ?? "",
  })
  return browser.go(`/idps/jwt?${parameters}`, { headers: { "x-user-token": token } })
}

async function signIn(token: string) {
  const browser = newBrowser()
  return returnWith(await goToService(browser), browser, token)
}

describe("a token in the header", () => {
  test("signs in the user that its issuer names", async () => {
    const browser = newBrowser()
    const there = await goToService(browser)
    expect(there.href).toMatch(/^https:\/\/tokens\.example\.com\/jwt\?x=1&authRequestID=\d+&/)
    expect(responseOf(await returnWith(there, browser, await signToken()))).toHaveProperty("code")
    expect(requestedUrls).toEqual([keysUrl])
  })

  test("can have the Bearer scheme, and name us as audience", async () => {
    const token = await signToken({ claims: { aud: ["other", own] } })
    expect(responseOf(await signIn(`Bearer ${token}`))).toHaveProperty("code")
  })

  test("is accepted with a new key", async () => {
    await signIn(await signToken())
    publishedKeys = [["k2", second]]
    provider.clock.advance(60_000)
    const token = await signToken({ kid: "k2", keys: second })
    expect(responseOf(await signIn(token))).toHaveProperty("code")
    expect(requestedUrls).toHaveLength(2)
  })
})

describe("a token is rejected", () => {
  const made = (signed: SignOptions) => () => signToken(signed)
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
      async () => signToken({ keys: await generateKeyPair("ES256") }),
    ],
    ["signed with a key that nobody knows", made({ kid: "k9" })],
    [
      "without a signature",
      async () => {
        const none = Buffer.from('{"alg":"none"}').toString("base64url")
        return `${none}.${(await signToken()).split(".")[1]}.`
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
    expect(requestedUrls.every((url) => url === keysUrl)).toBe(true)
  })

  test("for another browser's sign-in", async () => {
    const there = await goToService(newBrowser())
    const victim = newBrowser()
    await victim.go(authorizePath(client.id))
    const end = await returnWith(there, victim, await signToken())
    expect(end.response.status).toBe(403)
  })

  test("the second time in the same sign-in", async () => {
    const browser = newBrowser()
    const there = await goToService(browser)
    await returnWith(there, browser, await signToken())
    expect((await returnWith(there, browser, await signToken())).page).toContain("expired")
  })

  test("for a sign-in with another provider", async () => {
    const browser = newBrowser()
    const there = await goToService(browser)
    const [id, secret] = ["authRequestID", "userAgentID"].map((name) =>
      there.searchParams.get(name),
    )
    const end = await browser.go(`/idps/callback?state=${id}.${secret}&code=x`)
    expect(end.page).toContain("expired")
  })

  test("and unknown keys are requested once, not for each token", async () => {
    for (let at = 0; at < 5; at++) await signIn(await signToken({ kid: `k${at + 5}` }))
    expect(requestedUrls).toHaveLength(2)
  })
})
