// Consent to a dynamically registered client is remembered for a limited time, and can end earlier.

import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { createApplication } from "../../src/domain/app/commands.ts"
import { replaceSecret } from "../../src/domain/app/credential/secret.ts"
import * as app from "../../src/domain/app/index.ts"
import { createPassword, setPassword } from "../../src/domain/credential/index.ts"
import { shares } from "../../src/domain/grant/api.ts"
import { connectedApps } from "../../src/domain/grant/index.ts"
import { activateOrganization, createOrganization } from "../../src/domain/org/commands.ts"

import { deactivateOrganizationChecked } from "../../src/domain/org-cascade/index.ts"
import { reactivateUser, unlockUser } from "../../src/domain/user/commands.ts"
import { deactivateUser, lockUser } from "../../src/domain/user/index.ts"
import { callOperation } from "../support/call-operation.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  openProvider,
  type Provider,
  password,
  redirectUri,
  responseOf,
  sendTokenRequest,
  type VisitedPage,
} from "./provider.ts"
import { enableRegistration, managementOf, sendMetadata } from "./registration.ts"

const day = 86_400_000
const resource = "https://tools.example.com/mcp"
const otherResource = "https://other.example.com/mcp"

const clientMetadata = {
  client_name: "Desk",
  redirect_uris: [redirectUri],
  grant_types: ["authorization_code", "refresh_token"],
  token_endpoint_auth_method: "none",
}

let provider: Provider
let registered: Awaited<ReturnType<typeof sendMetadata>>["answer"]
let browser: ReturnType<typeof browserOf>

const turnOn = (days = 30) =>
  enableRegistration(provider, { consentLifetimeSeconds: days * 86_400 })
const register = async (changes: object = {}) =>
  (await sendMetadata(provider, { ...clientMetadata, ...changes })).answer

beforeEach(async () => {
  provider = await openProvider()
  await turnOn()
  registered = await register()
  browser = browserOf(provider)
})
afterEach(() => provider.close())

const path = (changes: Record<string, string> = {}, client = registered) =>
  authorizePath(String(client.client_id), { scope: "openid email", ...changes })
const appId = (client = registered) =>
  app.findClient(provider.cx(), String(client.client_id))?.appId ?? ""

const isConsentPage = (at: VisitedPage) => at.path.startsWith("/ui/login/consent")
const allow = async (changes: Record<string, string> = {}, client = registered) => {
  const asked = await browser.signIn(path(changes, client))
  expect(isConsentPage(asked)).toBe(true)
  return responseOf(await browser.post(asked, { answer: "allow" }))
}
/** The response to a silent renewal in a frame of the client's page. */
const requestSilently = async (changes: Record<string, string> = {}, client = registered) => {
  const headers = { "sec-fetch-dest": "iframe" }
  const at = await browser.go(path({ prompt: "none", ...changes }, client), { headers })
  const { code, error } = responseOf(at)
  return code === undefined ? error : "code"
}

const addApi = async (uri: string) => {
  const cx = provider.cx()
  const config = { kind: "api", api: { authMethod: "basic", resources: [uri] } } as const
  await createApplication(cx, cx.ids.next(), {
    projectId: provider.projectId,
    name: uri,
    config,
  })
}

