import { afterAll, beforeAll, expect, test } from "vitest"
import {
  activateAuthorization,
  addAuthorization,
  deactivateAuthorization,
} from "../../src/domain/authorization/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { org } from "../../src/domain/org/index.ts"
import { addRoles, changeProject, createProject } from "../../src/domain/project/index.ts"
import {
  activateGrant,
  createGrant,
  deactivateGrant,
  removeGrant,
} from "../../src/domain/project-grant/index.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
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
  const { code = "" } = answerOf(await signIn(name))
  const { answer } = await askToken(provider, codeFields(code), `${client.id}:${client.secret}`)
  return String(answer.access_token)
}

const statusOf = async (token: string) => {
  const headers = { authorization: `Bearer ${token}` }
  return (await provider.send("/oidc/v1/userinfo", { headers })).status
}

test("who is not authorized where the project asks for it gets no code", async () => {
  expect((await signIn("olga")).path).not.toContain("code=")
  expect((await signIn("pat")).path).toContain("code=")
})

test("a token is worth nothing while its user's authorization is off", async () => {
  const token = await tokenOf("pat")
  expect(await statusOf(token)).toBe(200)
  await deactivateAuthorization(provider.cx(), "u1")
  expect(await statusOf(token)).toBe(401)
  expect((await signIn("pat")).path).not.toContain("code=")
  await activateAuthorization(provider.cx(), "u1")
  expect(await statusOf(token)).toBe(200)
})

test("over a grant of the project, roles name who gives them, and go with the grant", async () => {
  const cx = provider.cx()
  const editor = { key: "editor", displayName: "Editor" }
  await addRoles(cx, "guarded", [editor])
  const grant = { projectId: "guarded", grantedOrgId: "org2", roleKeys: ["editor"] }
  await createGrant(cx, "g1", grant)
  const userId = await provider.addPerson("guest", "org2")
  const given = { userId, projectId: "guarded", orgId: "org2", roleKeys: ["editor"] }
  expect((await signIn("guest")).path).not.toContain("code=")
  await provider.store.transact(cx, (tx) => addAuthorization(tx, "u2", given))
  await changeProject(cx, "guarded", { hasProjectCheck: true, projectRoleAssertion: true })

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
  await changeProject(cx, "guarded", { hasProjectCheck: false, projectRoleAssertion: false })
})

test("a token is worth nothing once the project keeps its user's organisation out", async () => {
  const cx = provider.cx()
  await changeProject(cx, "guarded", { projectRoleCheck: false })
  const token = await tokenOf("stranger")
  expect(await statusOf(token)).toBe(200)
  await changeProject(cx, "guarded", { hasProjectCheck: true })
  expect(await statusOf(token)).toBe(401)
  expect((await signIn("stranger")).path).not.toContain("code=")
  expect((await signIn("olga")).path).toContain("code=")
  await changeProject(cx, "guarded", { hasProjectCheck: false, projectRoleCheck: true })
})
