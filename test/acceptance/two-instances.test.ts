import { getOption } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { grpcHost, instanceAt } from "../../src/domain/instance/index.ts"
import { type Access, access } from "../../src/gen/core/options_pb.ts"
import { assertionOf } from "../support/latchkey.ts"
import { actionChangeSteps, createActionSteps } from "./action-steps.ts"
import { createIdpSteps, idpChangeSteps } from "./idp-steps.ts"
import {
  type InstancePair,
  openInstancePair,
  type TestInstance,
  tokenForm,
} from "./instance-pair.ts"
import {
  changeSteps,
  createResourceSteps,
  credentialChangeSteps,
  grantReadSteps,
  groupRoleChanges,
  readSteps,
  rejectedSteps,
  type Step,
  webKeys,
} from "./instance-steps.ts"
import { createProviderSteps, providerChangeSteps } from "./provider-steps.ts"
import { bearer, methods, pathOf } from "./service.ts"
import { createTargetSteps, targetChangeSteps } from "./target-steps.ts"

// The compiled binary embeds these files; a test runner would execute them.
vi.mock("../../src/gen/ui-assets.ts", () => ({
  uiAssets: {},
  uiEntry: { css: "/ui/assets/kit.css", pageJs: "/ui/assets/page.js", icon: "/ui/mark.svg" },
}))

let pair: InstancePair
let tokens: Readonly<Record<"one" | "two", string>>
const responsesByInstance: Record<string, readonly unknown[]> = {}

beforeAll(async () => {
  pair = await openInstancePair()
  tokens = { one: await pair.one.token(), two: await pair.two.token() }
  for (const name of ["one", "two"] as const) {
    responsesByInstance[name] = await performSteps(
      pair[name],
      createResourceSteps(name),
      tokens[name],
    )
  }
})
afterAll(() => pair?.close())

/** Performs the steps, each of which must succeed. */
async function performSteps(
  side: TestInstance,
  steps: readonly Step[],
  token: string,
): Promise<readonly any[]> {
  const answers: unknown[] = []
  for (const [name, request] of steps) {
    const { status, body } = await side.call(name, request, token)
    if (status !== 200) throw new Error(`${name}: ${status} ${JSON.stringify(body)}`)
    answers.push(body)
  }
  return answers
}

const responseAt = (name: string, index: number): any => responsesByInstance[name]?.[index]

/** The organization that the instance was created with. */
const homeOrganization = (name: string): string =>
  responseAt(
    name,
    createResourceSteps("").findIndex(([step]) => step === "ListOrganizations"),
  ).result[0].id

