// The REST paths of the API, and the lists of values for execution conditions.
import { afterAll, beforeAll, expect, test } from "vitest"
import { allServices } from "../../../src/api/book.ts"
import { host } from "../../scenario/house.ts"
import { openStage, type Stage } from "./stage.ts"

let stage: Stage
let targetId: string
beforeAll(async () => {
  stage = await openStage()
  targetId = (await stage.target("/hook")).id
  await send("PUT", "/executions", {
    condition: { function: { name: "preuserinfo" } },
    execution: { targets: [{ target: targetId }] },
  })
})
afterAll(() => stage.close())

async function send(method: string, path: string, body?: unknown): Promise<any> {
  const { ownerId, orgId, url } = stage.house
  const headers = { ...stage.house.headers, host, authorization: `Bearer user ${ownerId} ${orgId}` }
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const response = await fetch(`${url}${path}`, { method, headers, ...sent })
  const answer = await response.json()
  return response.status === 200 ? answer : { status: response.status, ...answer }
}

const isFunction = { executionTypeFilter: { executionType: "EXECUTION_TYPE_FUNCTION" } }
const isEvent = { executionTypeFilter: { executionType: "EXECUTION_TYPE_EVENT" } }

test.each([
  ["nothing", undefined, 1],
  ["one filter, as the interface has it", isFunction, 1],
  ["another one", isEvent, 0],
  ["a list of them", [isFunction, isEvent], 0],
  ["an empty list", [], 1],
  ["an empty object", {}, 1],
])("a search accepts %s", async (_, body, count) => {
  const { result = [] } = await send("POST", "/executions/_search", body)
  expect(result).toHaveLength(count)
  const below = await send("POST", "/resources/v3alpha/actions/executions/_search", body)
  expect(below.result ?? []).toHaveLength(count)
})

test("a condition in a body has only its fields; its values are in the path", async () => {
  const smuggled = '[],"query":{"offset":"7"}'
  const { ownerId, orgId, url } = stage.house
  const headers = { ...stage.house.headers, host, authorization: `Bearer user ${ownerId} ${orgId}` }
  const sent = { method: "POST", headers, body: smuggled }
  const response = await fetch(`${url}/executions/_search?query.limit=5`, sent)
  expect(await response.json()).toMatchObject({
    details: { appliedLimit: "5", totalResult: "1" },
    result: [{}],
  })
})

test("the lists match the descriptors, in both versions", async () => {
  const older = {
    methods: (await send("GET", "/executions/methods")).methods,
    services: (await send("GET", "/executions/services")).services,
    functions: (await send("GET", "/executions/functions")).functions,
  }
  const said = allServices.flatMap(({ typeName, methods }) =>
    methods.map(({ name }) => `/${typeName}/${name}`),
  )
  expect(new Set(older.methods)).toEqual(new Set(said))
  expect(new Set(older.services)).toEqual(new Set(allServices.map(({ typeName }) => typeName)))
  expect(await stage.make("action/ListExecutionMethods")).toEqual({ methods: older.methods })
  expect(await stage.make("action/ListExecutionServices")).toEqual({ services: older.services })
  expect(await stage.make("action/ListExecutionFunctions")).toEqual({ functions: older.functions })
})

test("an execution calls the targets of included executions, up to three levels", async () => {
  const at = (name: string) => ({ response: { method: `/core.user.v2.UserService/${name}` } })
  const include = (name: string, of: object) =>
    send("PUT", "/executions", {
      condition: at(name),
      execution: { targets: [{ include: of }] },
    })
  await include("ListUsers", { function: { name: "preuserinfo" } })
  await include("GetUserByID", at("ListUsers"))
  await include("ListKeys", at("GetUserByID"))
  const { executions } = await stage.make("action/ListExecutions", {
    filters: [{ inConditionsFilter: { conditions: [at("ListKeys")] } }],
  })
  expect(executions).toMatchObject([{ condition: at("ListKeys"), targets: [targetId] }])
  const deeper = await include("ListUserMetadata", at("ListKeys"))
  expect([deeper.status, deeper.code]).toEqual([400, 9])
  const around = await send("PUT", "/executions", {
    condition: { function: { name: "preuserinfo" } },
    execution: { targets: [{ include: at("ListKeys") }] },
  })
  expect([around.status, around.code]).toEqual([400, 9])
})
