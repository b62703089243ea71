// At every endpoint, a role of a group applies to its users until the membership ends.
import { decodeJwt } from "jose"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { createGroupAuthorization } from "../../src/domain/authorization/group/commands.ts"
import { createGroup } from "../../src/domain/group/index.ts"
import { addToGroup, removeFromGroup } from "../../src/domain/group/member.ts"
import {
  addGroupsToGroup,
  deleteGroup,
  removeGroupsFromGroup,
} from "../../src/domain/group/member-group.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { addRoles, createProject } from "../../src/domain/project/index.ts"
import { attributesFor } from "../../src/saml/response/attributes.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

const host = "wiki.example.com"
const callback = `https://${host}/.latchkey/callback`
/** The claims of the application's own project, and of a project by its ID. */
const rolesClaims = ["urn:core:iam:org:project:roles", "urn:core:iam:org:project:wiki:roles"]

let provider: Provider
let client: NewClient
let proxied: NewClient
let pat: string
beforeAll(async () => {
  provider = await openProvider()
  const cx = provider.cx()
  const { orgId } = provider.setup
  const project = { orgId, name: "Wiki", projectRoleCheck: true, projectRoleAssertion: true }
  await createProject(cx, "wiki", project)
  await addRoles(cx, "wiki", [{ key: "editor", displayName: "Editor" }])
  const grantTypes = ["authorization_code", "refresh_token"] as const
  const jwt = { tokenType: "jwt", accessTokenRoleAssertion: true } as const
  const idToken = { idTokenRoleAssertion: true } as const
  client = await provider.addClient({ grantTypes: [...grantTypes], ...jwt, ...idToken }, "wiki")
  const accessRules = [{ prefix: "/edit", everybody: false, roles: ["editor"] }]
  proxied = await provider.addClient(
    { redirectUris: [callback], pkce: "required", accessRules },
    "wiki",
  )
  pat = await provider.addPerson("pat")
  for (const id of ["staff", "sub"]) {
    await createGroup(cx, id, { orgId, name: id, description: "" })
  }
  const given = { groupId: "staff", projectId: "wiki", orgId, roleKeys: ["editor"] }
  await createGroupAuthorization(cx, "a1", given)
  await addGroupsToGroup(cx, "staff", { groupIds: ["sub"], confirmed: [] })
})
afterAll(() => provider.close())
beforeEach(() => addMembership())

const addMembership = () => addToGroup(provider.cx(), "sub", { userIds: [pat], confirmed: [] })
const removeMembership = () => removeFromGroup(provider.cx(), "sub", [pat])

const basic = () => `${client.id}:${client.secret}`
const scope = "openid profile offline_access"
const signIn = (id = client.id) => browserOf(provider).signIn(authorizePath(id, { scope }), "pat")

async function tokens() {
  const { code = "" } = responseOf(await signIn())
  const { answer } = await sendTokenRequest(provider, codeFields(code), basic())
  return answer
}

async function userinfo(token: unknown) {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await provider.send("/oidc/v1/userinfo", { headers })
  return answer.status === 200 ? Object(await answer.json()) : answer.status
}

async function introspect(token: unknown) {
  const headers = { authorization: `Basic ${Buffer.from(basic()).toString("base64")}` }
  const body = new URLSearchParams({ token: String(token) })
  const answer = await provider.send("/oauth/v2/introspect", { method: "POST", body, headers })
  return Object(await answer.json())
}

const refresh = (token: unknown) =>
  sendTokenRequest(provider, { grant_type: "refresh_token", refresh_token: String(token) }, basic())

const hasRole = (claims: object) =>
  rolesClaims.some((name) => "editor" in Object(Reflect.get(claims, name)))

