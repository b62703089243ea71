import { decodeJwt } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { changeApplication, findClient, type OidcConfig } from "../../src/domain/app/index.ts"
import { addAuthorization } from "../../src/domain/authorization/index.ts"
import { addRoles, changeProject } from "../../src/domain/project/index.ts"
import { addApi, addExistingClient, basicOf } from "./clients.ts"
import { exchangeGrant, typeOf } from "./exchange.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  redirectUri,
} from "./provider.ts"
import { letRegister, managed, sendMetadata } from "./registering.ts"

let provider: Provider
/** Made now, and before the settings that say what its ID tokens contain. */
let fresh: NewClient
let existing: NewClient
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
  fresh = await provider.addClient(oidc)
  existing = await addExistingClient(provider, oidc)
})
afterAll(() => provider.close())

const fieldsOf = ({ id, secret }: NewClient) => ({
  fields: secret === "" ? { client_id: id } : {},
  basic: secret === "" ? undefined : basicOf(id, secret),
})

async function signIn(client: NewClient, changes: Readonly<Record<string, string>> = {}) {
  const end = await browserOf(provider).signIn(authorizePath(client.id, changes))
  const { fields, basic } = fieldsOf(client)
  return (await askToken(provider, codeFields(answerOf(end).code ?? "", fields), basic)).answer
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
    return String((await askToken(provider, asked, basic)).answer.id_token)
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
    expect(decodeJwt(await ask(fresh)).aud).toBe(fresh.id)
    expect(decodeJwt(await ask(existing)).aud).toEqual([existing.id, provider.projectId])
  })

  test("follows the switch of the application", async () => {
    const other = await provider.addClient({ idTokenProjectAudience: true })
    expect(decodeJwt(await idTokenOf(other)).aud).toEqual([other.id, provider.projectId])
    const oidc = { idTokenProjectAudience: false }
    await changeApplication(provider.cx(), other.appId, { oidc })
    expect(decodeJwt(await idTokenOf(other)).aud).toBe(other.id)
  })

  test("leaves the project in the audience of access tokens", async () => {
    const api = await addApi(provider, "basic")
    const { access_token: token } = await signIn(fresh)
    const headers = {
      authorization: `Basic ${Buffer.from(`${api.id}:${api.secret}`).toString("base64")}`,
    }
    const init = { method: "POST", body: new URLSearchParams({ token: String(token) }), headers }
    const told = await (await provider.send("/oauth/v2/introspect", init)).json()
    expect(told).toMatchObject({ active: true, aud: [fresh.id, provider.projectId] })
  })

  test("of both forms names the user in id_token_hint", async () => {
    for (const client of [fresh, existing]) {
      const browser = browserOf(provider)
      const end = await browser.signIn(authorizePath(client.id))
      const { fields, basic } = fieldsOf(client)
      const code = codeFields(answerOf(end).code ?? "", fields)
      const hint = String((await askToken(provider, code, basic)).answer.id_token)
      const again = authorizePath(client.id, { prompt: "none", id_token_hint: hint })
      expect(answerOf(await browser.go(again))).toHaveProperty("code")
      const query = new URLSearchParams({ id_token_hint: hint, client_id: client.id })
      await browser.go(`/oidc/v1/endsession?${query}`)
      expect(answerOf(await browser.go(again)).error).toBe("login_required")
    }
  })

  test("of both forms lets an application of the project exchange it", async () => {
    const gateway = await provider.addClient({ grantTypes: ["token_exchange"] })
    for (const client of [fresh, existing]) {
      const subject = { subject_token_type: typeOf("id_token") }
      const { status } = await askToken(
        provider,
        { grant_type: exchangeGrant, subject_token: await idTokenOf(client), ...subject },
        basicOf(gateway.id, gateway.secret),
      )
      expect(status).toBe(200)
    }
  })

  test("of an exchange names projects to a new application only on request", async () => {
    const exchanged = async (changes: Readonly<Record<string, string>>, client = fresh) => {
      const { access_token: token } = await signIn(fresh)
      const types = {
        subject_token_type: typeOf("access_token"),
        requested_token_type: typeOf("id_token"),
      }
      const asked = { grant_type: exchangeGrant, subject_token: String(token), ...types }
      const basic = basicOf(client.id, client.secret)
      const { answer } = await askToken(provider, { ...asked, ...changes }, basic)
      return decodeJwt(String(answer.access_token)).aud
    }
    expect(await exchanged({})).toBe(fresh.id)
    // Clients that compare `aud` alone must not take the ID token of another one for theirs.
    const gateway = await provider.addClient({ grantTypes: ["token_exchange"] })
    expect(await exchanged({}, gateway)).toEqual([fresh.id, provider.projectId])
    const audience = `${fresh.id} ${provider.projectId}`
    expect(await exchanged({ audience })).toEqual([fresh.id, provider.projectId])
  })
})