describe("two instances with equal IDs everywhere", () => {
  test("have equal IDs and different names", () => {
    const { one, two } = pair
    const idsOf = ({ key, orgId, ownerId }: TestInstance) => [key.userId, key.keyId, orgId, ownerId]
    expect(idsOf(one)).toEqual(idsOf(two))
    expect(responseAt("one", 3).keyId).toBe(responseAt("two", 3).keyId)
    const clientOf = (name: string) => responseAt(name, 5).oidcConfiguration.clientId
    expect(clientOf("one")).toBe(clientOf("two"))
    expect(responseAt("one", 7).id).toBe(responseAt("two", 7).id)
  })

  test("never return data of the other, whatever the request", async () => {
    for (const [mine, others] of [
      ["one", "two"],
      ["two", "one"],
    ] as const) {
      const text = JSON.stringify(await performSteps(pair[mine], readSteps, tokens[mine]))
      expect(text).toContain(`App ${mine}`)
      for (const word of [
        "App",
        "Org",
        "Project",
        "Robot",
        "Organization",
        "Role",
        "Metadata",
        "Group",
      ]) {
        expect(text).not.toContain(`${word} ${others}`)
      }
      expect(text).not.toContain(`${others}.example.com`)
      expect(text).not.toContain(`Person-${others}`)
    }
  })

  test("accept no token of the other, opaque or signed", async () => {
    const before = [pair.one.rows(), pair.two.rows()]
    const machine = { accessTokenType: "ACCESS_TOKEN_TYPE_JWT" }
    for (const [mine, others] of [
      ["one", "two"],
      ["two", "one"],
    ] as const) {
      for (const method of methods.filter(({ name }) => name !== "Healthz")) {
        const { status } = await pair[others].call(pathOf(method).slice(1), {}, tokens[mine])
        expect([method.name, status]).toEqual([method.name, 401])
      }
      const headers = bearer(tokens[mine])
      expect((await pair[others].send("/oidc/v1/userinfo", { headers })).status).toBe(401)
    }
    expect([pair.one.rows(), pair.two.rows()]).toEqual(before)

    const { userId } = pair.one.key
    await performSteps(pair.one, [["UpdateUser", { userId, machine }]], tokens.one)
    const signed = await pair.one.token()
    expect(signed.split(".")).toHaveLength(3)
    expect((await pair.one.call("ListUsers", {}, signed)).status).toBe(200)
    expect((await pair.two.call("ListUsers", {}, signed)).status).toBe(401)
  })

  test("accept a key of their own only, even for the other's address", async () => {
    const { one, two } = pair
    const scope = "openid"
    for (const issuer of [one.url, two.url]) {
      const assertion = await assertionOf(issuer, one.key)
      const sent = { method: "POST", body: tokenForm(assertion, scope) }
      expect((await two.send("/oauth/v2/token", sent)).body.error).toBe("invalid_grant")
    }
  })

  test("are found by host name over gRPC, whatever the port", () => {
    const asked = ["one.example.com:8081", "TWO.example.com:443", "one.example.com."]
    expect(asked.map((authority) => grpcHost(pair.store, authority))).toEqual([
      "one.example.com",
      "two.example.com",
      "one.example.com",
    ])
    for (const other of ["one.example.com.evil.com:8081", "example.com:8081", "", "%", ":8081"]) {
      expect(instanceAt(pair.store, grpcHost(pair.store, other))).toBeUndefined()
    }
  })

  test("publish their own keys under their own address", async () => {
    const { one, two } = pair
    for (const side of [one, two]) {
      const { body } = await side.send("/.well-known/openid-configuration")
      expect(body.issuer).toBe(side.url)
    }
    const keysOf = async (side: TestInstance) => (await side.send("/oauth/v2/keys")).body.keys
    const [mine, others] = [await keysOf(one), await keysOf(two)]
    const kids = (keys: readonly any[]) => keys.map(({ kid }) => kid).sort()
    expect(kids(mine)).toEqual(kids(others))
    const material = (keys: readonly any[]) => keys.map(({ n, x }) => n ?? x)
    expect(material(mine).filter((each) => material(others).includes(each))).toEqual([])
  })

  test("are unchanged by requests that the other rejects", async () => {
    const before = pair.two.rows()
    for (const [name, request, status] of rejectedSteps) {
      const refused = await pair.one.call(name, request, tokens.one)
      expect([name, refused.status]).toEqual([name, status])
    }
    expect(pair.two.rows()).toEqual(before)
  })

  test("keep every row when the other changes", async () => {
    const before = { one: pair.one.rows(), two: pair.two.rows() }
    expect(Object.values(before.two).flat().length).toBeGreaterThan(50)
    const ids = (field: string, ...at: readonly number[]) =>
      at.map((index): string => responseAt("one", index)[field])
    const credentials = {
      keyIds: ids("keyId", 3, 12),
      tokenIds: ids("tokenId", 13, 14),
      appKeyIds: ids("keyId", 15, 16),
    }
    const last =
      createTargetSteps("").length +
      createActionSteps("").length +
      createIdpSteps.length +
      createProviderSteps.length
    const [hook, script, ...lastMade] = (responsesByInstance.one ?? [])
      .slice(-last)
      .map(({ id }: any) => id)
    const steps = [
      ...credentialChangeSteps(credentials),
      ...grantReadSteps(responseAt("one", 21).administrators[0].projectGrant.id),
      ...targetChangeSteps(hook),
      ...actionChangeSteps(script),
      ...idpChangeSteps(lastMade.slice(0, createIdpSteps.length)),
      ...providerChangeSteps(lastMade.slice(createIdpSteps.length)),
      ...groupRoleChanges(responseAt("one", 29).id),
      ...changeSteps(responseAt("one", 7).id, responseAt("one", 10).id, homeOrganization("one")),
    ]
    const answers = await performSteps(pair.one, steps, tokens.one)
    // The field name allowedNetworks contains these letters, too.
    expect(JSON.stringify(answers)).not.toMatch(/(?<!Ne)two/)
    expect(pair.two.rows()).toEqual(before.two)
    expect(pair.one.rows()).not.toEqual(before.one)
    await performSteps(pair.two, readSteps, tokens.two)
  })

  test("are covered by every operation", () => {
    const none = credentialChangeSteps({ keyIds: [], tokenIds: [], appKeyIds: [] })
    const steps = [...createResourceSteps(""), ...readSteps, ...none, ...grantReadSteps("")]
    const later = [...providerChangeSteps([]), ...idpChangeSteps([]), ...actionChangeSteps("")]
    later.push(...targetChangeSteps(""))
    const changing = [...changeSteps("", "", ""), ...groupRoleChanges(""), ...later]
    const deleted: readonly Step[] = [
      ["DeleteWebKey", {}],
      [webKeys("DeleteWebKey"), {}],
    ]
    const tried = new Set(
      [...steps, ...changing, ...rejectedSteps, ...deleted].map(([name]) => name),
    )
    // system.test.ts covers operations that only the system API permits.
    const isSystems = ({ permission, system }: Access) => system && !permission
    const missing = methods.filter((method) => {
      const isTried = tried.has(pathOf(method).slice(1)) || tried.has(method.name)
      return !isTried && !isSystems(getOption(method, access))
    })
    expect(missing.map(pathOf)).toEqual([])
  })

  test("keep their data when the other deletes the same ID", async () => {
    const { keys } = (await pair.two.send("/oauth/v2/keys")).body
    const before = pair.two.rows()
    const [listed] = await performSteps(pair.one, [["ListWebKeys", {}]], tokens.one)
    const idle = listed.webKeys.filter(({ state }: any) => state !== "STATE_ACTIVE")
    const [first, second] = idle.map(({ id }: any) => id)
    const deletions: readonly Step[] = [
      ["DeleteWebKey", { id: first }],
      [webKeys("DeleteWebKey"), { id: second }],
    ]
    await performSteps(pair.one, deletions, tokens.one)
    const left = (await pair.one.send("/oauth/v2/keys")).body.keys
    expect(left).toHaveLength(listed.webKeys.length - 2)
    expect(pair.two.rows()).toEqual(before)
    expect((await pair.two.send("/oauth/v2/keys")).body.keys).toEqual(keys)
  })
})
