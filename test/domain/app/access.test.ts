// Who can use an application, as it is stored and shown.
import { afterEach, beforeEach, expect, test } from "vitest"
import { app } from "../../../src/domain/app/index.ts"
import { ApplicationAccessRule } from "../../../src/gen/core/application/v2/application_pb.ts"
import { type Estate, openEstate } from "../../support/estate.ts"

const { EVERYONE, ASSIGNED, PROJECT_ROLE, UNSPECIFIED } = ApplicationAccessRule

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
  const project = { organizationId: "org1", projectId: "px", name: "Own" }
  await estate.as("manager", "createProject", project)
})
afterEach(() => estate.close())

const named = { applicationId: "a1", projectId: "px" }
const create = (more: object = {}) =>
  estate.as("manager", "createApplication", {
    ...{ ...named, name: "One" },
    applicationType: { case: "apiConfiguration", value: {} },
    ...more,
  })
const update = (access: object, who: "manager" | "stranger" | "nobody" = "manager") =>
  estate.as(who, "updateApplication", { ...named, access })
const shown = async () =>
  (await estate.as("manager", "getApplication", { applicationId: "a1" })).application.access

test("everyone can use an application that states nothing", async () => {
  await create()
  expect(await shown()).toMatchObject({ rule: EVERYONE })
  expect(estate.store.state(estate.cx(), app, "a1")).not.toHaveProperty("access")
})

test.each([ASSIGNED, PROJECT_ROLE])("an application begins with rule %s", async (rule) => {
  await create({ access: { rule } })
  expect(await shown()).toMatchObject({ rule })
})

test("an update that leaves the rule out, or repeats it, changes nothing", async () => {
  await create({ access: { rule: ASSIGNED } })
  const version = () => estate.store.receipt(estate.cx(), app, "a1")?.version
  const before = version()
  await update({ rule: UNSPECIFIED })
  await update({ rule: ASSIGNED })
  await estate.as("manager", "updateApplication", { ...named, name: "One" })
  expect([version(), await shown()]).toMatchObject([before, { rule: ASSIGNED }])
  await update({ rule: EVERYONE })
  expect(await shown()).toMatchObject({ rule: EVERYONE })
})

test("only who can write applications of the project changes the rule", async () => {
  await create()
  for (const person of ["nobody", "stranger"] as const) {
    await expect(async () => update({ rule: ASSIGNED }, person)).rejects.toThrow()
  }
  expect(await shown()).toMatchObject({ rule: EVERYONE })
})

test("access to the console can't be limited", async () => {
  const request = { applicationId: "console", projectId: "own", access: { rule: ASSIGNED } }
  const refusal = { code: "failed_precondition", id: "app.is_console" }
  await expect(async () => estate.as("owner", "updateApplication", request)).rejects.toMatchObject(
    refusal,
  )
})
