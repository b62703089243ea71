import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { deactivateApplication } from "../../src/domain/app/index.ts"
import { parseUserCode } from "../../src/oauth/device/user-code.ts"
import { createProof, newProofKey, requestBoundToken } from "./proof.ts"
import {
  browserOf,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  password,
  sendTokenRequest,
} from "./provider.ts"

const grant_type = "urn:ietf:params:oauth:grant-type:device_code"

let provider: Provider
let tv: NewClient
beforeAll(async () => {
  provider = await openProvider()
  tv = await provider.addClient({
    grantTypes: ["device_code", "refresh_token"],
    appType: "native",
    authMethod: "none",
  })
})
afterAll(() => provider.close())

type DeviceAuthorization = Readonly<Record<string, string | number>>

async function authorizeDevice(fields: Readonly<Record<string, string>> = {}) {
  const body = new URLSearchParams({ client_id: tv.id, scope: "openid profile", ...fields })
  const response = await provider.send("/oauth/v2/device_authorization", { method: "POST", body })
  const answer: DeviceAuthorization = await response.json()
  return { status: response.status, answer }
}

const poll = (begun: DeviceAuthorization, fields: Readonly<Record<string, string>> = {}) =>
  sendTokenRequest(provider, {
    grant_type,
    client_id: tv.id,
    device_code: String(begun.device_code),
    ...fields,
  })

let browser: ReturnType<typeof browserOf>
beforeEach(() => {
  browser = browserOf(provider)
})

/** Enters the code and signs in; ends on the consent page. */
async function enterCode(begun: DeviceAuthorization, userCode = String(begun.user_code)) {
  const named = await browser.post(await browser.go("/device"), { userCode })
  const asked = await browser.post(named, { loginName: "olga" })
  return browser.post(asked, { loginName: "olga", password })
}

async function allow(begun: DeviceAuthorization) {
  return browser.post(await enterCode(begun), { answer: "allow" })
}

describe("RFC 8628 §3.2: the device authorization response", () => {
  test("has every member, and codes that fit", async () => {
    const { status, answer } = await authorizeDevice()
    expect(status).toBe(200)
    expect(answer).toEqual({
      device_code: expect.stringMatching(/^[\w.-]{40,}$/),
      user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
      verification_uri: `${issuer}/device`,
      verification_uri_complete: `${issuer}/device?user_code=${answer.user_code}`,
      expires_in: 300,
      interval: 5,
    })
  })

  test("requires the grant type (unauthorized_client)", async () => {
    const web = await provider.addClient({ authMethod: "none", appType: "native" })
    const { status, answer } = await authorizeDevice({ client_id: web.id })
    expect([status, answer.error]).toEqual([400, "unauthorized_client"])
    expect((await authorizeDevice({ client_id: "nobody" })).answer.error).toBe("invalid_client")
  })

  test("requires the secret of a confidential client (§3.1)", async () => {
    const settop = await provider.addClient({ grantTypes: ["device_code"] })
    expect((await authorizeDevice({ client_id: settop.id })).answer.error).toBe("invalid_client")
    const { status } = await authorizeDevice({ client_id: settop.id, client_secret: settop.secret })
    expect(status).toBe(200)
  })

  test("is listed in discovery (§4), and accepts POST only", async () => {
    const document = await provider.send("/.well-known/openid-configuration")
    const { device_authorization_endpoint: endpoint } = await document.json()
    expect(endpoint).toBe(`${issuer}/oauth/v2/device_authorization`)
    expect((await provider.send("/oauth/v2/device_authorization")).status).toBe(405)
  })
})

