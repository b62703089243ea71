// Events between consent and the client's response that void the consent.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import * as app from "../../src/domain/app/index.ts"
import { disconnectApp } from "../../src/domain/grant/connected.ts"
import { connectedApps } from "../../src/domain/grant/index.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  openProvider,
  type Provider,
  redirectUri,
  responseOf,
  sendTokenRequest,
  type VisitedPage,
} from "./provider.ts"
import { enableRegistration, managementOf, sendMetadata } from "./registration.ts"

const clientMetadata = {
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
  await enableRegistration(provider, { consentLifetimeSeconds: 30 * 86_400 })
  registered = (await sendMetadata(provider, clientMetadata)).answer
  browser = browserOf(provider)
})
afterEach(() => provider.close())

const path = (changes: Record<string, string> = {}) =>
  authorizePath(String(registered.client_id), { scope: "openid email offline_access", ...changes })
const isConsentPage = (at: VisitedPage) => at.path.startsWith("/ui/login/consent")
const withdraw = (clientId = String(registered.client_id)) => {
  const { appId = "" } = app.findClient(provider.cx(), clientId) ?? {}
  return disconnectApp(provider.cx(), provider.setup.ownerId, appId, "revoked by the user")
}
const rename = (client_name: string) => {
  const { path: to, token } = managementOf(registered)
  const metadata = { ...clientMetadata, client_id: registered.client_id, client_name }
  return sendMetadata(provider, metadata, { method: "PUT", path: to, token })
}

/** Consents on a page; returns the redirect target without following it. */
async function allowWithoutRedirect({ page }: VisitedPage): Promise<string> {
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

/** Runs `act` right before the next transaction. */
function beforeNextTransaction(act: () => Promise<unknown>) {
  const { store } = provider
  const transact = store.transact.bind(store)
  return vi.spyOn(store, "transact").mockImplementationOnce(async (cx, decide) => {
    await act()
    return transact(cx, decide)
  })
}

test("no consent is given if the client changes its name right before the step", async () => {
  const asked = await browser.signIn(path())
  const spy = beforeNextTransaction(() => rename("Bank"))
  const again = await browser.go(await allowWithoutRedirect(asked))
  expect(spy).toHaveBeenCalled()
  expect([isConsentPage(again), again.page.includes("Allow Bank access to your account?")]).toEqual(
    [true, true],
  )
  const silent = await browser.go(path({ prompt: "none" }), {
    headers: { "sec-fetch-dest": "iframe" },
  })
  expect(responseOf(silent)).toMatchObject({ error: "consent_required" })
})

describe("a consent without a response yet", () => {
  test("is used, also after an earlier withdrawal", async () => {
    await browser.go(await allowWithoutRedirect(await browser.signIn(path())))
    await withdraw()
    const to = await allowWithoutRedirect(await browser.go(path()))
    expect(responseOf(await browser.go(to))).toHaveProperty("code")
  })

  test("ends with its withdrawal", async () => {
    const to = await allowWithoutRedirect(await browser.signIn(path()))
    await withdraw()
    provider.clock.advance(20 * 60_000)
    const again = await browser.go(to)
    expect(isConsentPage(again)).toBe(true)
    expect(connectedApps(provider.cx(), provider.setup.ownerId)).toEqual([])
    // Consent given now is after the withdrawal.
    const { code = "" } = responseOf(await browser.post(again, { answer: "allow" }))
    const fields = codeFields(code, { client_id: String(registered.client_id) })
    expect((await sendTokenRequest(provider, fields)).status).toBe(200)
  })

  test("is not valid for the client under another name", async () => {
    const to = await allowWithoutRedirect(await browser.signIn(path()))
    await rename("Bank")
    const again = await browser.go(to)
    expect([
      isConsentPage(again),
      again.page.includes("Allow Bank access to your account?"),
    ]).toEqual([true, true])
    expect(responseOf(await browser.post(again, { answer: "allow" }))).toHaveProperty("code")
  })

  test.each([
    ["withdrawn", () => withdraw()],
    ["in a client of another name", () => rename("Bank")],
  ])("is void if it is %s right before the step that responds", async (_, act) => {
    const to = await allowWithoutRedirect(await browser.signIn(path()))
    const spy = beforeNextTransaction(act)
    const headers = { cookie: browser.cookie() }
    const answered = await provider.send(to, { headers })
    expect(spy).toHaveBeenCalled()
    expect(answered.headers.get("location") ?? "").not.toContain("code=")
    expect(isConsentPage(await browser.go(to))).toBe(true)
  })

  test("ends when access of an administrator's client is withdrawn", async () => {
    const client = await provider.addClient()
    const asking = authorizePath(client.id, { prompt: "consent" })
    const first = responseOf(await browser.post(await browser.signIn(asking), { answer: "allow" }))
    const basic = `${client.id}:${client.secret}`
    expect((await sendTokenRequest(provider, codeFields(first.code ?? ""), basic)).status).toBe(200)
    const to = await allowWithoutRedirect(await browser.go(asking))
    await withdraw(client.id)
    expect(isConsentPage(await browser.go(to))).toBe(true)
  })

  test("authorizes no device after its withdrawal", async () => {
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
      return { device_code, at: isConsentPage(asking) ? asking : await browser.signIn(asking.path) }
    }
    const fetched = async (device_code: string) => {
      const grant_type = "urn:ietf:params:oauth:grant-type:device_code"
      return (await sendTokenRequest(provider, { grant_type, device_code }, basic)).answer
    }
    const first = await begin()
    await browser.post(first.at, { answer: "allow" })
    expect(await fetched(first.device_code)).toHaveProperty("access_token")
    const second = await begin()
    const to = await allowWithoutRedirect(second.at)
    await withdraw(device.id)
    expect(isConsentPage(await browser.go(to))).toBe(true)
    expect(await fetched(second.device_code)).toMatchObject({ error: "authorization_pending" })
  })
})