describe("roles on the application's own project", () => {
  const scope = "openid urn:core:iam:org:project:roles"
  const namesOf = (claims: object) => Object.keys(claims).filter((name) => name.endsWith(":roles"))

  test("are returned in one claim to a new application, in two to an existing one", async () => {
    for (const [client, names] of [
      [fresh, [qualified]],
      [existing, [generic, qualified]],
    ] as const) {
      const { access_token: token, id_token: id } = await signIn(client, { scope })
      expect(namesOf(await userinfo(token))).toEqual(names)
      expect(namesOf(decodeJwt(String(id)))).toEqual(names)
    }
  })

  test("follow the switch of the application", async () => {
    const other = await provider.addClient({ genericRolesClaim: true })
    const { access_token: token } = await signIn(other, { scope })
    expect(namesOf(await userinfo(token))).toEqual([generic, qualified])
    await changeApplication(provider.cx(), other.appId, { oidc: { genericRolesClaim: false } })
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
    // Clients of the management API request what this one names, and it needs neither.
    const own = await (await provider.send("/.well-known/oauth-protected-resource")).json()
    expect(own.scopes_supported).not.toContain("groups")
  })

  test("are granted where they are requested, and fill flat lists", async () => {
    const answer = await signIn(fresh, { scope: both })
    expect(answer.scope).toBe(both)
    expect(await userinfo(answer.access_token)).toMatchObject(editor)
    const one = await signIn(fresh, { scope: "openid groups" })
    const said = await userinfo(one.access_token)
    expect([said.groups, said.roles]).toEqual([["editor"], undefined])
    const neither = await signIn(fresh, { scope: "openid" })
    expect(await userinfo(neither.access_token)).not.toHaveProperty("groups")
  })

  test("fill empty lists for a user without roles", async () => {
    await provider.addPerson("nina")
    const end = await browserOf(provider).signIn(authorizePath(fresh.id, { scope: both }), "nina")
    const code = codeFields(answerOf(end).code ?? "")
    const { answer } = await askToken(provider, code, basicOf(fresh.id, fresh.secret))
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
    expect(decodeJwt(await idTokenOf(fresh, { scope: both }))).not.toHaveProperty("groups")
    const claims = JSON.stringify({ id_token: { groups: null }, userinfo: { roles: null } })
    const asked = await signIn(fresh, { scope: "openid", claims })
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
    const headers = { authorization: `Basic ${btoa(basicOf(client.id, client.secret))}` }
    const init = { method: "POST", body: new URLSearchParams({ token: String(access) }), headers }
    const introspected = await (await provider.send("/oauth/v2/introspect", init)).json()
    const places = [decodeJwt(String(id)), decodeJwt(String(access))]
    const claims = [...places, await userinfo(access), introspected]
    return claims.map(({ groups, roles }) => ({ groups, roles }))
  }
  const everywhere = (lists: object) => Array(4).fill({ groups: undefined, ...lists })
  const set = (appId: string, groupsClaim: OidcConfig["groupsClaim"]) =>
    changeApplication(provider.cx(), appId, { oidc: { ...(groupsClaim && { groupsClaim }) } })

  test("is in all of its tokens without a scope, whatever the project states", async () => {
    const client = await provider.addClient({ tokenType: "jwt", groupsClaim: "groups" })
    expect(await at(client)).toEqual(everywhere({ groups: ["editor"] }))
    await changeProject(provider.cx(), provider.projectId, { groupsClaim: "roles" })
    expect(await at(client)).toEqual(everywhere({ groups: ["editor"] }))
    await set(client.appId, "off")
    expect(await at(client)).toEqual(everywhere({}))
    await set(client.appId, "unspecified")
    expect(await at(client)).toEqual(everywhere({ roles: ["editor"] }))
    await changeProject(provider.cx(), provider.projectId, { groupsClaim: "off" })
    expect(await at(client)).toEqual(everywhere({}))
  })

  test("is that of the project for an application that states nothing", async () => {
    await changeProject(provider.cx(), provider.projectId, { groupsClaim: "groups" })
    const claims = decodeJwt(await idTokenOf(existing, { scope: "openid" }))
    await changeProject(provider.cx(), provider.projectId, { groupsClaim: "off" })
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
    const { answer } = await askToken(provider, asked, basicOf(client.id, client.secret))
    const told = { email: "olga@example.com", groups: ["editor"] }
    expect(decodeJwt(String(answer.id_token))).toMatchObject(told)
    expect(await userinfo(answer.access_token)).toMatchObject(told)
  })

  test("is on for self-registered applications, and off by the API's default", async () => {
    await letRegister(provider)
    const { answer } = await sendMetadata(provider, { redirect_uris: [redirectUri] })
    const registered = findClient(provider.cx(), String(answer.client_id))?.state
    expect(registered).toMatchObject({ oidc: { idTokenUserinfoAssertion: true } })
    expect(decodeJwt(await idTokenOf(fresh))).not.toHaveProperty("email")
  })

  test("stays as it was for a registration from before that changes", async () => {
    await letRegister(provider)
    const { answer } = await sendMetadata(provider, { redirect_uris: [redirectUri] })
    const clientId = String(answer.client_id)
    const oidc = { idTokenUserinfoAssertion: false }
    const appId = findClient(provider.cx(), clientId)?.appId ?? ""
    await changeApplication(provider.cx(), appId, { oidc })
    const change = { client_id: clientId, redirect_uris: [redirectUri], client_name: "Other" }
    const { status } = await sendMetadata(provider, change, { method: "PUT", ...managed(answer) })
    expect(status).toBe(200)
    const state = findClient(provider.cx(), clientId)?.state
    expect(state).toMatchObject({ name: "Other", oidc })
  })
})
