import { decodeJwt } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { findClient, type OidcConfig, updateApplication } from "../../src/domain/app/index.ts"
import { addAuthorization } from "../../src/domain/authorization/index.ts"
import { addRoles, updateProject } from "../../src/domain/project/index.ts"
import { addApi, addExistingClient, encodeBasic } from "./clients.ts"
import { exchangeGrant, typeOf } from "./exchange.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  redirectUri,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"
import { enableRegistration, managementOf, sendMetadata } from "./registration.ts"

let provider: Provider
/** A new application, and one from before the settings for ID token content. */
let newApp: NewClient
let existingApp: NewClient
let generic: string
let qualified: string

beforeAll(async () => {
  provider = await openProvider()
  const { projectId } = provider
  const { orgId, ownerId: userId } = provider.setup
  generic = "urn:core:iam:org:project:roles"
  qualified = `urn:core:iam:org:project:${projectId}:roles`
  await addRoles(provider.cx(), projectId, [{ key: "editor", displayName: "Editor", group: "" }])
  const given = { userId, projectId, orgId, roleKeys: ["editor"] }
  await provider.store.transact(provider.cx(), (tx) => addAuthorization(tx, "a1", given))
  const grantTypes = ["authorization_code", "refresh_token", "implicit", "token_exchange"] as const
  const oidc = { grantTypes, responseTypes: ["code", "id_token"] } as const
  newApp = await provider.addClient(oidc)
  existingApp = await addExistingClient(provider, oidc)
})
afterAll(() => provider.close())

const fieldsOf = ({ id, secret }: NewClient) => ({
  fields: secret === "" ? { client_id: id } : {},
  basic: secret === "" ? undefined : encodeBasic(id, secret),
})

async function signIn(client: NewClient, changes: Readonly<Record<string, string>> = {}) {
  const end = await browserOf(provider).signIn(authorizePath(client.id, changes))
  const { fields, basic } = fieldsOf(client)
  return (await sendTokenRequest(provider, codeFields(responseOf(end).code ?? "", fields), basic))
    .answer
}

const idTokenOf = async (client: NewClient, changes?: Readonly<Record<string, string>>) =>
  String((await signIn(client, changes)).id_token)

const userinfo = async (token: unknown) => {
  const headers = { authorization: `Bearer ${token}` }
  return (await provider.send("/oidc/v1/userinfo", { headers })).json()
}