describe("RFC 8628 §3.3: a user on the page", () => {
  test("enters the code, signs in, consents, and the device gets its tokens (§3.5)", async () => {
    const { answer: begun } = await authorizeDevice({
      scope: "openid profile dance offline_access",
    })
    const consent = await enterCode(begun)
    expect(consent.page).toContain(String(begun.user_code))
    const done = await browser.post(consent, { answer: "allow" })
    expect(done.page).toContain("Your device is connected")
    expect(done.page).not.toContain("code=")
    const { status, answer } = await poll(begun)
    expect(status).toBe(200)
    expect(answer).toMatchObject({
      access_token: expect.any(String),
      id_token: expect.any(String),
      refresh_token: expect.any(String),
      scope: "openid profile offline_access",
    })
    const headers = { authorization: `Bearer ${answer.access_token}` }
    const told = await provider.send("/oidc/v1/userinfo", { headers })
    expect(await told.json()).toMatchObject({ sub: provider.setup.ownerId })
    const refreshed = await sendTokenRequest(provider, {
      grant_type: "refresh_token",
      client_id: tv.id,
      refresh_token: String(answer.refresh_token),
      // RFC 6749 §6: as originally requested, with the unknown scope.
      scope: "openid profile dance offline_access",
    })
    expect(refreshed.status).toBe(200)
  })

  test("can enter it in lower case, with spaces, without the dash", async () => {
    expect(parseUserCode(" bcdf ghjk ")).toBe("BCDFGHJK")
    const { answer: begun } = await authorizeDevice()
    const typed = String(begun.user_code).toLowerCase().replace("-", " ")
    await browser.post(await enterCode(begun, typed), { answer: "allow" })
    expect((await poll(begun)).status).toBe(200)
  })

  test("must consent also in an existing session: nothing is automatic (§5.4)", async () => {
    const first = (await authorizeDevice()).answer
    await allow(first)
    const { answer: begun } = await authorizeDevice()
    const asked = await browser.post(await browser.go(`/device?user_code=${begun.user_code}`), {
      userCode: String(begun.user_code),
    })
    expect(asked.page).toContain(String(begun.user_code))
    expect((await poll(begun)).answer.error).toBe("authorization_pending")
    await browser.post(asked, { answer: "allow" })
    expect((await poll(begun)).status).toBe(200)
  })

  test("of another organization than the device requires can't consent", async () => {
    const { answer: begun } = await authorizeDevice({ scope: "openid urn:core:iam:org:id:1" })
    const told = await enterCode(begun)
    expect(told.response.status).toBe(403)
    expect(told.page).not.toContain('value="allow"')
    await browser.post(told, { answer: "allow" })
    expect((await poll(begun)).answer.error).toBe("authorization_pending")
  })

  test("can deny: the device gets access_denied", async () => {
    const { answer: begun } = await authorizeDevice()
    const done = await browser.post(await enterCode(begun), { answer: "cancel" })
    expect(done.page).toContain("Your device is not connected")
    expect((await poll(begun)).answer.error).toBe("access_denied")
    expect((await poll(begun)).answer.error).toBe("access_denied")
  })

  test("sees a code from the URL before anything happens (§3.3.1)", async () => {
    const { answer: begun } = await authorizeDevice()
    const page = await browser.go(`/device?user_code=${begun.user_code}`)
    expect(page.page).toContain(`value="${begun.user_code}"`)
    expect(page.page).toContain("exactly this code")
    expect((await poll(begun)).answer.error).toBe("authorization_pending")
  })

  test.each(["", "BCDF-GHJK", "<script>", "AAAA-AAAA", "BCDF-GHJ", "ß".repeat(30)])(
    "sees that no device waits with %j",
    async (userCode) => {
      const answer = await browser.post(await browser.go("/device"), { userCode })
      expect(answer.response.status).toBe(422)
      expect(answer.page).toContain("No device is waiting")
      expect(answer.page).not.toContain("<script>")
    },
  )

  test("can't be made to submit it by another site's form", async () => {
    const { answer: begun } = await authorizeDevice()
    const body = new URLSearchParams({ userCode: String(begun.user_code) })
    const foreign = await provider.send("/device", { method: "POST", body })
    expect(foreign.status).toBe(403)
  })

  test("can't use a code that was used or denied, or has expired", async () => {
    const { answer: begun } = await authorizeDevice()
    await allow(begun)
    const again = browserOf(provider)
    const userCode = String(begun.user_code)
    expect((await again.post(await again.go("/device"), { userCode })).response.status).toBe(422)
    const late = (await authorizeDevice()).answer
    provider.clock.advance(301_000)
    const typed = { userCode: String(late.user_code) }
    expect((await again.post(await again.go("/device"), typed)).response.status).toBe(422)
  })
})

