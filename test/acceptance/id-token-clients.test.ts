// Client libraries that read the user from the ID token alone, and accept only their own ID in
// `aud`.
import { createPublicKey } from "node:crypto"
import { OAuth2Client } from "google-auth-library"
import type { JWK } from "jose"
import * as oauth from "oauth4webapi"
import { InMemoryWebStorage, OidcClient, WebStorageStateStore } from "oidc-client-ts"
import * as openid from "openid-client"
import Passport from "passport-openidconnect"
import { afterAll, beforeAll, expect, test } from "vitest"
import { openHttpBrowser } from "../support/http-browser.ts"
import { owner } from "../support/latchkey.ts"
import { openService, type Service } from "./service.ts"

const redirectUri = "https://app.example.com/callback"
const roles = ["editor"]
const insecure = { [oauth.allowInsecureRequests]: true }

type Registered = { readonly clientId: string; readonly clientSecret: string }

let service: Service
let projectId: string
/** Applications as the console, `latchkey apply` and dynamic registration create them. */
let webClient: Registered

beforeAll(async () => {
  service = await openService()
  const { result } = await service.get("ListOrganizations")
  const organizationId = result[0].id
  projectId = (await service.get("CreateProject", { organizationId, name: "Intranet" })).projectId
  await service.get("AddProjectRole", { projectId, roleKey: "editor", displayName: "Editor" })
  const { result: users } = await service.get("ListUsers", {
    queries: [{ loginNameQuery: { loginName: owner.loginName } }],
  })
  const { userId } = users[0]
  const given = { userId, projectId, organizationId, roleKeys: roles }
  await service.get("CreateAuthorization", given)
  webClient = await addApplication({ idTokenUserinfoAssertion: true })
})
afterAll(() => service?.close())

async function addApplication(oidc: object): Promise<Registered> {
  const oidcConfiguration = { redirectUris: [redirectUri], ...oidc }
  const made = await service.get("CreateApplication", { projectId, name: "Web", oidcConfiguration })
  return made.oidcConfiguration
}

/** Opens the URL in a new browser and signs in; returns the redirect to the application. */
async function signIn(url: string): Promise<URL> {
  const browser = openHttpBrowser()
  const named = await browser.post(await browser.get(url), { loginName: owner.loginName })
  return new URL((await browser.post(named, { password: owner.password })).url)
}

const discoverConfig = ({ clientId, clientSecret }: Registered) =>
  openid.discovery(
    new URL(service.url),
    clientId,
    undefined,
    openid.ClientSecretBasic(clientSecret),
    { execute: [openid.allowInsecureRequests, openid.enableNonRepudiationChecks] },
  )

async function requestTokens(client: Registered, scope: string) {
  const config = await discoverConfig(client)
  const pkceCodeVerifier = openid.randomPKCECodeVerifier()
  const code_challenge = await openid.calculatePKCECodeChallenge(pkceCodeVerifier)
  const asked = { redirect_uri: redirectUri, scope, code_challenge, code_challenge_method: "S256" }
  const end = await signIn(openid.buildAuthorizationUrl(config, asked).href)
  return openid.authorizationCodeGrant(config, end, { pkceCodeVerifier })
}

/** What google-auth-library accepts: `aud` must equal the client ID as one string. */
async function verifyWithGoogle(token: string, clientId: string, maxExpirySeconds?: number) {
  const { keys } = await (await fetch(`${service.url}/oauth/v2/keys`)).json()
  const pem = (jwk: JWK) =>
    createPublicKey({ key: jwk, format: "jwk" }).export({ type: "spki", format: "pem" })
  const certs = Object.fromEntries(keys.map((jwk: JWK) => [jwk.kid, String(pem(jwk))]))
  const client = new OAuth2Client()
  const issuers = [service.url]
  const ticket = await client.verifySignedJwtWithCertsAsync(
    ...([token, certs, clientId, issuers, maxExpirySeconds] as const),
  )
  return ticket.getPayload()
}

const expectedClaims = {
  name: expect.stringMatching(/\S/),
  email: owner.email,
  email_verified: true,
}

test("openid-client gets name, email and groups without userinfo", async () => {
  const tokens = await requestTokens(webClient, "openid profile email groups roles")
  expect(tokens.claims()).toMatchObject({
    ...expectedClaims,
    groups: roles,
    roles,
    aud: webClient.clientId,
  })
})

