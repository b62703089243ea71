import { afterAll, beforeAll, expect, test } from "vitest"
import {
  activateAuthorization,
  addAuthorization,
  deactivateAuthorization,
} from "../../src/domain/authorization/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { org } from "../../src/domain/org/index.ts"
import { addRoles, createProject, updateProject } from "../../src/domain/project/index.ts"
import {
  activateGrant,
  createGrant,
  deactivateGrant,
  removeGrant,
} from "../../src/domain/project-grant/index.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

let provider: Provider
let client: NewClient
let pat: string
beforeAll(async () => {
  provider = await openProvider()
  const { orgId } = provider.setup
  await createProject(provider.cx(), "guarded", { orgId, name: "Guarded", projectRoleCheck: true })
  client = await provider.addClient({}, "guarded")
  pat = await provider.addPerson("pat")
  await createOrganization(provider.cx(), "org2", { name: "Globex" })
  await provider.addPerson("stranger", "org2")
  const given = { userId: pat, projectId: "guarded", orgId, roleKeys: [] }
  await provider.store.transact(provider.cx(), (tx) => addAuthorization(tx, "u1", given))
})
afterAll(() => provider.close())

const signIn = (name: string) => browserOf(provider).signIn(authorizePath(client.id), name)

const tokenOf = async (name: string) => {
  const { code = "" } = responseOf(await signIn(name))
  const { answer } = await sendTokenRequest(
    provider,
    codeFields(code),
    `${client.id}:${client.secret}`,
  )
  return String(answer.access_token)
}

const statusOf = async (token: string) => {
  const headers = { authorization: `Bearer ${token}` }
  return (await provider.send("/oidc/v1/userinfo", { headers })).status
}

test("a user without an authorization gets no code if the project requires one", async () => {
  expect((await signIn("olga")).path).not.toContain("code=")
  expect((await signIn("pat")).path).toContain("code=")
})

test("a token is invalid while its user's authorization is deactivated", async () => {
  const token = await tokenOf("pat")
  expect(await statusOf(token)).toBe(200)
  await deactivateAuthorization(provider.cx(), "u1")
  expect(await statusOf(token)).toBe(401)
  expect((await signIn("pat")).path).not.toContain("code=")
  await activateAuthorization(provider.cx(), "u1")
  expect(await statusOf(token)).toBe(200)
})

test("roles of a project grant name the granting organization, and end with it", async () => {
  const cx = provider.cx()
  const editor = { key: "editor", displayName: "Editor" }
  await addRoles(cx, "guarded", [editor])
  const grant = { projectId: "guarded", grantedOrgId: "org2", roleKeys: ["editor"] }
  await createGrant(cx, "g1", grant)
  const userId = await provider.addPerson("guest", "org2")
  const given = { userId, projectId: "guarded", orgId: "org2", roleKeys: ["editor"] }
  expect((await signIn("guest")).path).not.toContain("code=")
  await provider.store.transact(cx, (tx) => addAuthorization(tx, "u2", given))
  await updateProject(cx, "guarded", { hasProjectCheck: true, projectRoleAssertion: true })

  const token = await tokenOf("guest")
  const claims = async () => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await provider.send("/oidc/v1/userinfo", { headers })
    if (answer.status !== 200) return answer.status
    return Object(await answer.json())["urn:core:iam:org:project:guarded:roles"]
  }
  const { primaryDomain } = cx.store.state(cx, org, "org2")
  expect(await claims()).toEqual({ editor: { org2: primaryDomain } })
  await deactivateGrant(cx, "g1")
  expect(await claims()).toBe(401)
  await activateGrant(cx, "g1")
  expect(await claims()).toEqual({ editor: { org2: primaryDomain } })
  await removeGrant(cx, "g1")
  expect(await claims()).toBe(401)
  expect((await signIn("guest")).path).not.toContain("code=")
  await updateProject(cx, "guarded", { hasProjectCheck: false, projectRoleAssertion: false })
})

test("a token is invalid once the project excludes its user's organization", async () => {
  const cx = provider.cx()
  await updateProject(cx, "guarded", { projectRoleCheck: false })
  const token = await tokenOf("stranger")
  expect(await statusOf(token)).toBe(200)
  await updateProject(cx, "guarded", { hasProjectCheck: true })
  expect(await statusOf(token)).toBe(401)
  expect((await signIn("stranger")).path).not.toContain("code=")
  expect((await signIn("olga")).path).toContain("code=")
  await updateProject(cx, "guarded", { hasProjectCheck: false, projectRoleCheck: true })
})
