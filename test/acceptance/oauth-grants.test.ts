// The grants of users with two certified client libraries.
import * as oauth from "oauth4webapi"
import * as openid from "openid-client"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { browserOf } from "../oauth/provider.ts"
import { owner, type RunningServer, startLatchkey } from "../support/latchkey.ts"
import { addMachine, openService, type Service } from "./service.ts"

const insecure = { [oauth.allowInsecureRequests]: true }
const redirectUri = "https://app.example.com/callback"
const scope = "openid profile email offline_access"
const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"
const typeOf = (name: string) => `urn:ietf:params:oauth:token-type:${name}`

let service: Service
let webApp: App
let gatewayApp: App
/** After the kill. */
let restarted: RunningServer | undefined

type App = { readonly id: string; readonly secret: string; readonly config: openid.Configuration }

beforeAll(async () => {
  service = await openService()
  const { result } = await service.get("ListOrganizations")
  const organizationId = result[0].id
  const { projectId } = await service.get("CreateProject", { organizationId, name: "Shop" })
  webApp = await addApp(projectId, ["AUTHORIZATION_CODE", "REFRESH_TOKEN"])
  gatewayApp = await addApp(projectId, ["TOKEN_EXCHANGE"])
})
afterAll(async () => {
  await restarted?.stop()
  await service?.close()
})

async function addApp(projectId: string, grants: readonly string[]): Promise<App> {
  const made = await service.get("CreateApplication", {
    projectId,
    name: grants.join(" and "),
    oidcConfiguration: {
      redirectUris: [redirectUri],
      grantTypes: grants.map((grant) => `OIDC_GRANT_TYPE_${grant}`),
    },
  })
  const { clientId: id, clientSecret: secret } = made.oidcConfiguration
  const auth = openid.ClientSecretBasic(secret)
  const options = { execute: [openid.allowInsecureRequests, openid.enableNonRepudiationChecks] }
  const config = await openid.discovery(new URL(service.url), id, undefined, auth, options)
  return { id, secret, config }
}

/** Signs the owner in with a new browser, and exchanges the code by openid-client. */
async function signIn() {
  const send = (path: string, init?: RequestInit) =>
    fetch(`${service.url}${path}`, { redirect: "manual", ...init })
  const browser = browserOf({ send })
  const pkceCodeVerifier = openid.randomPKCECodeVerifier()
  const url = openid.buildAuthorizationUrl(webApp.config, {
    redirect_uri: redirectUri,
    scope,
    code_challenge_method: "S256",
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
  })
  const path = url.pathname + url.search
  const end = await browser.signIn(path, owner.loginName, owner.password)
  const back = end.path.startsWith(redirectUri) ? end : await browser.post(end, { answer: "allow" })
  const asked = { pkceCodeVerifier, idTokenExpected: true }
  return openid.authorizationCodeGrant(webApp.config, new URL(back.path), asked)
}

const isActive = async (token: string, app = webApp) =>
  (await openid.tokenIntrospection(app.config, token)).active

describe("openid-client", () => {
  test("refreshes, and again with the new refresh token", async () => {
    const first = await signIn()
    const next = await openid.refreshTokenGrant(webApp.config, first.refresh_token ?? "")
    expect(next.claims()).toMatchObject({
      sub: first.claims()?.sub,
      auth_time: first.claims()?.auth_time,
    })
    expect(next.refresh_token).not.toBe(first.refresh_token)
    const narrow = { scope: "openid email" }
    const last = await openid.refreshTokenGrant(webApp.config, next.refresh_token ?? "", narrow)
    expect(last.scope).toBe("openid email")
    const sub = String(first.claims()?.sub)
    const info = await openid.fetchUserInfo(webApp.config, last.access_token, sub)
    expect(info).toMatchObject({ sub, email: owner.email })
    expect(info).not.toHaveProperty("name")
  })

  test("issues one token family to concurrent refreshes", async () => {
    const { refresh_token: token = "" } = await signIn()
    const all = await Promise.all(
      Array.from({ length: 20 }, () => openid.refreshTokenGrant(webApp.config, token)),
    )
    const [one] = all
    await openid.refreshTokenGrant(webApp.config, one?.refresh_token ?? "")
    for (const { access_token } of all) expect(await isActive(access_token)).toBe(true)
    await openid.tokenRevocation(webApp.config, one?.refresh_token ?? "")
    for (const { access_token } of all) expect(await isActive(access_token)).toBe(false)
  })

  test("introspects a token and revokes only that token", async () => {
    const first = await signIn()
    const next = await openid.refreshTokenGrant(webApp.config, first.refresh_token ?? "")
    const said = await openid.tokenIntrospection(webApp.config, first.access_token)
    expect(said).toMatchObject({
      active: true,
      client_id: webApp.id,
      token_type: "Bearer",
      sub: first.claims()?.sub,
      username: owner.loginName,
      email: owner.email,
    })
    await openid.tokenRevocation(webApp.config, first.access_token)
    expect(await openid.tokenIntrospection(webApp.config, first.access_token)).toEqual({
      active: false,
    })
    expect(await isActive(next.access_token)).toBe(true)
    await openid.tokenRevocation(webApp.config, "a token that nobody knows")
  })

  test("exchanges a token", async () => {
    const { access_token: token } = await signIn()
    const tokens = await openid.genericGrantRequest(gatewayApp.config, exchangeGrant, {
      subject_token: token,
      subject_token_type: typeOf("access_token"),
      requested_token_type: typeOf("jwt"),
      scope: "openid email",
    })
    expect(tokens).toMatchObject({ issued_token_type: typeOf("jwt"), scope: "openid email" })
    const said = await openid.tokenIntrospection(gatewayApp.config, tokens.access_token)
    expect(said).toMatchObject({ active: true, client_id: gatewayApp.id, email: owner.email })
  })
})

