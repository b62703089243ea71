// What ends a consent between Allow and the answer that the client gets.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import * as app from "../../src/domain/app/index.ts"
import { disconnectApp } from "../../src/domain/grant/connected.ts"
import { connectedApps } from "../../src/domain/grant/index.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  openProvider,
  type Provider,
  redirectUri,
  type Visited,
} from "./provider.ts"
import { letRegister, managed, sendMetadata } from "./registering.ts"

const described = {
  client_name: "Desk",
  redirect_uris: [redirectUri],
  grant_types: ["authorization_code", "refresh_token"],
  token_endpoint_auth_method: "none",
}

let provider: Provider
let registered: Awaited<ReturnType<typeof sendMetadata>>["answer"]
let browser: ReturnType<typeof browserOf>
beforeEach(async () => {
  provider = await openProvider()
  await letRegister(provider, { consentLifetimeSeconds: 30 * 86_400 })
  registered = (await sendMetadata(provider, described)).answer
  browser = browserOf(provider)
})
afterEach(() => provider.close())

const path = (changes: Record<string, string> = {}) =>
  authorizePath(String(registered.client_id), { scope: "openid email offline_access", ...changes })
const isAsked = (at: Visited) => at.path.startsWith("/ui/login/consent")
const withdraw = (clientId = String(registered.client_id)) => {
  const { appId = "" } = app.findClient(provider.cx(), clientId) ?? {}
  return disconnectApp(provider.cx(), provider.setup.ownerId, appId, "withdrawn by the user")
}
const rename = (client_name: string) => {
  const { path: to, token } = managed(registered)
  const metadata = { ...described, client_id: registered.client_id, client_name }
  return sendMetadata(provider, metadata, { method: "PUT", path: to, token })
}

/** Allows what a page asks for; answers where the browser is sent, which does not go there yet. */
async function allowAlone({ page }: Visited): Promise<string> {
  const hidden = [...page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)]
  const own = Object.fromEntries(hidden.map(([, name = "", value = ""]) => [name, value]))
  const answered = await provider.send("/ui/login/consent", {
    method: "POST",
    headers: { cookie: browser.cookie() },
    body: new URLSearchParams({ ...own, answer: "allow" }),
  })
  const to = answered.headers.get("location") ?? ""
  expect(to).not.toBe("")
  return to
}

/** Acts right before the next step. */
function beforeTheStep(act: () => Promise<unknown>) {
  const { store } = provider
  const transact = store.transact.bind(store)
  return vi.spyOn(store, "transact").mockImplementationOnce(async (cx, decide) => {
    await act()
    return transact(cx, decide)
  })
}

test("no consent is given if the client changes its name right before the step", async () => {
  const asked = await browser.signIn(path())
  const spy = beforeTheStep(() => rename("Bank"))
  const again = await browser.go(await allowAlone(asked))
  expect(spy).toHaveBeenCalled()
  expect([isAsked(again), again.page.includes("Allow Bank access to your account?")]).toEqual([
    true,
    true,
  ])
  const silent = await browser.go(path({ prompt: "none" }), {
    headers: { "sec-fetch-dest": "iframe" },
  })
  expect(answerOf(silent)).toMatchObject({ error: "consent_required" })
})

describe("a consent that is given and not answered yet", () => {
  test("is answered, also after an earlier withdrawal", async () => {
    await browser.go(await allowAlone(await browser.signIn(path())))
    await withdraw()
    const to = await allowAlone(await browser.go(path()))
    expect(answerOf(await browser.go(to))).toHaveProperty("code")
  })

  test("does not outlast its withdrawal", async () => {
    const to = await allowAlone(await browser.signIn(path()))
    await withdraw()
    provider.clock.advance(20 * 60_000)
    const again = await browser.go(to)
    expect(isAsked(again)).toBe(true)
    expect(connectedApps(provider.cx(), provider.setup.ownerId)).toEqual([])
    // What is allowed now is allowed after the withdrawal.
    const { code = "" } = answerOf(await browser.post(again, { answer: "allow" }))
    const fields = codeFields(code, { client_id: String(registered.client_id) })
    expect((await askToken(provider, fields)).status).toBe(200)
  })

  test("is not one in the client of another name", async () => {
    const to = await allowAlone(await browser.signIn(path()))
    await rename("Bank")
    const again = await browser.go(to)
    expect([isAsked(again), again.page.includes("Allow Bank access to your account?")]).toEqual([
      true,
      true,
    ])
    expect(answerOf(await browser.post(again, { answer: "allow" }))).toHaveProperty("code")
  })

  test.each([
    ["withdrawn", () => withdraw()],
    ["in a client of another name", () => rename("Bank")],
  ])("is no consent if it is %s right before the step that answers", async (_, act) => {
    const to = await allowAlone(await browser.signIn(path()))
    const spy = beforeTheStep(act)
    const headers = { cookie: browser.cookie() }
    const answered = await provider.send(to, { headers })
    expect(spy).toHaveBeenCalled()
    expect(answered.headers.get("location") ?? "").not.toContain("code=")
    expect(isAsked(await browser.go(to))).toBe(true)
  })

  test("does not outlast a withdrawal from a client that an administrator registered", async () => {
    const client = await provider.addClient()
    const asking = authorizePath(client.id, { prompt: "consent" })
    const first = answerOf(await browser.post(await browser.signIn(asking), { answer: "allow" }))
    const basic = `${client.id}:${client.secret}`
    expect((await askToken(provider, codeFields(first.code ?? ""), basic)).status).toBe(200)
    const to = await allowAlone(await browser.go(asking))
    await withdraw(client.id)
    expect(isAsked(await browser.go(to))).toBe(true)
  })

  test("does not let a device in after its withdrawal", async () => {
    const device = await provider.addClient({ grantTypes: ["device_code", "authorization_code"] })
    const basic = `${device.id}:${device.secret}`
    const headers = { authorization: `Basic ${Buffer.from(basic).toString("base64")}` }
    const begin = async () => {
      const body = new URLSearchParams({ scope: "openid" })
      const init = { method: "POST", headers, body }
      const begun = await provider.send("/oauth/v2/device_authorization", init)
      const { user_code, device_code } = await begun.json()
      const entered = await browser.go(`/device?user_code=${user_code}`)
      const asking = await browser.post(entered, { userCode: user_code })
      return { device_code, at: isAsked(asking) ? asking : await browser.signIn(asking.path) }
    }
    const fetched = async (device_code: string) => {
      const grant_type = "urn:ietf:params:oauth:grant-type:device_code"
      return (await askToken(provider, { grant_type, device_code }, basic)).answer
    }
    const first = await begin()
    await browser.post(first.at, { answer: "allow" })
    expect(await fetched(first.device_code)).toHaveProperty("access_token")
    const second = await begin()
    const to = await allowAlone(second.at)
    await withdraw(device.id)
    expect(isAsked(await browser.go(to))).toBe(true)
    expect(await fetched(second.device_code)).toMatchObject({ error: "authorization_pending" })
  })
})