test("oauth4webapi gets the granted scopes, and the user's claims for them", async () => {
  const issuer = new URL(service.url)
  const found = await oauth.discoveryRequest(issuer, insecure)
  const server = await oauth.processDiscoveryResponse(issuer, found)
  expect(server.scopes_supported).toEqual(expect.arrayContaining(["groups", "roles"]))
  const client = { client_id: webClient.clientId }
  const verifier = oauth.generateRandomCodeVerifier()
  const asked = new URLSearchParams({
    client_id: webClient.clientId,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: "openid email roles offline_access",
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  })
  const end = await signIn(`${server.authorization_endpoint}?${asked}`)
  const answer = await oauth.authorizationCodeGrantRequest(
    ...([server, client, oauth.ClientSecretBasic(webClient.clientSecret)] as const),
    oauth.validateAuthResponse(server, client, end),
    ...([redirectUri, verifier, insecure] as const),
  )
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer)
  expect(tokens.scope).toBe("openid email roles")
  expect(tokens).not.toHaveProperty("refresh_token")
  const claims = oauth.getValidatedIdTokenClaims(tokens)
  expect(claims).toMatchObject({ email: owner.email, roles, aud: webClient.clientId })
  expect(claims).not.toHaveProperty("name")
})

test("passport-openidconnect gets name and email without userinfo", async () => {
  const session = {}
  const options = {
    issuer: service.url,
    clientID: webClient.clientId,
    clientSecret: webClient.clientSecret,
    authorizationURL: `${service.url}/oauth/v2/authorize`,
    tokenURL: `${service.url}/oauth/v2/token`,
    userInfoURL: `${service.url}/nowhere`,
    callbackURL: redirectUri,
    scope: ["profile", "email"],
    nonce: true,
    skipUserProfile: true,
  }
  const { promise, resolve, reject } = Promise.withResolvers<object>()
  const strategy = new Passport(options, (_, profile, done) => done(null, profile))
  strategy.redirect = async (url) => {
    const query = Object.fromEntries((await signIn(url)).searchParams)
    strategy.authenticate({ query, session }, {})
  }
  strategy.success = resolve
  strategy.fail = (info) => reject(new Error(JSON.stringify(info)))
  strategy.error = reject
  strategy.authenticate({ query: {}, session }, {})
  expect(await promise).toMatchObject({
    displayName: expect.stringMatching(/\S/),
    emails: [{ value: owner.email }],
  })
})

test("oidc-client-ts gets name, email and groups as a public client", async () => {
  const { clientId } = await addApplication({
    idTokenUserinfoAssertion: true,
    applicationType: "OIDC_APP_TYPE_USER_AGENT",
    authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE",
  })
  const client = new OidcClient({
    authority: service.url,
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: "openid profile email groups",
    loadUserInfo: false,
    stateStore: new WebStorageStateStore({ store: new InMemoryWebStorage() }),
  })
  const { url } = await client.createSigninRequest({})
  const answer = await client.processSigninResponse((await signIn(url)).href)
  expect(answer.profile).toMatchObject({ ...expectedClaims, groups: roles, aud: clientId })
})

test("google-auth-library accepts a new application, whose aud is one string", async () => {
  const { id_token: id = "" } = await requestTokens(webClient, "openid profile email")
  expect(await verifyWithGoogle(id, webClient.clientId)).toMatchObject(expectedClaims)
  const both = await addApplication({ idTokenProjectAudience: true })
  const { id_token: old = "" } = await requestTokens(both, "openid")
  await expect(verifyWithGoogle(old, both.clientId)).rejects.toThrow("Wrong recipient")
})

test("a validator with a limit of 300 minutes accepts the tokens of a new instance", async () => {
  const { id_token: id = "" } = await requestTokens(webClient, "openid")
  const minutes = 300 * 60
  expect(await verifyWithGoogle(id, webClient.clientId, minutes)).toHaveProperty("sub")
  const long = await addApplication({ tokenSettings: { idTokenLifetime: "43200s" } })
  const { id_token: old = "" } = await requestTokens(long, "openid")
  await expect(verifyWithGoogle(old, long.clientId, minutes)).rejects.toThrow("too far in future")
})
