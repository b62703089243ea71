import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createApplication, reactivateApplication } from "../../../src/domain/app/commands.ts"
import {
  type ApiScope,
  deactivateApplication,
  scopesFor,
  updateApplication,
} from "../../../src/domain/app/index.ts"

import { createProject } from "../../../src/domain/project/index.ts"
import { openProvider, type Provider } from "../../oauth/provider.ts"

const scope = (text: string, more: Partial<ApiScope> = {}): ApiScope => ({
  scope: text,
  name: "",
  description: "",
  ...more,
})

let provider: Provider
beforeAll(async () => {
  provider = await openProvider()
})
afterAll(() => provider.close())

async function addApi(
  scopes: readonly ApiScope[],
  { projectId = provider.projectId, resources = [] as readonly string[] } = {},
) {
  const cx = provider.cx()
  const appId = cx.ids.next()
  const api = { authMethod: "basic", resources, scopes } as const
  const config = { kind: "api", api } as const
  const { clientId } = await createApplication(cx, appId, { projectId, name: "Orders", config })
  return { appId, clientId }
}

async function newProject(): Promise<string> {
  const cx = provider.cx()
  const id = cx.ids.next()
  await createProject(cx, id, { orgId: provider.setup.orgId, name: "Shop" })
  return id
}

/** The scopes that are granted for an audience. */
const namesFor = (...audience: readonly string[]) => [...scopesFor(provider.cx(), audience).keys()]

describe("a scope that an API defines", () => {
  const accepted = [
    "read",
    "read:user",
    "mcp:tools",
    "https://api.example.com/read",
    "!",
    "[~]",
    "a".repeat(100),
  ]
  test.each(accepted)("can be %s", async (text) => {
    const { clientId } = await addApi([scope(text)])
    expect(namesFor(clientId)).toEqual([text])
  })

  const refused = [
    ["", "must have 1 to 100"],
    ["a".repeat(101), "must have 1 to 100"],
    ["read user", "must have 1 to 100"],
    ["read\tuser", "must have 1 to 100"],
    ["read\nuser", "must have 1 to 100"],
    ['read"user', "must have 1 to 100"],
    ["read\\user", "must have 1 to 100"],
    ["réad", "must have 1 to 100"],
    ["read\u200b", "must have 1 to 100"],
    ["openid", "must not contain the standard scope"],
    ["OpenID", "must not contain the standard scope"],
    ["profile", "must not contain the standard scope"],
    ["email", "must not contain the standard scope"],
    ["phone", "must not contain the standard scope"],
    ["address", "must not contain the standard scope"],
    ["offline_access", "must not contain the standard scope"],
    ["groups", "must not contain the standard scope"],
    ["roles", "must not contain the standard scope"],
    ["urn:core:iam:org:project:id:core:aud", "must not start with urn:"],
    ["URN:x", "must not start with urn:"],
    ["urn:", "must not start with urn:"],
  ] as const
  test.each(refused)("can't be %j", async (text, message) => {
    await expect(addApi([scope(text)])).rejects.toMatchObject({
      code: "invalid_argument",
      id: "app.scopes_invalid",
      message: expect.stringContaining(message),
    })
  })

  const texts = [
    [scope("a", { name: "n".repeat(101) }), "name of at most 100"],
    [scope("a", { description: "d".repeat(301) }), "description of at most 300"],
    [scope("a", { name: "pay\u202etxt" }), "without invisible characters"],
    [scope("a", { description: "line\nline" }), "without invisible characters"],
  ] as const
  test.each(texts)("has a name and a description that users can read: %j", async (one, message) => {
    await expect(addApi([one])).rejects.toMatchObject({
      message: expect.stringContaining(message),
    })
  })

  test("is unique among at most 50", async () => {
    await expect(addApi([scope("a"), scope("a")])).rejects.toThrow("must not contain a scope twice")
    const many = Array.from({ length: 51 }, (_, index) => scope(`a${index}`))
    await expect(addApi(many)).rejects.toThrow("must contain at most 50 scopes")
    await expect(addApi(many.slice(1))).resolves.toBeDefined()
  })

  test("changes with the API's list; other changes keep it", async () => {
    const { appId, clientId } = await addApi([scope("read"), scope("write")])
    const change = (api: object) => updateApplication(provider.cx(), appId, { api })
    await change({ resources: ["https://kept.example.com/"] })
    expect(namesFor(clientId)).toEqual(["read", "write"])
    await change({ scopes: [scope("write", { name: "Write" })] })
    expect(namesFor(clientId)).toEqual(["write"])
    expect(scopesFor(provider.cx(), [clientId]).get("write")).toMatchObject([{ name: "Write" }])
    await expect(change({ scopes: [scope("openid")] })).rejects.toThrow(
      "must not contain the standard scope",
    )
    await change({ scopes: [] })
    expect(namesFor(clientId)).toEqual([])
  })
})

describe("the scopes of an audience", () => {
  test("are those of the APIs that it names, by client ID, address or project", async () => {
    const projectId = await newProject()
    const uri = "https://one.example.com/"
    const one = await addApi([scope("one")], { projectId, resources: [uri] })
    const two = await addApi([scope("two")], { projectId })
    expect(namesFor(one.clientId)).toEqual(["one"])
    expect(namesFor(uri)).toEqual(["one"])
    expect(namesFor(projectId)).toEqual(["one", "two"])
    // A name of one API of the project selects only that API, even next to the project.
    expect(namesFor(projectId, uri)).toEqual(["one"])
    expect(namesFor(projectId, two.clientId)).toEqual(["two"])
    expect(namesFor(uri, two.clientId)).toEqual(["one", "two"])
  })

  test("exclude those of other APIs", async () => {
    const projectId = await newProject()
    await addApi([scope("mine")], { projectId })
    const client = await provider.addClient({}, projectId)
    expect(namesFor(await newProject(), client.id, "unknown", "https://x.example")).toEqual([])
  })

  test("exclude those of deactivated APIs", async () => {
    const { appId, clientId } = await addApi([scope("on")])
    await deactivateApplication(provider.cx(), appId)
    expect(namesFor(clientId)).toEqual([])
    await reactivateApplication(provider.cx(), appId)
    expect(namesFor(clientId)).toEqual(["on"])
  })

  test("list each API that defines the same scope", async () => {
    const projects = [await newProject(), await newProject()]
    for (const projectId of projects) await addApi([scope("read")], { projectId })
    expect(scopesFor(provider.cx(), projects).get("read")).toHaveLength(2)
  })
})
