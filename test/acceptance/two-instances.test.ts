import { getOption } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { grpcHost, instanceAt } from "../../src/domain/instance/index.ts"
import { type Access, access } from "../../src/gen/core/options_pb.ts"
import { assertionOf } from "../support/latchkey.ts"
import { actionChanges, actions } from "./action-steps.ts"
import { form, openPair, type Pair, type Side } from "./estate.ts"
import { idpChanges, idps } from "./idp-steps.ts"
import {
  changes,
  credentialChanges,
  furniture,
  grantLooks,
  groupRoleChanges,
  looks,
  refusals,
  type Step,
  webKeys,
} from "./instance-steps.ts"
import { providerChanges, providers } from "./provider-steps.ts"
import { bearer, methods, pathOf } from "./service.ts"
import { targetChanges, targets } from "./target-steps.ts"

// The compiled binary embeds these files; a test runner would run them.
vi.mock("../../src/gen/ui-assets.ts", () => ({
  uiAssets: {},
  uiEntry: { css: "/ui/assets/kit.css", pageJs: "/ui/assets/page.js", icon: "/ui/mark.svg" },
}))

let pair: Pair
let tokens: Readonly<Record<"one" | "two", string>>
const made: Record<string, readonly unknown[]> = {}

beforeAll(async () => {
  pair = await openPair()
  tokens = { one: await pair.one.token(), two: await pair.two.token() }
  for (const name of ["one", "two"] as const) {
    made[name] = await play(pair[name], furniture(name), tokens[name])
  }
})
afterAll(() => pair?.close())

/** Takes the steps, each of which must succeed. */
async function play(side: Side, steps: readonly Step[], token: string): Promise<readonly any[]> {
  const answers: unknown[] = []
  for (const [name, request] of steps) {
    const { status, body } = await side.call(name, request, token)
    if (status !== 200) throw new Error(`${name}: ${status} ${JSON.stringify(body)}`)
    answers.push(body)
  }
  return answers
}

const created = (name: string, index: number): any => made[name]?.[index]

/** The organisation that the instance began with. */
const home = (name: string): string =>
  created(
    name,
    furniture("").findIndex(([step]) => step === "ListOrganizations"),
  ).result[0].id

