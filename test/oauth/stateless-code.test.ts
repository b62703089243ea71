// A browser with a session gets its response immediately: the code contains its request.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { grant } from "../../src/domain/grant/index.ts"
import { endSession, sessionIdsOf } from "../../src/domain/session/index.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
  verifier,
} from "./provider.ts"

let provider: Provider
let app: NewClient
let browser: ReturnType<typeof browserOf>
beforeAll(async () => {
  provider = await openProvider()
  app = await provider.addClient()
  browser = browserOf(provider)
  await browser.signIn(authorizePath(app.id))
})
afterAll(() => provider.close())

const basicOf = ({ id, secret }: NewClient) => `${id}:${secret}`
const codeFor = async (changes: Readonly<Record<string, string>> = {}) =>
  responseOf(await browser.go(authorizePath(app.id, changes))).code ?? ""
const redeemCode = (code: string, changes: Readonly<Record<string, string>> = {}) =>
  sendTokenRequest(provider, { ...codeFields(code), ...changes }, basicOf(app))
const userinfo = async (token: unknown) =>
  (await provider.send("/oidc/v1/userinfo", { headers: { authorization: `Bearer ${token}` } }))
    .status

describe("a code for a browser with a session", () => {
  test("writes nothing before it is used, and is short enough for any URL", async () => {
    const before = provider.store.log.durable()
    const code = await codeFor({ claims: '{"id_token":{"email":null,"auth_time":null}}' })
    expect(code.length).toBeLessThan(1200)
    expect(provider.store.log.durable()).toBe(before)
    const { status, answer } = await redeemCode(code)
    expect(status).toBe(200)
    expect(answer).toMatchObject({ scope: "openid profile email" })
  })

  test("works once; a second use revokes what the first one issued", async () => {
    const code = await codeFor()
    const { access_token: token } = (await redeemCode(code)).answer
    expect(await userinfo(token)).toBe(200)
    provider.clock.advance(1001)
    expect((await redeemCode(code)).answer.error).toBe("invalid_grant")
    expect(await userinfo(token)).toBe(401)
  })

  test("that is used concurrently issues one token", async () => {
    const code = await codeFor()
    const answers = await Promise.all(Array.from({ length: 20 }, () => redeemCode(code)))
    const tokens = answers.flatMap(({ answer }) => answer.access_token ?? [])
    expect(await Promise.all(tokens.map(userinfo))).toEqual([200])
    const added = (await provider.store.log.read(0, 10_000)).filter(
      ({ type }) => type === "oidc_session.added",
    )
    const ended = added.filter(
      ({ id }) => provider.store.state(provider.cx(), grant, id).status === "ended",
    )
    // The event of the code that was used again later.
    expect(ended).toHaveLength(1)
  })

  test("is rejected for other clients or redirect URIs, and without its verifier", async () => {
    const other = await provider.addClient()
    const code = await codeFor()
    const asOther = await sendTokenRequest(provider, codeFields(code), basicOf(other))
    expect(asOther.answer.error).toBe("invalid_grant")
    for (const wrong of [
      { redirect_uri: "https://app.example.com/other" },
      { code_verifier: verifier.replace("v", "w") },
      { code: `${code.slice(0, -1)}${code.endsWith("A") ? "B" : "A"}` },
    ]) {
      expect((await redeemCode(code, wrong)).answer.error, JSON.stringify(wrong)).toBe(
        "invalid_grant",
      )
    }
    expect((await redeemCode(code)).status).toBe(200)
  })

  test("lasts a minute", async () => {
    const [early, late] = [await codeFor(), await codeFor()]
    provider.clock.advance(59_999)
    expect((await redeemCode(early)).status).toBe(200)
    provider.clock.advance(1)
    expect((await redeemCode(late)).answer.error).toBe("invalid_grant")
  })

  test("is stored like any other if it would become too long", async () => {
    const before = provider.store.log.durable()
    const nonce = "n".repeat(1500)
    const code = await codeFor({ nonce })
    expect(code.length).toBeLessThan(200)
    expect(provider.store.log.durable()).toBeGreaterThan(before)
    const { answer } = await redeemCode(code)
    const [, claims = ""] = String(answer.id_token).split(".")
    expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toMatchObject({ nonce })
  })

  test("ends with the session that issued it", async () => {
    const code = await codeFor()
    const cx = provider.cx()
    for (const id of sessionIdsOf(cx, provider.setup.ownerId)) {
      await provider.store.transact(cx, (tx) => endSession(tx, id))
    }
    expect((await redeemCode(code)).answer).toMatchObject({
      error: "invalid_grant",
      error_description: expect.stringContaining("signed out"),
    })
  })
})