describe("aud of an ID token", () => {
  const offline = { scope: "openid offline_access" }
  const refreshed = async (client: NewClient) => {
    const { refresh_token: token } = await signIn(client, offline)
    const { fields, basic } = fieldsOf(client)
    const asked = { grant_type: "refresh_token", refresh_token: String(token), ...fields }
    return String((await sendTokenRequest(provider, asked, basic)).answer.id_token)
  }
  const implicit = async (client: NewClient) => {
    const changes = { response_type: "id_token", code_challenge: "", code_challenge_method: "" }
    const path = authorizePath(client.id, changes).replace(/&code_challenge[^&]*/g, "")
    const end = await browserOf(provider).signIn(path)
    return new URLSearchParams(new URL(end.path).hash.slice(1)).get("id_token") ?? ""
  }
  test.each([
    ["a code", idTokenOf],
    ["a refresh token", refreshed],
    ["the implicit flow", implicit],
  ])("by %s is the client ID of a new application, as a single string", async (_, ask) => {
    expect(decodeJwt(await ask(newApp)).aud).toBe(newApp.id)
    expect(decodeJwt(await ask(existingApp)).aud).toEqual([existingApp.id, provider.projectId])
  })

  test("follows the application's setting", async () => {
    const other = await provider.addClient({ idTokenProjectAudience: true })
    expect(decodeJwt(await idTokenOf(other)).aud).toEqual([other.id, provider.projectId])
    const oidc = { idTokenProjectAudience: false }
    await updateApplication(provider.cx(), other.appId, { oidc })
    expect(decodeJwt(await idTokenOf(other)).aud).toBe(other.id)
  })

  test("leaves the project in the audience of access tokens", async () => {
    const api = await addApi(provider, "basic")
    const { access_token: token } = await signIn(newApp)
    const headers = {
      authorization: `Basic ${Buffer.from(`${api.id}:${api.secret}`).toString("base64")}`,
    }
    const init = { method: "POST", body: new URLSearchParams({ token: String(token) }), headers }
    const told = await (await provider.send("/oauth/v2/introspect", init)).json()
    expect(told).toMatchObject({ active: true, aud: [newApp.id, provider.projectId] })
  })

  test("of both forms identifies the user in id_token_hint", async () => {
    for (const client of [newApp, existingApp]) {
      const browser = browserOf(provider)
      const end = await browser.signIn(authorizePath(client.id))
      const { fields, basic } = fieldsOf(client)
      const code = codeFields(responseOf(end).code ?? "", fields)
      const hint = String((await sendTokenRequest(provider, code, basic)).answer.id_token)
      const again = authorizePath(client.id, { prompt: "none", id_token_hint: hint })
      expect(responseOf(await browser.go(again))).toHaveProperty("code")
      const query = new URLSearchParams({ id_token_hint: hint, client_id: client.id })
      await browser.go(`/oidc/v1/endsession?${query}`)
      expect(responseOf(await browser.go(again)).error).toBe("login_required")
    }
  })

  test("of both forms can be exchanged by an application of the project", async () => {
    const gateway = await provider.addClient({ grantTypes: ["token_exchange"] })
    for (const client of [newApp, existingApp]) {
      const subject = { subject_token_type: typeOf("id_token") }
      const { status } = await sendTokenRequest(
        provider,
        { grant_type: exchangeGrant, subject_token: await idTokenOf(client), ...subject },
        encodeBasic(gateway.id, gateway.secret),
      )
      expect(status).toBe(200)
    }
  })

  test("of an exchange contains projects for a new application only on request", async () => {
    const exchanged = async (changes: Readonly<Record<string, string>>, client = newApp) => {
      const { access_token: token } = await signIn(newApp)
      const types = {
        subject_token_type: typeOf("access_token"),
        requested_token_type: typeOf("id_token"),
      }
      const asked = { grant_type: exchangeGrant, subject_token: String(token), ...types }
      const basic = encodeBasic(client.id, client.secret)
      const { answer } = await sendTokenRequest(provider, { ...asked, ...changes }, basic)
      return decodeJwt(String(answer.access_token)).aud
    }
    expect(await exchanged({})).toBe(newApp.id)
    // Clients that compare `aud` alone must not accept the ID token of another one.
    const gateway = await provider.addClient({ grantTypes: ["token_exchange"] })
    expect(await exchanged({}, gateway)).toEqual([newApp.id, provider.projectId])
    const audience = `${newApp.id} ${provider.projectId}`
    expect(await exchanged({ audience })).toEqual([newApp.id, provider.projectId])
  })
})

describe("roles on the application's own project", () => {
  const scope = "openid urn:core:iam:org:project:roles"
  const namesOf = (claims: object) => Object.keys(claims).filter((name) => name.endsWith(":roles"))

  test("are returned in one claim to a new application, in two to an existing one", async () => {
    for (const [client, names] of [
      [newApp, [qualified]],
      [existingApp, [generic, qualified]],
    ] as const) {
      const { access_token: token, id_token: id } = await signIn(client, { scope })
      expect(namesOf(await userinfo(token))).toEqual(names)
      expect(namesOf(decodeJwt(String(id)))).toEqual(names)
    }
  })

  test("follow the application's setting", async () => {
    const other = await provider.addClient({ genericRolesClaim: true })
    const { access_token: token } = await signIn(other, { scope })
    expect(namesOf(await userinfo(token))).toEqual([generic, qualified])
    await updateApplication(provider.cx(), other.appId, { oidc: { genericRolesClaim: false } })
    expect(namesOf(await userinfo(token))).toEqual([qualified])
  })
})