describe("RFC 8628 §3.5: the polling device", () => {
  test("gets slow_down when it polls too often", async () => {
    const { answer: begun } = await authorizeDevice()
    expect((await poll(begun)).answer.error).toBe("authorization_pending")
    expect((await poll(begun)).answer.error).toBe("slow_down")
    provider.clock.advance(5000)
    expect((await poll(begun)).answer.error).toBe("slow_down")
    provider.clock.advance(15_000)
    expect((await poll(begun)).answer.error).toBe("authorization_pending")
  })

  test("gets expired_token when it polls too late, also after consent in time", async () => {
    const { answer: waiting } = await authorizeDevice()
    const { answer: allowed } = await authorizeDevice()
    await allow(allowed)
    provider.clock.advance(300_000)
    expect((await poll(waiting)).answer.error).toBe("expired_token")
    expect((await poll(allowed)).answer.error).toBe("expired_token")
  })

  test("gets tokens once, also for twenty concurrent polls", async () => {
    const { answer: begun } = await authorizeDevice()
    await allow(begun)
    const answers = await Promise.all(Array.from({ length: 20 }, () => poll(begun)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect((await poll(begun)).answer.error).toBe("invalid_grant")
  })

  test("gets nothing with another device's code, or an invalid one", async () => {
    const { answer: begun } = await authorizeDevice()
    await allow(begun)
    const other = await provider.addClient({
      grantTypes: ["device_code"],
      authMethod: "none",
      appType: "native",
    })
    expect((await poll(begun, { client_id: other.id })).answer.error).toBe("invalid_grant")
    const code = String(begun.device_code)
    for (const device_code of ["x", `${code}A`, code.slice(0, -1), code.toUpperCase()]) {
      expect((await poll(begun, { device_code })).answer.error, device_code).toBe("invalid_grant")
    }
    expect((await poll(begun)).status).toBe(200)
  })

  test("gets nothing without the key that it started with (RFC 9449 §5)", async () => {
    const key = await newProofKey()
    const path = "/oauth/v2/device_authorization"
    const headers = { dpop: await createProof(provider, key, path) }
    const body = new URLSearchParams({ client_id: tv.id, scope: "openid" })
    const begun = await (await provider.send(path, { method: "POST", body, headers })).json()
    await allow(begun)
    const fields = { grant_type, client_id: tv.id, device_code: String(begun.device_code) }
    expect((await poll(begun)).answer.error).toBe("invalid_dpop_proof")
    const other = await requestBoundToken(provider, fields, { key: await newProofKey() })
    expect(other.answer.error).toBe("invalid_dpop_proof")
    const { answer } = await requestBoundToken(provider, fields, { key })
    expect(answer).toMatchObject({ token_type: "DPoP" })
  })

  test("gets nothing once its application was deactivated, or the user signed out", async () => {
    const { answer: begun } = await authorizeDevice()
    await allow(begun)
    await browser.post(await browser.go("/oidc/v1/endsession"), {})
    expect((await poll(begun)).answer.error).toBe("access_denied")
    const next = (await authorizeDevice()).answer
    await allow(next)
    await deactivateApplication(provider.cx(), tv.appId)
    expect((await poll(next)).answer.error).toBe("invalid_client")
    expect((await authorizeDevice()).answer.error).toBe("invalid_client")
  })
})