describe("a role of a group that a user is in through another group", () => {
  test("is in every token, also after a refresh, and in userinfo and introspection", async () => {
    const first = await tokens()
    const { status, answer: second } = await refresh(first.refresh_token)
    expect(status).toBe(200)
    for (const each of [first, second]) {
      expect(hasRole(decodeJwt(String(each.id_token)))).toBe(true)
      expect(hasRole(decodeJwt(String(each.access_token)))).toBe(true)
      expect(hasRole(await userinfo(each.access_token))).toBe(true)
      expect(hasRole(await introspect(each.access_token))).toBe(true)
    }
  })

  test.each([
    ["the membership", removeMembership, addMembership],
    [
      "the nesting",
      () => removeGroupsFromGroup(provider.cx(), "staff", ["sub"]),
      () => addGroupsToGroup(provider.cx(), "staff", { groupIds: ["sub"], confirmed: [] }),
    ],
  ] as const)("ends at every endpoint with %s", async (_, end, begin) => {
    const { code = "" } = responseOf(await signIn())
    const { access_token, refresh_token } = await tokens()
    await end()
    expect(await userinfo(access_token)).toBe(401)
    expect(await introspect(access_token)).toEqual({ active: false })
    expect((await refresh(refresh_token)).answer.error).toBe("invalid_grant")
    const redeemed = await sendTokenRequest(provider, codeFields(code), basic())
    expect(redeemed.answer.error).toBe("invalid_grant")
    expect((await signIn()).path).not.toContain("code=")
    await begin()
    expect(hasRole(await userinfo(access_token))).toBe(true)
    expect((await signIn()).path).toContain("code=")
  })

  test("grants access through forward auth until the membership ends", async () => {
    const forward = (cookie: string) =>
      provider.send(`/forward-auth/id.example.com/${proxied.id}`, {
        headers: {
          accept: "text/html",
          cookie,
          "x-forwarded-method": "GET",
          "x-forwarded-host": host,
          "x-forwarded-uri": "/edit",
        },
      })
    const challenge = await forward("")
    const cookies = (answer: Response) =>
      answer.headers
        .getSetCookie()
        .map((line) => line.split(";")[0])
        .join("; ")
    const to = new URL(challenge.headers.get("location") ?? "", issuer)
    const back = new URL((await browserOf(provider).signIn(to.pathname + to.search, "pat")).path)
    const done = await provider.send(`/forward-auth/id.example.com/${proxied.id}`, {
      headers: {
        accept: "text/html",
        cookie: cookies(challenge),
        "x-forwarded-method": "GET",
        "x-forwarded-host": host,
        "x-forwarded-uri": back.pathname + back.search,
      },
    })
    expect((await forward(cookies(done))).status).toBe(200)
    expect((await forward(cookies(done))).headers.get("remote-groups")).toBe("editor")
    await removeMembership()
    expect((await forward(cookies(done))).status).not.toBe(200)
    await addMembership()
    expect((await forward(cookies(done))).status).toBe(200)
  })

  test("is a SAML attribute, until the membership ends", async () => {
    const state = {
      projectId: "wiki",
      saml: { attributes: { names: "short", roles: "groups", mappings: [] } },
    }
    const described = { userId: pat, state, user: {} }
    const values = () =>
      attributesFor(provider.cx(), described as never).find(({ name }) => name === "groups")?.values
    expect(values()).toEqual(["editor"])
    await removeMembership()
    expect(values()).toBeUndefined()
  })

  test("does not apply to users of another organization's group of the same name", async () => {
    const cx = provider.cx()
    await createOrganization(cx, "org2", { name: "Globex" })
    const stranger = await provider.addPerson("stranger", "org2")
    const added = addToGroup(cx, "staff", { userIds: [stranger], confirmed: [] })
    await expect(added).rejects.toMatchObject({ id: "user.missing" })
    await createGroup(cx, "theirs", { orgId: "org2", name: "staff", description: "" })
    await addToGroup(cx, "theirs", { userIds: [stranger], confirmed: [] })
    const nested = addGroupsToGroup(cx, "staff", { groupIds: ["theirs"], confirmed: [] })
    await expect(nested).rejects.toMatchObject({ id: "group.missing" })
    const signedIn = browserOf(provider).signIn(authorizePath(client.id, { scope }), "stranger")
    expect((await signedIn).path).not.toContain("code=")
  })

  test("ends with the group", async () => {
    const { access_token } = await tokens()
    await deleteGroup(provider.cx(), "staff")
    expect(await userinfo(access_token)).toBe(401)
    expect((await signIn()).path).not.toContain("code=")
  })
})