describe("consent to a dynamically registered client", () => {
  test("is remembered: prompt=none gets a code, and so does a sign-in", async () => {
    const asked = await browser.signIn(path())
    expect(asked.page).toMatch(/You won&#x27;t be asked again until (January|February) \d+, 2026/)
    expect(responseOf(await browser.post(asked, { answer: "allow" }))).toHaveProperty("code")
    expect(await requestSilently()).toBe("code")
    expect(responseOf(await browser.go(path()))).toHaveProperty("code")
  })

  test("is requested again with prompt=consent, which renews it", async () => {
    await allow()
    provider.clock.advance(2 * day)
    const asked = await browser.go(path({ prompt: "consent" }))
    expect(isConsentPage(asked)).toBe(true)
    expect(responseOf(await browser.post(asked, { answer: "allow" }))).toHaveProperty("code")
    expect(connectedApps(provider.cx(), provider.setup.ownerId)).toMatchObject([
      { consentUntil: provider.clock.now() + 30 * day },
    ])
  })

  test("is not remembered if the user denies", async () => {
    const asked = await browser.signIn(path())
    await browser.post(asked, { answer: "cancel" })
    expect(await requestSilently()).toBe("consent_required")
  })

  test.each<[string, Record<string, string>, string]>([
    ["fewer scopes", { scope: "openid" }, "code"],
    ["more scopes", { scope: "openid email profile" }, "consent_required"],
    ["another scope", { scope: "openid phone" }, "consent_required"],
    ["a claim", { claims: '{"userinfo":{"phone_number":null}}' }, "consent_required"],
    ["a claim in the ID token", { claims: '{"id_token":{"name":null}}' }, "consent_required"],
    ["offline access", { scope: "openid email offline_access" }, "consent_required"],
    ["a resource", { resource }, "consent_required"],
  ])("covers a request for the same or less: %s", async (_, changes, expected) => {
    await addApi(resource)
    await allow()
    expect(await requestSilently(changes)).toBe(expected)
  })

  test("covers each approved resource, and no other", async () => {
    await addApi(resource)
    await addApi(otherResource)
    await allow({ resource })
    expect(await requestSilently({ resource })).toBe("code")
    expect(await requestSilently()).toBe("code")
    expect(await requestSilently({ resource: otherResource })).toBe("consent_required")
    const asked = await browser.go(path({ resource: otherResource }))
    await browser.post(asked, { answer: "allow" })
    expect(await requestSilently({ resource })).toBe("code")
    expect(await requestSilently({ resource: otherResource })).toBe("code")
  })

  test("applies to its redirect URI only", async () => {
    const redirect_uri = "https://app.example.com/second"
    const client = await register({ redirect_uris: [redirectUri, redirect_uri] })
    await allow({}, client)
    expect(await requestSilently({ redirect_uri }, client)).toBe("consent_required")
    expect(await requestSilently({}, client)).toBe("code")
  })

  test.each([
    "http://127.0.0.1:33418/callback",
    "http://localhost:33418/callback",
    "com.example.desk:/callback",
    "https://localhost:8443/callback",
    "https://desk.localhost/callback",
    "https://127.0.0.2/callback",
    "https://[::1]/callback",
    "https://[::ffff:127.0.0.1]/callback",
    "https://0.0.0.0/callback",
  ])("is required each time if a local program can pose as the client: %s", async (uri) => {
    const client = await register({ redirect_uris: [uri] })
    expect(await allow({ redirect_uri: uri }, client)).toHaveProperty("code")
    expect(await requestSilently({ redirect_uri: uri }, client)).toBe("consent_required")
    expect(isConsentPage(await browser.go(path({ redirect_uri: uri }, client)))).toBe(true)
  })

  test("is required each time if the client can manage the instance", async () => {
    const scope = "openid urn:core:iam:org:project:id:core:aud"
    const asked = await browser.signIn(path({ scope }))
    expect(isConsentPage(asked)).toBe(true)
    expect(asked.page).not.toContain("asked again until")
    expect(responseOf(await browser.post(asked, { answer: "allow" }))).toHaveProperty("code")
    expect(await requestSilently({ scope })).toBe("consent_required")
    expect(await requestSilently({ scope: "openid" })).toBe("consent_required")
  })

  test("does not apply to other users, or to other clients of the same name", async () => {
    await allow()
    await provider.addPerson("pat")
    const twin = await register()
    expect(await requestSilently({}, twin)).toBe("consent_required")
    const theirs = browserOf(provider)
    expect(isConsentPage(await theirs.signIn(path(), "pat"))).toBe(true)
  })
})

describe("the duration of remembered consent", () => {
  const signInAgain = async () => {
    browser = browserOf(provider)
    return browser.signIn(path())
  }

  test("is that of the setting, from the consent on", async () => {
    await turnOn(2)
    await allow()
    provider.clock.advance(2 * day - 1)
    expect(await requestSilently()).toBe("code")
    provider.clock.advance(1)
    expect(await requestSilently()).toBe("consent_required")
  })

  test("is 0 if configured, or if it predates the setting", async () => {
    await turnOn(0)
    await allow()
    expect(await requestSilently()).toBe("consent_required")
    await enableRegistration(provider)
    expect(await requestSilently()).toBe("consent_required")
  })

  test("is shortened for earlier consents, and never extended", async () => {
    await turnOn(3)
    await allow()
    await turnOn(30)
    provider.clock.advance(3 * day)
    expect(isConsentPage(await signInAgain())).toBe(true)
    await allow()
    await turnOn(1)
    provider.clock.advance(day)
    expect(isConsentPage(await signInAgain())).toBe(true)
    await turnOn(0)
    await allow()
    expect(await requestSilently()).toBe("consent_required")
  })

  test("is paused, not ended, by a setting of 0", async () => {
    await allow()
    await turnOn(0)
    expect(await requestSilently()).toBe("consent_required")
    await turnOn(30)
    expect(await requestSilently()).toBe("code")
  })

  test("does not start in the future after a wrong clock", async () => {
    provider.clock.advance(365 * day)
    await allow()
    expect(await requestSilently()).toBe("code")
    provider.clock.advance(-365 * day)
    expect(isConsentPage(await signInAgain())).toBe(true)
  })
})

describe("it ends permanently", () => {
  const put = (changes: object) => {
    const { path: address, token } = managementOf(registered)
    const client_id = registered.client_id
    const metadata = { ...clientMetadata, client_id, ...changes }
    return sendMetadata(provider, metadata, { method: "PUT", path: address, token })
  }
  const key = { kty: "EC", crv: "P-256", kid: "k" } as const
  const keyed = async (kid: string) => {
    const { publicKey } = await crypto.subtle.generateKey(
      { name: "ECDSA", namedCurve: "P-256" },
      true,
      ["sign"],
    )
    const { x = "", y = "" } = await crypto.subtle.exportKey("jwk", publicKey)
    return { jwks: { keys: [{ ...key, kid, x, y }] } }
  }

  test("with another name, even when the old name returns", async () => {
    await allow()
    expect((await put({ client_name: "Bank" })).status).toBe(200)
    expect(await requestSilently()).toBe("consent_required")
    await put({})
    expect(await requestSilently()).toBe("consent_required")
  })

  test("before it is given, if the client changes while the page is open", async () => {
    const asked = await browser.signIn(path())
    await put({ client_name: "Bank" })
    const again = await browser.post(asked, { answer: "allow" })
    expect([
      isConsentPage(again),
      again.page.includes("Allow Bank access to your account?"),
    ]).toEqual([true, true])
    expect(responseOf(await browser.post(again, { answer: "allow" }))).toHaveProperty("code")
  })

  test("with another authentication method", async () => {
    await allow()
    expect((await put({ token_endpoint_auth_method: "client_secret_post" })).status).toBe(200)
    expect(await requestSilently()).toBe("consent_required")
  })

  test("with another key, and not with unrelated changes", async () => {
    const method = { token_endpoint_auth_method: "private_key_jwt" }
    const first = await keyed("1")
    registered = await register({ ...method, ...first })
    await allow()
    const more = { redirect_uris: [redirectUri, "https://app.example.com/more"] }
    expect((await put({ ...method, ...first, ...more })).status).toBe(200)
    expect(await requestSilently()).toBe("code")
    expect((await put({ ...method, ...(await keyed("2")) })).status).toBe(200)
    expect(await requestSilently()).toBe("consent_required")
  })

  test("with another secret, or another name by an administrator", async () => {
    registered = await register({ token_endpoint_auth_method: "client_secret_basic" })
    await allow()
    const cx = provider.cx()
    await replaceSecret(cx, appId(), app.newSecret(cx, appId()))
    expect(await requestSilently()).toBe("consent_required")
    await browser.post(await browser.go(path()), { answer: "allow" })
    expect(await requestSilently()).toBe("code")
    await app.updateApplication(provider.cx(), appId(), { name: "Bank" })
    expect(await requestSilently()).toBe("consent_required")
  })

  test.each([
    ["locked", lockUser, unlockUser],
    ["deactivated", deactivateUser, reactivateUser],
  ])("when its user is %s, even after reactivation", async (_, stop, back) => {
    const other = await provider.addPerson("max")
    await browser.post(await browser.signIn(path(), "max"), { answer: "allow" })
    expect(await requestSilently()).toBe("code")
    await stop(provider.cx(), other)
    await back(provider.cx(), other)
    expect(connectedApps(provider.cx(), other)).toEqual([])
    browser = browserOf(provider)
    expect(isConsentPage(await browser.signIn(path(), "max"))).toBe(true)
  })

  test("when the client is removed and registers again", async () => {
    await allow()
    await app.removeApplication(provider.cx(), appId())
    expect(connectedApps(provider.cx(), provider.setup.ownerId)).toEqual([])
    registered = await register()
    expect(await requestSilently()).toBe("consent_required")
  })

  test("with a new password, and when the user's organization is deactivated", async () => {
    const cx = provider.cx()
    const orgId = cx.ids.next()
    await createOrganization(cx, orgId, { name: "Other" })
    const userId = await provider.addPerson("max", orgId)
    const isAskedAnew = async () => {
      browser = browserOf(provider)
      const at = await browser.signIn(path(), "max")
      if (!isConsentPage(at)) return false
      await browser.post(at, { answer: "allow" })
      return true
    }
    expect([await isAskedAnew(), await isAskedAnew()]).toEqual([true, false])
    const secret = await createPassword(password, { names: ["max"] })
    await setPassword(provider.cx(), userId, secret)
    expect([await isAskedAnew(), await isAskedAnew()]).toEqual([true, false])
    await deactivateOrganizationChecked(provider.cx(), orgId)
    await activateOrganization(provider.cx(), orgId)
    expect(await isAskedAnew()).toBe(true)
  })
})

describe("removing the access of a client", () => {
  const asked = (name: string, request: object, userId = provider.setup.ownerId) => {
    const { orgId } = provider.setup
    const caller = { kind: "user", userId, orgId, clientId: "c" } as const
    return callOperation(shares, name, provider.cx({ caller }), request)
  }
  const disconnect = (userId?: string) =>
    asked("disconnectApplication", { applicationId: appId() }, userId)
  const redeem = (code = "") =>
    sendTokenRequest(provider, codeFields(code, { client_id: String(registered.client_id) }))

  test("shows the expiry, and asks again after the removal", async () => {
    await allow()
    const { connectedApplications } = await asked("listConnectedApplications", {})
    expect(connectedApplications).toMatchObject([
      { applicationId: appId(), applicationName: "Desk", scopes: ["openid", "email"] },
    ])
    const [{ consentExpiration }] = connectedApplications
    expect(timestampMs(consentExpiration)).toBe(provider.clock.now() + 30 * day)
    await disconnect()
    expect(await asked("listConnectedApplications", {})).toMatchObject({
      connectedApplications: [],
    })
    expect((await browser.go(path({ prompt: "none" }))).page).toContain("Desk is not verified")
    expect(await requestSilently()).toBe("consent_required")
    await expect(disconnect()).rejects.toMatchObject({ id: "grant.missing" })
  })

  test("ends its tokens, its refresh token and exchanged tokens", async () => {
    const scope = "openid email offline_access"
    const { answer } = await redeem((await allow({ scope })).code)
    const userinfo = async () => {
      const headers = { authorization: `Bearer ${answer.access_token}` }
      return (await provider.send("/oidc/v1/userinfo", { headers })).status
    }
    expect(await userinfo()).toBe(200)
    await disconnect()
    expect(await userinfo()).toBe(401)
    const renewed = await sendTokenRequest(provider, {
      grant_type: "refresh_token",
      refresh_token: String(answer.refresh_token),
      client_id: String(registered.client_id),
    })
    expect(renewed.answer.error).toBe("invalid_grant")
  })

  test.each([
    ["that the user has just allowed", () => allow().then(({ code }) => code)],
    [
      "of a silent renewal, which is kept nowhere",
      async () => {
        await allow()
        const headers = { "sec-fetch-dest": "iframe" }
        return responseOf(await browser.go(path({ prompt: "none" }), { headers })).code
      },
    ],
  ])("voids a code %s that is not redeemed yet", async (_, issued) => {
    const code = await issued()
    await disconnect()
    expect((await redeem(code)).answer).toMatchObject({ error: "invalid_grant" })
    expect(connectedApps(provider.cx(), provider.setup.ownerId)).toEqual([])
    provider.clock.advance(-1000)
    const again = await browser.post(await browser.go(path()), { answer: "allow" })
    expect((await redeem(responseOf(again).code)).status).toBe(200)
  })

  test("is not caused by revoking a refresh token, or by a sign-out", async () => {
    const scope = "openid email offline_access"
    const { answer } = await redeem((await allow({ scope })).code)
    const token = String(answer.refresh_token)
    const body = new URLSearchParams({ token, client_id: String(registered.client_id) })
    expect((await provider.send("/oauth/v2/revoke", { method: "POST", body })).status).toBe(200)
    expect(await requestSilently({ scope })).toBe("code")
    browser = browserOf(provider)
    expect(await requestSilently({ scope })).toBe("login_required")
    expect(responseOf(await browser.signIn(path({ scope })))).toHaveProperty("code")
  })

  test("voids a device authorization that is not redeemed yet", async () => {
    const device = await provider.addClient({ grantTypes: ["device_code", "authorization_code"] })
    const basic = `${device.id}:${device.secret}`
    const headers = { authorization: `Basic ${Buffer.from(basic).toString("base64")}` }
    const begin = async () => {
      const body = new URLSearchParams({ scope: "openid" })
      const init = { method: "POST", headers, body }
      return (await provider.send("/oauth/v2/device_authorization", init)).json()
    }
    const allowed = async () => {
      const { user_code, device_code } = await begin()
      const entered = await browser.go(`/device?user_code=${user_code}`)
      const asking = await browser.post(entered, { userCode: user_code })
      const at = isConsentPage(asking) ? asking : await browser.signIn(asking.path)
      await browser.post(at, { answer: "allow" })
      return device_code
    }
    const fetchTokens = async (device_code: string) => {
      const grant_type = "urn:ietf:params:oauth:grant-type:device_code"
      return sendTokenRequest(provider, { grant_type, device_code }, basic)
    }
    expect((await fetchTokens(await allowed())).status).toBe(200)
    const waiting = await allowed()
    await asked("disconnectApplication", { applicationId: device.appId })
    expect((await fetchTokens(waiting)).answer).toMatchObject({ error: "access_denied" })
    expect((await fetchTokens(await allowed())).status).toBe(200)
  })

  test("takes precedence over a renewal that was just checked", async () => {
    await allow()
    const spy = vi.spyOn(provider.store, "transact").mockImplementationOnce(async (cx, decide) => {
      await disconnect()
      return provider.store.transact(cx, decide)
    })
    const headers = { cookie: browser.cookie(), "sec-fetch-dest": "iframe" }
    const at = await provider.send(path({ prompt: "none" }), { headers })
    expect(spy).toHaveBeenCalled()
    expect(at.headers.get("location") ?? "").not.toContain("code=")
    expect(connectedApps(provider.cx(), provider.setup.ownerId)).toEqual([])
  })

  test("is allowed to the user, and to an administrator of the user", async () => {
    const pat = await provider.addPerson("pat")
    await browser.post(await browser.signIn(path(), "pat"), { answer: "allow" })
    await expect(disconnect()).rejects.toMatchObject({ id: "grant.missing" })
    const { connectedApplications } = await asked("listUserConnectedApplications", { userId: pat })
    expect(connectedApplications).toMatchObject([{ applicationId: appId() }])
    await asked("disconnectUserApplication", { userId: pat, applicationId: appId() })
    expect(await requestSilently()).toBe("consent_required")
    expect(
      (await asked("listUserConnectedApplications", { userId: pat })).connectedApplications,
    ).toEqual([])
    const reasons = (await provider.store.log.read(0, 100_000)).flatMap(({ type, data }) =>
      type === "application.consent.removed" ? [Reflect.get(data ?? {}, "reason")] : [],
    )
    expect(reasons).toEqual(["revoked by an administrator"])
  })

  test("applies to both of two concurrent consents", async () => {
    const first = await browser.signIn(path())
    const second = await browser.go(path({ scope: "openid phone" }))
    const answers = await Promise.all(
      [first, second].map((at) => browser.post(at, { answer: "allow" })),
    )
    expect(answers.map((at) => "code" in responseOf(at))).toEqual([true, true])
    expect(await requestSilently()).toBe("code")
    expect(await requestSilently({ scope: "openid phone" })).toBe("code")
    expect(await requestSilently({ scope: "openid email phone" })).toBe("consent_required")
    await disconnect()
    expect(await requestSilently()).toBe("consent_required")
  })
})