describe("oauth4webapi", () => {
  const server = async () => {
    const issuer = new URL(service.url)
    return oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure))
  }
  const known = async ({ id, secret }: App) =>
    [await server(), { client_id: id }, oauth.ClientSecretBasic(secret)] as const

  test("refreshes, introspects the new token, and revokes it", async () => {
    const { refresh_token: token = "" } = await signIn()
    const [as, client, auth] = await known(webApp)
    const sent = await oauth.refreshTokenGrantRequest(as, client, auth, token, insecure)
    const tokens = await oauth.processRefreshTokenResponse(as, client, sent)
    const introspect = async () => {
      const asked = [as, client, auth, tokens.access_token, insecure] as const
      return oauth.processIntrospectionResponse(
        as,
        client,
        await oauth.introspectionRequest(...asked),
      )
    }
    expect((await introspect()).active).toBe(true)
    const last = tokens.refresh_token ?? ""
    const revoked = await oauth.revocationRequest(as, client, auth, last, insecure)
    await oauth.processRevocationResponse(revoked)
    expect(await introspect()).toEqual({ active: false })
    const again = await oauth.refreshTokenGrantRequest(as, client, auth, last, insecure)
    const refused = oauth.processRefreshTokenResponse(as, client, again)
    await expect(refused).rejects.toMatchObject({ status: 400, error: "invalid_grant" })
  })

  test("exchanges a token for an id_token, and for a user as an actor", async () => {
    const { access_token: token } = await signIn()
    const [as, client, auth] = await known(gatewayApp)
    const exchange = async (fields: Readonly<Record<string, string>>) => {
      const sent = await oauth.genericTokenEndpointRequest(
        ...([as, client, auth, exchangeGrant, new URLSearchParams(fields), insecure] as const),
      )
      const options = { recognizedTokenTypes: { n_a: () => undefined } }
      return oauth.processGenericTokenEndpointResponse(as, client, sent, options)
    }
    const subject = { subject_token: token, subject_token_type: typeOf("access_token") }
    const found = await exchange({ ...subject, requested_token_type: typeOf("id_token") })
    expect(found).toMatchObject({ token_type: "n_a", issued_token_type: typeOf("id_token") })

    const { result } = await service.get("ListOrganizations")
    const userId = await addMachine(service, result[0].id, "support")
    const { clientSecret } = await service.get("AddSecret", { userId })
    const resource = { instance: true }
    const roles = ["IAM_ADMIN_IMPERSONATOR"]
    await service.get("CreateAdministrator", { userId, resource, roles })
    const [, , supportAuth] = await known({ ...webApp, secret: clientSecret })
    const { projectId } = await project()
    const wish = `openid email urn:core:iam:org:project:id:${projectId}:aud`
    const supporter = { client_id: "support" }
    const asked = new URLSearchParams({ scope: wish })
    const got = await oauth.clientCredentialsGrantRequest(
      ...([as, supporter, supportAuth, asked, insecure] as const),
    )
    const actor = await oauth.processClientCredentialsResponse(as, supporter, got)
    const acting = {
      subject_token: String((await openid.tokenIntrospection(webApp.config, token)).sub),
      subject_token_type: "urn:core:params:oauth:token-type:user_id",
      actor_token: actor.access_token,
      actor_token_type: typeOf("access_token"),
    }
    // The default of a new instance: impersonation is off.
    await expect(exchange(acting)).rejects.toMatchObject({ error: "invalid_request" })
    await service.get("SetSecuritySettings", { enableImpersonation: true })
    const { access_token: acted } = await exchange(acting)
    const said = await openid.tokenIntrospection(gatewayApp.config, acted)
    expect(said).toMatchObject({ active: true, email: owner.email, act: { sub: userId } })
    expect((await service.call("ListUsers", {}, acted)).status).toBe(401)
  })

  async function project() {
    const { projects } = await service.get("ListProjects", {})
    const found = projects.find(({ name }: { readonly name: string }) => name === "Shop")
    return { projectId: found.projectId ?? found.id }
  }
})

test("a kill loses no refresh, no revocation and no use of a token", async () => {
  const revoked = await signIn()
  const kept = await signIn()
  await openid.tokenRevocation(webApp.config, revoked.access_token)
  const renewed = await openid.refreshTokenGrant(webApp.config, kept.refresh_token ?? "")
  const newest = await openid.refreshTokenGrant(webApp.config, renewed.refresh_token ?? "")
  await service.stop("SIGKILL")
  restarted = await startLatchkey({ data: service.data, port: Number(new URL(service.url).port) })
  expect(await isActive(revoked.access_token)).toBe(false)
  expect(await isActive(newest.access_token)).toBe(true)
  const after = await openid.refreshTokenGrant(webApp.config, newest.refresh_token ?? "")
  expect(await isActive(after.access_token)).toBe(true)
  // The first refresh token of the family was used before the kill, and its successor as well.
  const again = openid.refreshTokenGrant(webApp.config, kept.refresh_token ?? "")
  await expect(again).rejects.toMatchObject({ error: "invalid_grant" })
  expect(await isActive(after.access_token)).toBe(false)
})
