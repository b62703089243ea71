// A script is tried for somebody, and does nothing to them.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  type FlowType,
  flows,
  flowTypes,
  type Trigger,
} from "../../../src/domain/action/flow-kind.ts"
import { rehearse } from "../../../src/domain/action/run/rehearse.ts"
import { membersOf, shapeAt } from "../../../src/domain/action/script/offered.ts"
import { heldMetadata } from "../../../src/domain/user/index.ts"
import { openProvider, type Provider } from "../../oauth/provider.ts"

let provider: Provider
let pat: string
let owner: string
beforeAll(async () => {
  provider = await openProvider()
  pat = await provider.addPerson("pat")
  owner = provider.setup.ownerId
})
afterAll(() => provider.close())

const callerOf = (userId: string) => {
  const cx = provider.cx()
  return {
    ...cx,
    caller: { kind: "user" as const, userId, orgId: provider.setup.orgId, clientId: "" },
  }
}

type Tried = { flowType?: FlowType; triggerType?: Trigger; userId?: string; by?: string }

const tried = (body: string, { by = owner, userId = pat, ...at }: Tried = {}) =>
  rehearse(callerOf(by), {
    name: "f0",
    script: `function f0(ctx, api) {\n${body}\n}`,
    timeoutMs: 3000,
    orgId: provider.setup.orgId,
    userId,
    flowType: 2,
    triggerType: 4,
    ...at,
  })

test("says what it would have done, and has not done it", async () => {
  const before = provider.store.log.durable()
  const { effects, logs, error } = await tried(`
    require("core/log").log(ctx.v1.getUser().human.firstName)
    api.v1.claims.setClaim("team", "red")
    api.v1.claims.setClaim("sub", "somebody else")
    api.v1.user.setMetadata("seen", { times: 1 })`)
  expect(error).toBe("")
  expect(logs).toEqual([{ level: "log", text: "Pat" }])
  expect(effects).toEqual([
    ["claim", "team", "red"],
    ["claim", "urn:core:iam:action:f0:log", ['key "sub" is reserved']],
    ["metadata", "seen", { times: 1 }],
  ])
  expect(heldMetadata(provider.cx(), pat).size).toBe(0)
  expect(provider.store.log.durable()).toBe(before)
})

/** Its thread has less of a busy machine than others: then the time that is left ends first. */
const bounded = expect.stringMatching(/^the script (worked for more|took longer) than/)

test.each([
  ["what it throws", "\nthrow new Error('no way')", { error: "no way", line: 3 }],
  ["what it can't have", "api.v1.claims.setClaim(1, 2)", { error: "claim takes a text" }],
  ["an endless loop", "for (;;) {}", { error: bounded }],
  ["what is no script", "\n\n)", { line: 4 }],
])("says why it fails: %s", async (_, body, failed) => {
  expect(await tried(body)).toMatchObject({ effects: [], ...failed })
})

test("runs for nobody of another organisation, nor for whom the caller may not see", async () => {
  const gone = { id: "user.missing" }
  await expect(tried("", { userId: "absent" })).rejects.toMatchObject(gone)
  await expect(tried("", { by: pat })).rejects.toMatchObject(gone)
})

const moments = flowTypes.flatMap((flow) =>
  flows[flow].triggers.map((trigger) => [flow, trigger] as const),
)

/** Runs in the sandbox: says what `ctx` and `api` have, as far as that is not data. */
const walk = `
  const leaf = (value) => typeof value !== "object" || value === null || Array.isArray(value)
  const data = ["ctx.v1.user", "ctx.v1.httpRequest", "ctx.v1.claims", "ctx.v1.user.grants"]
  const seen = (thing, path) => Object.keys(thing).flatMap((key) => {
    const at = path + "." + key
    if (typeof thing[key] === "function") return [at + "()"]
    const isData = data.includes(at) && !(at === "ctx.v1.user" && thing[key].getMetadata)
    const isEnd = leaf(thing[key]) || isData || Object.keys(thing[key]).length === 0
    return isEnd ? [at] : seen(thing[key], at)
  })
  for (const path of [...seen(ctx, "ctx"), ...seen(api, "api")]) require("core/log").log(path)`

describe("what scripts are told that they are handed is what they are handed", () => {
  test.each(moments)("flow %i, trigger %i", async (flowType, triggerType) => {
    const { logs, error } = await tried(walk, { flowType, triggerType })
    expect(error).toBe("")
    const members = membersOf(shapeAt(flowType, triggerType))
    const told = members
      .map(({ path }) => path.replace(/\(.*\)/, "()"))
      .filter((path) => !path.startsWith("require"))
    expect(told.toSorted()).toEqual(logs.map(({ text }) => text).toSorted())
  })
})
