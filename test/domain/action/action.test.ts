import { afterEach, beforeEach, expect, test } from "vitest"
import { action } from "../../../src/domain/action/model.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const script = "function greet(ctx, api) {}"
const createScript = async (name: string, user: TenantUser = "manager", more: object = {}) =>
  (await estate.as(user, "createAction", { name, script, ...more })).id as string
const bind = (triggerType: string, actionIds: readonly string[], flowType = "2") =>
  estate.as("manager", "setTriggerActions", { flowType, triggerType, actionIds })
const getFlow = async (type = "2") => (await estate.as("manager", "getFlow", { type })).flow
const idsIn = async (type?: string) =>
  (await getFlow(type)).triggerActions.map(
    ({ triggerType, actions }: any) =>
      `${triggerType.id}: ${actions.map(({ name }: any) => name).join(" ")}`,
  )

test("a script is available immediately, with the given values", async () => {
  const id = await createScript("greet", "manager", {
    timeout: { seconds: 2n, nanos: 500_000_000 },
    allowedToFail: true,
  })
  expect((await estate.as("manager", "getAction", { id })).action).toMatchObject({
    id,
    name: "greet",
    script,
    state: 2,
    allowedToFail: true,
    timeout: { seconds: 2n, nanos: 500_000_000 },
    details: { sequence: 1n, resourceOwner: "org1" },
  })
})

test("a name is unique in its organization by spelling, until it is released", async () => {
  const id = await createScript("greet")
  await expect(createScript("greet")).rejects.toMatchObject({ id: "action.name_taken" })
  await createScript("Greet")
  await createScript("greet", "stranger")
  const change = { id, name: "welcome", script }
  await estate.as("manager", "updateAction", change)
  await expect(estate.as("manager", "updateAction", change)).rejects.toMatchObject({
    code: "failed_precondition",
  })
  const again = await createScript("greet")
  await estate.as("manager", "deleteAction", { id: again })
  await createScript("greet")
})

test.each([
  ["no name", { name: " " }],
  ["no script", { script: "" }],
  ["more than 40,000 bytes of it", { script: "ä".repeat(20_001) }],
  ["more than 20 seconds", { timeout: { seconds: 20n, nanos: 1_000_000 } }],
  ["less than no time", { timeout: { seconds: -1n, nanos: 0 } }],
])("rejects %s", async (_, more) => {
  await expect(createScript("greet", "manager", more)).rejects.toMatchObject({
    code: "invalid_argument",
  })
})

test("no event shows the text of a script, and none contains it after the removal", async () => {
  const id = await createScript("greet", "manager", { script: "const key = 'sk-1'" })
  await estate.as("manager", "updateAction", { id, name: "greet", script: "const key = 'sk-2'" })
  const events = async () => (await estate.store.log.read(0, 1000)).filter((each) => each.id === id)
  expect(JSON.stringify((await events()).map(({ data }) => data))).not.toContain("sk-")
  await estate.as("manager", "deleteAction", { id })
  expect(JSON.stringify(await events())).not.toContain("sk-")
  expect(estate.store.state(estate.cx(), action, id)).toMatchObject({ script: "" })
})

test("a flow lists scripts by trigger, in the given order", async () => {
  const [one, two] = [await createScript("one"), await createScript("two")]
  expect(await getFlow()).toMatchObject({ state: 1, triggerActions: [] })
  await bind("5", [two, one])
  await bind("TRIGGER_TYPE_PRE_USERINFO_CREATION", [one], "FLOW_TYPE_COMPLEMENT_TOKEN")
  expect(await idsIn()).toEqual(["4: one", "5: two one"])
  expect(await getFlow()).toMatchObject({ state: 2 })
  expect(await idsIn("3")).toEqual([])
  await expect(bind("5", [two, one])).rejects.toMatchObject({ code: "failed_precondition" })
  await bind("5", [])
  expect(await idsIn()).toEqual(["4: one"])
  await estate.as("manager", "clearFlow", { type: "2" })
  expect(await getFlow()).toMatchObject({ state: 1, triggerActions: [] })
  await expect(estate.as("manager", "clearFlow", { type: "2" })).rejects.toMatchObject({
    code: "failed_precondition",
  })
})

test("flows contain scripts of their own organization, each once", async () => {
  const [own, foreign] = [await createScript("own"), await createScript("foreign", "stranger")]
  await expect(bind("5", [foreign])).rejects.toMatchObject({ id: "action.missing" })
  await expect(bind("5", [own, own])).rejects.toMatchObject({ id: "flow.action_twice" })
  await expect(bind("5", ["404"])).rejects.toMatchObject({ id: "action.missing" })
  await expect(bind("1", [own])).rejects.toMatchObject({ id: "flow.trigger_elsewhere" })
  await expect(bind("7", [own])).rejects.toMatchObject({ id: "trigger.unknown" })
})

test("a removed script leaves every flow", async () => {
  const [one, two] = [await createScript("one"), await createScript("two")]
  await bind("5", [two, one])
  await bind("1", [one], "1")
  await bind("1", [one], "3")
  await estate.as("manager", "deleteAction", { id: one })
  expect([await idsIn("2"), await idsIn("1"), await idsIn("3")]).toEqual([["5: two"], [], []])
})

test("lists the scripts of the organization, by name and state", async () => {
  const ids = [await createScript("one"), await createScript("two"), await createScript("three")]
  await createScript("foreign", "stranger")
  await estate.as("manager", "deactivateAction", { id: ids[1] })
  const listed = async (request: object) =>
    (await estate.as("manager", "listActions", request)).result.map(({ name }: any) => name)
  const by = (name: string, value: object) => ({ queries: [{ query: { case: name, value } }] })
  const query = { asc: true }
  expect(await listed({ query, sortingColumn: 1 })).toEqual(["one", "three", "two"])
  expect(await listed(by("actionStateQuery", { state: 1 }))).toEqual(["two"])
  expect(await listed(by("actionNameQuery", { name: "t", method: 2 }))).toHaveLength(2)
  expect(await listed(by("actionIdQuery", { id: ids[2] }))).toEqual(["three"])
})

test("a script is removed with its organization", async () => {
  const id = await createScript("greet", "stranger")
  await estate.as("owner", "deleteOrganization", { organizationId: "org2" })
  expect(estate.store.state(estate.cx(), action, id).status).toBe("removed")
})