describe("of two instances with equal ids everywhere", () => {
  test("the ids really are equal, and the names are not", () => {
    const { one, two } = pair
    const idsOf = ({ key, orgId, ownerId }: Side) => [key.userId, key.keyId, orgId, ownerId]
    expect(idsOf(one)).toEqual(idsOf(two))
    expect(created("one", 3).keyId).toBe(created("two", 3).keyId)
    const clientOf = (name: string) => created(name, 5).oidcConfiguration.clientId
    expect(clientOf("one")).toBe(clientOf("two"))
    expect(created("one", 7).id).toBe(created("two", 7).id)
  })

  test("none shows what is the other's, whatever is asked", async () => {
    for (const [mine, others] of [
      ["one", "two"],
      ["two", "one"],
    ] as const) {
      const text = JSON.stringify(await play(pair[mine], looks, tokens[mine]))
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

  test("a token of one opens no operation of the other, opaque or signed", async () => {
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
    await play(pair.one, [["UpdateUser", { userId, machine }]], tokens.one)
    const signed = await pair.one.token()
    expect(signed.split(".")).toHaveLength(3)
    expect((await pair.one.call("ListUsers", {}, signed)).status).toBe(200)
    expect((await pair.two.call("ListUsers", {}, signed)).status).toBe(401)
  })

  test("a key of one signs in at one only, even for the other's address", async () => {
    const { one, two } = pair
    const scope = "openid"
    for (const issuer of [one.url, two.url]) {
      const assertion = await assertionOf(issuer, one.key)
      const sent = { method: "POST", body: form(assertion, scope) }
      expect((await two.send("/oauth/v2/token", sent)).body.error).toBe("invalid_grant")
    }
  })

  test("gRPC finds each by its name, whatever port was dialled, and no other", () => {
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

  test("each publishes its own keys under its own address", async () => {
    const { one, two } = pair
    for (const side of [one, two]) {
      const { body } = await side.send("/.well-known/openid-configuration")
      expect(body.issuer).toBe(side.url)
    }
    const keysOf = async (side: Side) => (await side.send("/oauth/v2/keys")).body.keys
    const [mine, others] = [await keysOf(one), await keysOf(two)]
    const kids = (keys: readonly any[]) => keys.map(({ kid }) => kid).sort()
    expect(kids(mine)).toEqual(kids(others))
    const material = (keys: readonly any[]) => keys.map(({ n, x }) => n ?? x)
    expect(material(mine).filter((each) => material(others).includes(each))).toEqual([])
  })

  test("what is refused in one leaves the other as it was", async () => {
    const before = pair.two.rows()
    for (const [name, request, status] of refusals) {
      const refused = await pair.one.call(name, request, tokens.one)
      expect([name, refused.status]).toEqual([name, status])
    }
    expect(pair.two.rows()).toEqual(before)
  })

  test("whatever is changed in one, not a row of the other is", async () => {
    const before = { one: pair.one.rows(), two: pair.two.rows() }
    expect(Object.values(before.two).flat().length).toBeGreaterThan(50)
    const ids = (field: string, ...at: readonly number[]) =>
      at.map((index): string => created("one", index)[field])
    const credentials = {
      keyIds: ids("keyId", 3, 12),
      tokenIds: ids("tokenId", 13, 14),
      appKeyIds: ids("keyId", 15, 16),
    }
    const last = targets("").length + actions("").length + idps.length + providers.length
    const [hook, script, ...lastMade] = (made.one ?? []).slice(-last).map(({ id }: any) => id)
    const steps = [
      ...credentialChanges(credentials),
      ...grantLooks(created("one", 21).administrators[0].projectGrant.id),
      ...targetChanges(hook),
      ...actionChanges(script),
      ...idpChanges(lastMade.slice(0, idps.length)),
      ...providerChanges(lastMade.slice(idps.length)),
      ...groupRoleChanges(created("one", 29).id),
      ...changes(created("one", 7).id, created("one", 10).id, home("one")),
    ]
    const answers = await play(pair.one, steps, tokens.one)
    // The field allowedNetworks contains the letters as well.
    expect(JSON.stringify(answers)).not.toMatch(/(?<!Ne)two/)
    expect(pair.two.rows()).toEqual(before.two)
    expect(pair.one.rows()).not.toEqual(before.one)
    await play(pair.two, looks, tokens.two)
  })

  test("every operation was tried", () => {
    const none = credentialChanges({ keyIds: [], tokenIds: [], appKeyIds: [] })
    const steps = [...furniture(""), ...looks, ...none, ...grantLooks("")]
    const later = [...providerChanges([]), ...idpChanges([]), ...actionChanges("")]
    later.push(...targetChanges(""))
    const changing = [...changes("", "", ""), ...groupRoleChanges(""), ...later]
    const deleted: readonly Step[] = [
      ["DeleteWebKey", {}],
      [webKeys("DeleteWebKey"), {}],
    ]
    const tried = new Set([...steps, ...changing, ...refusals, ...deleted].map(([name]) => name))
    // What the system alone may do is tried in system.test.ts.
    const isSystems = ({ permission, system }: Access) => system && !permission
    const missing = methods.filter((method) => {
      const isTried = tried.has(pathOf(method).slice(1)) || tried.has(method.name)
      return !isTried && !isSystems(getOption(method, access))
    })
    expect(missing.map(pathOf)).toEqual([])
  })

  test("deleting in one what has the other's id deletes nothing of the other's", async () => {
    const { keys } = (await pair.two.send("/oauth/v2/keys")).body
    const before = pair.two.rows()
    const [listed] = await play(pair.one, [["ListWebKeys", {}]], tokens.one)
    const idle = listed.webKeys.filter(({ state }: any) => state !== "STATE_ACTIVE")
    const [first, second] = idle.map(({ id }: any) => id)
    const deletions: readonly Step[] = [
      ["DeleteWebKey", { id: first }],
      [webKeys("DeleteWebKey"), { id: second }],
    ]
    await play(pair.one, deletions, tokens.one)
    const left = (await pair.one.send("/oauth/v2/keys")).body.keys
    expect(left).toHaveLength(listed.webKeys.length - 2)
    expect(pair.two.rows()).toEqual(before)
    expect((await pair.two.send("/oauth/v2/keys")).body.keys).toEqual(keys)
  })
})
