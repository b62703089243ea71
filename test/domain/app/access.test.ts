// The access of an application, stored and returned.
import { afterEach, beforeEach, expect, test } from "vitest"
import { app } from "../../../src/domain/app/index.ts"
import { ApplicationAccessRule } from "../../../src/gen/core/application/v2/application_pb.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

const { EVERYONE, ASSIGNED, PROJECT_ROLE, UNSPECIFIED } = ApplicationAccessRule

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  const project = { organizationId: "org1", projectId: "px", name: "Own" }
  await estate.as("manager", "createProject", project)
})
afterEach(() => estate.close())

const applicationIds = { applicationId: "a1", projectId: "px" }
const create = (more: object = {}) =>
  estate.as("manager", "createApplication", {
    ...applicationIds,
    name: "One",
    applicationType: { case: "apiConfiguration", value: {} },
    ...more,
  })
const update = (access: object, user: "manager" | "stranger" | "nobody" = "manager") =>
  estate.as(user, "updateApplication", { ...applicationIds, access })
const readAccess = async () =>
  (await estate.as("manager", "getApplication", { applicationId: "a1" })).application.access

test("by default, everyone can use an application", async () => {
  await create()
  expect(await readAccess()).toMatchObject({ rule: EVERYONE })
  expect(estate.store.state(estate.cx(), app, "a1")).not.toHaveProperty("access")
})

test.each([ASSIGNED, PROJECT_ROLE])("an application can be created with rule %s", async (rule) => {
  await create({ access: { rule } })
  expect(await readAccess()).toMatchObject({ rule })
})

test("an update without a rule or with the same rule changes nothing", async () => {
  await create({ access: { rule: ASSIGNED } })
  const version = () => estate.store.receipt(estate.cx(), app, "a1")?.version
  const before = version()
  await update({ rule: UNSPECIFIED })
  await update({ rule: ASSIGNED })
  await estate.as("manager", "updateApplication", { ...applicationIds, name: "One" })
  expect([version(), await readAccess()]).toMatchObject([before, { rule: ASSIGNED }])
  await update({ rule: EVERYONE })
  expect(await readAccess()).toMatchObject({ rule: EVERYONE })
})

test("changing the rule requires permission to write applications of the project", async () => {
  await create()
  for (const person of ["nobody", "stranger"] as const) {
    await expect(async () => update({ rule: ASSIGNED }, person)).rejects.toThrow()
  }
  expect(await readAccess()).toMatchObject({ rule: EVERYONE })
})

test("access to the console can't be limited", async () => {
  const request = { applicationId: "console", projectId: "own", access: { rule: ASSIGNED } }
  const refusal = { code: "failed_precondition", id: "app.is_console" }
  await expect(async () => estate.as("owner", "updateApplication", request)).rejects.toMatchObject(
    refusal,
  )
})

const requirements = {
  secondFactorRequired: true,
  sessionMaxAge: { seconds: 3600n },
  allowedNetworks: { cidrs: ["192.168.1.0/24", "2001:db8::1"] },
}

test("sign-in requirements are stored and removed independently", async () => {
  await create({ access: requirements })
  expect(await readAccess()).toMatchObject({ rule: EVERYONE, ...requirements })
  await update({ secondFactorRequired: false })
  expect(await readAccess()).toMatchObject({ ...requirements, secondFactorRequired: false })
  await update({ rule: ASSIGNED })
  await update({ sessionMaxAge: { seconds: 0n }, allowedNetworks: { cidrs: [] } })
  expect(await readAccess()).toMatchObject({
    rule: ASSIGNED,
    secondFactorRequired: false,
    sessionMaxAge: { seconds: 0n },
    allowedNetworks: { cidrs: [] },
  })
  await update({ rule: EVERYONE })
  expect(estate.store.state(estate.cx(), app, "a1")).not.toHaveProperty("access")
})

test.each([
  ["an age of seconds", { sessionMaxAge: { seconds: 59n } }],
  ["an age of years", { sessionMaxAge: { seconds: 365n * 86_400n + 1n } }],
  ["a network that is none", { allowedNetworks: { cidrs: ["192.168.1.0/24", "home"] } }],
  ["a block that is too long", { allowedNetworks: { cidrs: ["10.0.0.0/33"] } }],
  [
    "too many networks",
    { allowedNetworks: { cidrs: Array.from({ length: 51 }, (_, at) => `10.0.0.${at}`) } },
  ],
])("%s is rejected", async (_, access) => {
  await create()
  await expect(async () => update(access)).rejects.toMatchObject({ code: "invalid_argument" })
})

test("a negative age is rejected instead of removing the limit", async () => {
  await create({ access: requirements })
  await expect(async () => update({ sessionMaxAge: { seconds: -1n } })).rejects.toMatchObject({
    code: "invalid_argument",
  })
})
