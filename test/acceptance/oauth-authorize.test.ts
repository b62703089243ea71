import { createPrivateKey } from "node:crypto"
import * as oauth from "oauth4webapi"
import * as openid from "openid-client"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openHttpBrowser, type Page, parseForm } from "../support/http-browser.ts"
import { owner } from "../support/latchkey.ts"
import { openService, type Service } from "./service.ts"

const redirectUri = "https://app.example.com/callback"
const insecure = { [oauth.allowInsecureRequests]: true }

type Registered = { readonly clientId: string; readonly clientSecret: string }

let service: Service
let webClient: Registered & { readonly key: CryptoKey; readonly kid: string }
let implicitClient: Registered

beforeAll(async () => {
  service = await openService()
  const { result } = await service.get("ListOrganizations")
  const { projectId } = await service.get("CreateProject", {
    organizationId: result[0].id,
    name: "Intranet",
  })
  const add = async (name: string, oidc: object) => {
    const oidcConfiguration = { redirectUris: [redirectUri], ...oidc }
    return service.get("CreateApplication", { projectId, name, oidcConfiguration })
  }
  const made = await add("Web", {})
  const { applicationId } = made
  const { keyDetails } = await service.get("CreateApplicationKey", { projectId, applicationId })
  const { keyId, key } = JSON.parse(Buffer.from(keyDetails, "base64").toString())
  const pkcs8 = createPrivateKey(key).export({ type: "pkcs8", format: "der" })
  const rs256 = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" }
  const imported = await crypto.subtle.importKey("pkcs8", pkcs8, rs256, false, ["sign"])
  webClient = { ...made.oidcConfiguration, key: imported, kid: keyId }
  const frontChannel = await add("Single page", {
    responseTypes: ["OIDC_RESPONSE_TYPE_ID_TOKEN", "OIDC_RESPONSE_TYPE_ID_TOKEN_TOKEN"],
    grantTypes: ["OIDC_GRANT_TYPE_IMPLICIT"],
    applicationType: "OIDC_APP_TYPE_USER_AGENT",
    authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE",
  })
  implicitClient = frontChannel.oidcConfiguration
})
afterAll(() => service?.close())

/** Opens the URL in a new browser, and signs in. */
async function signIn(url: URL): Promise<Page> {
  const browser = openHttpBrowser()
  const named = await browser.post(await browser.get(url.href), { loginName: owner.loginName })
  return browser.post(named, { password: owner.password })
}

const discoverConfig = async (clientId: string, auth: openid.ClientAuth) => {
  const execute = [openid.allowInsecureRequests, openid.enableNonRepudiationChecks]
  return openid.discovery(new URL(service.url), clientId, undefined, auth, { execute })
}

const webConfig = () =>
  discoverConfig(webClient.clientId, openid.ClientSecretBasic(webClient.clientSecret))

/** The parameters of a request and the values that the client stores for it. */
async function createRequest(more: Readonly<Record<string, string>> = {}) {
  const checks = {
    pkceCodeVerifier: openid.randomPKCECodeVerifier(),
    expectedState: openid.randomState(),
    expectedNonce: openid.randomNonce(),
  }
  const parameters = {
    redirect_uri: redirectUri,
    scope: "openid email",
    state: checks.expectedState,
    nonce: checks.expectedNonce,
    code_challenge: await openid.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
    code_challenge_method: "S256",
    ...more,
  }
  return { checks, parameters }
}

describe("openid-client", () => {
  const ways: Readonly<
    Record<string, (on: openid.Configuration, request: Record<string, string>) => Promise<URL>>
  > = {
    "a plain request": async (on, request) => openid.buildAuthorizationUrl(on, request),
    "a pushed request": (on, request) => openid.buildAuthorizationUrlWithPAR(on, request),
    "a request object": (on, request) =>
      openid.buildAuthorizationUrlWithJAR(on, request, webClient),
    "a request object that is pushed": async (on, request) => {
      const url = await openid.buildAuthorizationUrlWithJAR(on, request, webClient)
      return openid.buildAuthorizationUrlWithPAR(on, url.searchParams)
    },
  }
  test.each(Object.entries(ways))("signs a user in by %s", async (_, build) => {
    const found = await webConfig()
    const claims = JSON.stringify({ id_token: { given_name: null } })
    const { checks, parameters } = await createRequest({ claims, acr_values: "1" })
    const end = await signIn(await build(found, parameters))
    const tokens = await openid.authorizationCodeGrant(found, new URL(end.url), checks)
    expect(tokens.claims()).toMatchObject({ acr: "1", given_name: expect.any(String) })
    const { sub = "" } = tokens.claims() ?? {}
    expect(await openid.fetchUserInfo(found, tokens.access_token, sub)).toMatchObject({
      email: owner.email,
    })
  })

  test("reads the response from a form that the browser posts", async () => {
    const found = await webConfig()
    const { checks, parameters } = await createRequest({ response_mode: "form_post" })
    const page = await signIn(openid.buildAuthorizationUrl(found, parameters))
    const { action, fields } = parseForm(page)
    expect(action).toBe(redirectUri)
    const posted = new Request(action, { method: "POST", body: new URLSearchParams(fields) })
    const tokens = await openid.authorizationCodeGrant(found, posted, checks)
    expect(tokens.claims()).toHaveProperty("nonce", checks.expectedNonce)
  })

  test.each(["fragment", "form_post"])("accepts an id_token alone, by %s", async (mode) => {
    const found = await discoverConfig(implicitClient.clientId, openid.None())
    openid.useIdTokenResponseType(found)
    const [nonce, state] = [openid.randomNonce(), openid.randomState()]
    const asked = { redirect_uri: redirectUri, scope: "openid email", nonce, state }
    const url = openid.buildAuthorizationUrl(found, { ...asked, response_mode: mode })
    const page = await signIn(url)
    const { action, fields } = parseForm(page)
    const post = { method: "POST", body: new URLSearchParams(fields) }
    const answer = mode === "fragment" ? new URL(page.url) : new Request(action, post)
    const checks = { expectedState: state }
    const claims = await openid.implicitAuthentication(found, answer, nonce, checks)
    expect(claims).toMatchObject({ email: owner.email, nonce })
  })

  test("gets the error of an invalid pushed request", async () => {
    const found = await webConfig()
    const { parameters } = await createRequest({ redirect_uri: "https://evil.example/" })
    const tried = openid.buildAuthorizationUrlWithPAR(found, parameters)
    await expect(tried).rejects.toMatchObject({ error: "invalid_request", status: 400 })
  })
})

