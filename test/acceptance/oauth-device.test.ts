// The device flow and DPoP-bound tokens, with certified client libraries.
import * as oauth from "oauth4webapi"
import * as openid from "openid-client"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { browserOf } from "../oauth/provider.ts"
import { owner } from "../support/latchkey.ts"
import { openService, type Service } from "./service.ts"

const insecure = { [oauth.allowInsecureRequests]: true }
const scope = "openid profile offline_access"

let service: Service
let clientId = ""
let config: openid.Configuration

beforeAll(async () => {
  service = await openService()
  const { result } = await service.get("ListOrganizations")
  const organizationId = result[0].id
  const { projectId } = await service.get("CreateProject", { organizationId, name: "Living room" })
  const made = await service.get("CreateApplication", {
    projectId,
    name: "Television",
    oidcConfiguration: {
      grantTypes: ["OIDC_GRANT_TYPE_DEVICE_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"],
      applicationType: "OIDC_APP_TYPE_NATIVE",
      authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE",
    },
  })
  clientId = made.oidcConfiguration.clientId
  const options = { execute: [openid.allowInsecureRequests] }
  const none = openid.None()
  config = await openid.discovery(new URL(service.url), clientId, undefined, none, options)
})
afterAll(() => service?.close())

/** A user on another machine opens the URL, signs in, and decides. */
async function decide(address: string, answer: "allow" | "cancel"): Promise<string> {
  const send = (path: string, init?: RequestInit) =>
    fetch(`${service.url}${path}`, { redirect: "manual", ...init })
  const browser = browserOf({ send })
  const { pathname, search, searchParams } = new URL(address)
  const userCode = searchParams.get("user_code") ?? ""
  const named = await browser.post(await browser.go(pathname + search), { userCode })
  const asked = await browser.post(named, { loginName: owner.loginName })
  const consent = await browser.post(asked, {
    loginName: owner.loginName,
    password: owner.password,
  })
  return (await browser.post(consent, { answer })).page
}

/** Shortens the polling interval that the libraries use to one second. */
const withShortInterval = <Begun extends { interval?: number }>(begun: Begun): Begun => ({
  ...begun,
  interval: 1,
})

describe("openid-client", () => {
  test("gets tokens that a user has allowed elsewhere", async () => {
    const begun = await openid.initiateDeviceAuthorization(config, { scope })
    expect(begun).toMatchObject({ expires_in: 300, interval: 5 })
    const page = await decide(begun.verification_uri_complete ?? "", "allow")
    expect(page).toContain("Your device is connected")
    const tokens = await openid.pollDeviceAuthorizationGrant(config, withShortInterval(begun))
    const sub = String(tokens.claims()?.sub)
    const info = await openid.fetchUserInfo(config, tokens.access_token, sub)
    expect(info).toMatchObject({ sub, preferred_username: owner.loginName })
    const next = await openid.refreshTokenGrant(config, tokens.refresh_token ?? "")
    expect(next.claims()?.sub).toBe(sub)
  })

  test("gets access_denied when the user denies access", async () => {
    const begun = await openid.initiateDeviceAuthorization(config, { scope })
    await decide(begun.verification_uri_complete ?? "", "cancel")
    const polling = openid.pollDeviceAuthorizationGrant(config, withShortInterval(begun))
    await expect(polling).rejects.toMatchObject({ error: "access_denied" })
  })

  test("binds its tokens to a key, and nothing accepts them without it (RFC 9449)", async () => {
    const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair("ES256"))
    const begun = await openid.initiateDeviceAuthorization(config, { scope })
    await decide(begun.verification_uri_complete ?? "", "allow")
    const polled = { DPoP }
    const tokens = await openid.pollDeviceAuthorizationGrant(
      config,
      withShortInterval(begun),
      undefined,
      polled,
    )
    expect(tokens.token_type).toBe("dpop")
    const sub = String(tokens.claims()?.sub)
    const { access_token: token, refresh_token: refresh = "" } = tokens
    expect(await openid.fetchUserInfo(config, token, sub, { DPoP })).toMatchObject({ sub })
    await expect(openid.fetchUserInfo(config, token, sub)).rejects.toThrow()
    const stolen = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair("ES256"))
    const used = openid.refreshTokenGrant(config, refresh, undefined, { DPoP: stolen })
    await expect(used).rejects.toMatchObject({ error: "invalid_grant" })
    const next = await openid.refreshTokenGrant(config, refresh, undefined, { DPoP })
    expect(next.token_type).toBe("dpop")
  })
})

describe("oauth4webapi", () => {
  const client: oauth.Client = { client_id: "" }

  async function server(): Promise<oauth.AuthorizationServer> {
    const issuer = new URL(service.url)
    const response = await oauth.discoveryRequest(issuer, insecure)
    return oauth.processDiscoveryResponse(issuer, response)
  }

  test("starts, gets authorization_pending, and then its tokens", async () => {
    const as = await server()
    const own = { ...client, client_id: clientId }
    const asking = await oauth.deviceAuthorizationRequest(
      as,
      own,
      oauth.None(),
      { scope },
      insecure,
    )
    const begun = await oauth.processDeviceAuthorizationResponse(as, own, asking)
    const poll = async () => {
      const response = await oauth.deviceCodeGrantRequest(
        as,
        own,
        oauth.None(),
        begun.device_code,
        insecure,
      )
      return oauth.processDeviceCodeResponse(as, own, response)
    }
    await expect(poll()).rejects.toMatchObject({ error: "authorization_pending" })
    await expect(poll()).rejects.toMatchObject({ error: "slow_down" })
    await decide(begun.verification_uri_complete ?? "", "allow")
    const tokens = await poll()
    expect(oauth.getValidatedIdTokenClaims(tokens)?.aud).toContain(clientId)
    await expect(poll()).rejects.toMatchObject({ error: "invalid_grant" })
  })
})