describe("the scopes groups and roles", () => {
  const both = "openid groups roles"
  const editor = { groups: ["editor"], roles: ["editor"] }

  test("are in discovery, with the claims of the same name", async () => {
    const document = await (await provider.send("/.well-known/openid-configuration")).json()
    expect(document.scopes_supported).toEqual(expect.arrayContaining(["groups", "roles"]))
    expect(document.claims_supported).toEqual(expect.arrayContaining(["groups", "roles"]))
    // Clients of the management API request the scopes in this document, and the API needs neither.
    const own = await (await provider.send("/.well-known/oauth-protected-resource")).json()
    expect(own.scopes_supported).not.toContain("groups")
  })

  test("are granted if requested, and fill flat lists", async () => {
    const answer = await signIn(newApp, { scope: both })
    expect(answer.scope).toBe(both)
    expect(await userinfo(answer.access_token)).toMatchObject(editor)
    const one = await signIn(newApp, { scope: "openid groups" })
    const said = await userinfo(one.access_token)
    expect([said.groups, said.roles]).toEqual([["editor"], undefined])
    const neither = await signIn(newApp, { scope: "openid" })
    expect(await userinfo(neither.access_token)).not.toHaveProperty("groups")
  })

  test("fill empty lists for a user without roles", async () => {
    await provider.addPerson("nina")
    const end = await browserOf(provider).signIn(authorizePath(newApp.id, { scope: both }), "nina")
    const code = codeFields(responseOf(end).code ?? "")
    const { answer } = await sendTokenRequest(provider, code, encodeBasic(newApp.id, newApp.secret))
    expect(await userinfo(answer.access_token)).toMatchObject({ groups: [], roles: [] })
  })

  test("are in JWT access tokens (RFC 9068 §2.2.3.1)", async () => {
    const jwt = await provider.addClient({ tokenType: "jwt" })
    const { access_token: token } = await signIn(jwt, { scope: both })
    expect(decodeJwt(String(token))).toMatchObject(editor)
  })

  test("are in ID tokens with the profile, else only by the claims parameter", async () => {
    const profiled = await provider.addClient({ idTokenUserinfoAssertion: true })
    expect(decodeJwt(await idTokenOf(profiled, { scope: both }))).toMatchObject(editor)
    expect(decodeJwt(await idTokenOf(newApp, { scope: both }))).not.toHaveProperty("groups")
    const claims = JSON.stringify({ id_token: { groups: null }, userinfo: { roles: null } })
    const asked = await signIn(newApp, { scope: "openid", claims })
    const id = decodeJwt(String(asked.id_token))
    const said = await userinfo(asked.access_token)
    expect([id.groups, id.roles, said.groups, said.roles]).toEqual([
      ["editor"],
      undefined,
      undefined,
      ["editor"],
    ])
  })
})

