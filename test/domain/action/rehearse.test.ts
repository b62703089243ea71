// A test run of a script for a user, without effects.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  type FlowType,
  flows,
  flowTypes,
  type Trigger,
} from "../../../src/domain/action/flow-kind.ts"
import { runTest } from "../../../src/domain/action/run/test-run.ts"
import { membersOf, shapeFor } from "../../../src/domain/action/script/members.ts"
import { listMetadata } from "../../../src/domain/user/index.ts"
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

type RehearseInput = { flowType?: FlowType; triggerType?: Trigger; userId?: string; by?: string }

const rehearseScript = (body: string, { by = owner, userId = pat, ...at }: RehearseInput = {}) =>
  runTest(callerOf(by), {
    name: "f0",
    script: `function f0(ctx, api) {\n${body}\n}`,
    timeoutMs: 3000,
    orgId: provider.setup.orgId,
    userId,
    flowType: 2,
    triggerType: 4,
    ...at,
  })

test("returns the effects without applying them", async () => {
  const before = provider.store.log.durable()
  const { effects, logs, error } = await rehearseScript(`
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
  expect(listMetadata(provider.cx(), pat).size).toBe(0)
  expect(provider.store.log.durable()).toBe(before)
})

/** Its thread can get less of a busy machine than others; then the time limit ends it first. */
const limitMessage = expect.stringMatching(
  /^the script (used more than \d+ ms of CPU time|took longer than \d)/,
)

test.each([
  ["what it throws", "\nthrow new Error('no way')", { error: "no way", line: 3 }],
  ["what it can't have", "api.v1.claims.setClaim(1, 2)", { error: "claim requires a string" }],
  ["an endless loop", "for (;;) {}", { error: limitMessage }],
  ["what is no script", "\n\n)", { line: 4 }],
])("returns the reason of a failure: %s", async (_, body, failed) => {
  expect(await rehearseScript(body)).toMatchObject({ effects: [], ...failed })
})

test("does not run for users of another organization or users whom the caller can't read", async () => {
  const gone = { id: "user.missing" }
  await expect(rehearseScript("", { userId: "absent" })).rejects.toMatchObject(gone)
  await expect(rehearseScript("", { by: pat })).rejects.toMatchObject(gone)
})

const flowTriggers = flowTypes.flatMap((flow) =>
  flows[flow].triggers.map((trigger) => [flow, trigger] as const),
)

/** Runs in the sandbox: lists the members of `ctx` and `api` that are not data. */
const walkScript = `
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

describe("the documented members of a script match what it receives", () => {
  test.each(flowTriggers)("flow %i, trigger %i", async (flowType, triggerType) => {
    const { logs, error } = await rehearseScript(walkScript, { flowType, triggerType })
    expect(error).toBe("")
    const members = membersOf(shapeFor(flowType, triggerType))
    const told = members
      .map(({ path }) => path.replace(/\(.*\)/, "()"))
      .filter((path) => !path.startsWith("require"))
    expect(told.toSorted()).toEqual(logs.map(({ text }) => text).toSorted())
  })
})
