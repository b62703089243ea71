import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { createProject, updateProject } from "../../src/domain/project/index.ts"
import { withScriptClaims } from "../../src/oauth/token/claims/script-claims.ts"
import { bindScripts } from "../domain/action/bound.ts"
import { type NewClient, openProvider, type Provider } from "./provider.ts"

let provider: Provider
let client: NewClient
let foreign: NewClient
let pat: string
beforeAll(async () => {
  provider = await openProvider()
  const cx = provider.cx()
  await createOrganization(cx, "org2", { name: "Globex" })
  await createProject(cx, "foreign", { orgId: "org2", name: "foreign" })
  client = await provider.addClient()
  foreign = await provider.addClient({}, "foreign")
  pat = await provider.addPerson("pat")
})
afterAll(() => provider.close())

const unbind: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const each of unbind.splice(0)) await each()
})

/** The role list of a user whose organization's scripts set the claim. */
async function listRoles(clientId: string, values: readonly string[], projectId?: string) {
  const scripts = values.map(
    (value, at) =>
      `function f${at}(ctx, api) { api.v1.claims.setClaim("groups", ${JSON.stringify([value])}) }`,
  )
  unbind.push(await bindScripts(provider, { flowType: 2, triggerType: 4, scripts }))
  const claims = { sub: pat, groups: ["editor"] }
  const scopes = ["openid", "groups"]
  const asked = { triggerType: 4, userId: pat, clientId, scopes, claims } as const
  return withScriptClaims(provider.cx(), {
    ...asked,
    ...(projectId !== undefined && { projectId }),
  })
}

const log = (name: string) => ({
  [`urn:core:iam:action:${name}:log`]: ['key "groups" already exists'],
})

test("a script of the organization of the project sets the list of a scope, once", async () => {
  expect(await listRoles(client.id, ["wheel", "other"])).toEqual({
    sub: pat,
    groups: ["wheel"],
    ...log("f1"),
  })
})

test("a script adds no roles on a project of another organization", async () => {
  const said = ['key "groups" already exists']
  const kept = { sub: pat, groups: ["editor"], "urn:core:iam:action:f0:log": said }
  expect(await listRoles(foreign.id, ["wheel"])).toEqual(kept)
  // An API of that organization introspects a token of the first one's application.
  await unbind.pop()?.()
  expect(await listRoles(client.id, ["wheel"], "foreign")).toEqual(kept)
})

test("a script does not replace the list that the project enables", async () => {
  const { projectId } = provider
  await updateProject(provider.cx(), projectId, { groupsClaim: "groups" })
  expect(await listRoles(client.id, ["wheel"])).toMatchObject({ groups: ["editor"] })
})

test("a script adds no roles on another organization's project in another spelling", async () => {
  const script = 'function f0(ctx, api) { api.v1.claims.setClaim(" Groups", ["wheel"]) }'
  unbind.push(await bindScripts(provider, { flowType: 2, triggerType: 4, scripts: [script] }))
  const asked = { triggerType: 4, userId: pat, claims: { sub: pat } } as const
  const addedFor = async (clientId: string, scopes: readonly string[]) =>
    Object.keys(await withScriptClaims(provider.cx(), { ...asked, clientId, scopes }))
  // Its ID tokens have no user claims, including none of the server's own lists.
  expect(await addedFor(foreign.id, ["openid", "groups"])).not.toContain(" Groups")
  expect(await addedFor(foreign.id, ["openid"])).toContain(" Groups")
  expect(await addedFor(client.id, ["openid", "groups"])).toContain(" Groups")
})