describe("the groups claim of an application", () => {
  const at = async (client: NewClient) => {
    const { id_token: id, access_token: access } = await signIn(client, { scope: "openid" })
    const headers = { authorization: `Basic ${btoa(encodeBasic(client.id, client.secret))}` }
    const init = { method: "POST", body: new URLSearchParams({ token: String(access) }), headers }
    const introspected = await (await provider.send("/oauth/v2/introspect", init)).json()
    const places = [decodeJwt(String(id)), decodeJwt(String(access))]
    const claims = [...places, await userinfo(access), introspected]
    return claims.map(({ groups, roles }) => ({ groups, roles }))
  }
  const everywhere = (lists: object) => Array(4).fill({ groups: undefined, ...lists })
  const set = (appId: string, groupsClaim: OidcConfig["groupsClaim"]) =>
    updateApplication(provider.cx(), appId, { oidc: { ...(groupsClaim && { groupsClaim }) } })

  test("is in all of its tokens without a scope, whatever the project states", async () => {
    const client = await provider.addClient({ tokenType: "jwt", groupsClaim: "groups" })
    expect(await at(client)).toEqual(everywhere({ groups: ["editor"] }))
    await updateProject(provider.cx(), provider.projectId, { groupsClaim: "roles" })
    expect(await at(client)).toEqual(everywhere({ groups: ["editor"] }))
    await set(client.appId, "off")
    expect(await at(client)).toEqual(everywhere({}))
    await set(client.appId, "unspecified")
    expect(await at(client)).toEqual(everywhere({ roles: ["editor"] }))
    await updateProject(provider.cx(), provider.projectId, { groupsClaim: "off" })
    expect(await at(client)).toEqual(everywhere({}))
  })

  test("is that of the project for an application without a setting", async () => {
    await updateProject(provider.cx(), provider.projectId, { groupsClaim: "groups" })
    const claims = decodeJwt(await idTokenOf(existingApp, { scope: "openid" }))
    await updateProject(provider.cx(), provider.projectId, { groupsClaim: "off" })
    expect(claims).toMatchObject({ groups: ["editor"] })
  })
})

describe("the profile in ID tokens", () => {
  test("has the claims of the granted scopes, and no empty ones", async () => {
    const profiled = await provider.addClient({ idTokenUserinfoAssertion: true })
    const claims = decodeJwt(await idTokenOf(profiled))
    expect(claims).toMatchObject({
      name: "Olga Owner",
      given_name: "Olga",
      family_name: "Owner",
      preferred_username: "olga",
      email: "olga@example.com",
      email_verified: true,
    })
    for (const name of ["nickname", "picture", "gender", "phone_number", "groups", "roles"]) {
      expect(claims).not.toHaveProperty(name)
    }
  })

  test("stays in the ID token and at userinfo after a refresh, with the lists", async () => {
    const grantTypes = ["authorization_code", "refresh_token"] as const
    const client = await provider.addClient({ idTokenUserinfoAssertion: true, grantTypes })
    const first = await signIn(client, { scope: "openid email groups offline_access" })
    const asked = { grant_type: "refresh_token", refresh_token: String(first.refresh_token) }
    const { answer } = await sendTokenRequest(
      provider,
      asked,
      encodeBasic(client.id, client.secret),
    )
    const told = { email: "olga@example.com", groups: ["editor"] }
    expect(decodeJwt(String(answer.id_token))).toMatchObject(told)
    expect(await userinfo(answer.access_token)).toMatchObject(told)
  })

  test("is on for self-registered applications, and off by the API's default", async () => {
    await enableRegistration(provider)
    const { answer } = await sendMetadata(provider, { redirect_uris: [redirectUri] })
    const registered = findClient(provider.cx(), String(answer.client_id))?.state
    expect(registered).toMatchObject({ oidc: { idTokenUserinfoAssertion: true } })
    expect(decodeJwt(await idTokenOf(newApp))).not.toHaveProperty("email")
  })

  test("is unchanged for a registration from before the setting", async () => {
    await enableRegistration(provider)
    const { answer } = await sendMetadata(provider, { redirect_uris: [redirectUri] })
    const clientId = String(answer.client_id)
    const oidc = { idTokenUserinfoAssertion: false }
    const appId = findClient(provider.cx(), clientId)?.appId ?? ""
    await updateApplication(provider.cx(), appId, { oidc })
    const change = { client_id: clientId, redirect_uris: [redirectUri], client_name: "Other" }
    const { status } = await sendMetadata(provider, change, {
      method: "PUT",
      ...managementOf(answer),
    })
    expect(status).toBe(200)
    const state = findClient(provider.cx(), clientId)?.state
    expect(state).toMatchObject({ name: "Other", oidc })
  })
})