describe("oauth4webapi", () => {
  const client = (): oauth.Client => ({ client_id: webClient.clientId })
  const provider = async () => {
    const url = new URL(service.url)
    return oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, insecure))
  }

  test("pushes a signed request bound to a key, and gets tokens bound to it", async () => {
    const as = await provider()
    const auth = oauth.ClientSecretBasic(webClient.clientSecret)
    const dpop = oauth.DPoP(client(), await oauth.generateKeyPair("ES256"))
    const { checks, parameters } = await createRequest({ response_type: "code" })
    const asked = { client_id: webClient.clientId, ...parameters }
    const request = await oauth.issueRequestObject(as, client(), asked, webClient)
    const pushed = await oauth.pushedAuthorizationRequest(
      ...([as, client(), auth, { request, client_id: webClient.clientId }] as const),
      { DPoP: dpop, ...insecure },
    )
    const { request_uri } = await oauth.processPushedAuthorizationResponse(as, client(), pushed)
    const url = new URL(as.authorization_endpoint ?? "")
    url.search = new URLSearchParams({ client_id: webClient.clientId, request_uri }).toString()
    const end = new URL((await signIn(url)).url)
    const answer = oauth.validateAuthResponse(as, client(), end, checks.expectedState)
    const exchange = (options: oauth.TokenEndpointRequestOptions) =>
      oauth.authorizationCodeGrantRequest(
        ...([as, client(), auth, answer, redirectUri, checks.pkceCodeVerifier] as const),
        { ...insecure, ...options },
      )
    const stolen = await exchange({})
    expect(await stolen.json()).toHaveProperty("error", "invalid_dpop_proof")
    const response = await exchange({ DPoP: dpop })
    const { expectedNonce } = checks
    const tokens = await oauth.processAuthorizationCodeResponse(as, client(), response, {
      expectedNonce,
    })
    expect(tokens.token_type).toBe("dpop")
    const again = new URL((await openHttpBrowser().get(url.href)).url)
    expect(again.origin).toBe(service.url)
  })

  test("gets both tokens on the front channel, and at_hash matches", async () => {
    const as = await provider()
    const url = new URL(as.authorization_endpoint ?? "")
    const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()]
    const asked = { client_id: implicitClient.clientId, redirect_uri: redirectUri, scope: "openid" }
    const rest = { response_type: "token id_token", state, nonce }
    url.search = new URLSearchParams({ ...asked, ...rest }).toString()
    const fragment = new URLSearchParams(new URL((await signIn(url)).url).hash.slice(1))
    expect([fragment.get("state"), fragment.get("iss")]).toEqual([state, service.url])
    const hash = await crypto.subtle.digest(
      "SHA-256",
      new TextEncoder().encode(fragment.get("access_token") ?? ""),
    )
    const [, body = ""] = (fragment.get("id_token") ?? "").split(".")
    const claims = JSON.parse(Buffer.from(body, "base64url").toString())
    expect(claims).toMatchObject({ nonce, aud: implicitClient.clientId })
    expect(claims.at_hash).toBe(Buffer.from(hash).subarray(0, 16).toString("base64url"))
    const response = await oauth.userInfoRequest(
      ...([
        as,
        { client_id: implicitClient.clientId },
        fragment.get("access_token") ?? "",
      ] as const),
      insecure,
    )
    const info = await oauth.processUserInfoResponse(
      ...([as, { client_id: implicitClient.clientId }, claims.sub, response] as const),
    )
    expect(info.sub).toBe(claims.sub)
  })
})
