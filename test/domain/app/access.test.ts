// Who can use an application, as it is stored and shown.
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

const named = { applicationId: "a1", projectId: "px" }
const create = (more: object = {}) =>
  estate.as("manager", "createApplication", {
    ...named,
    name: "One",
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

const requirements = {
  secondFactorRequired: true,
  sessionMaxAge: { seconds: 3600n },
  allowedNetworks: { cidrs: ["192.168.1.0/24", "2001:db8::1"] },
}

test("requirements of the sign-in are stored, each by itself, and taken back", async () => {
  await create({ access: requirements })
  expect(await shown()).toMatchObject({ rule: EVERYONE, ...requirements })
  await update({ secondFactorRequired: false })
  expect(await shown()).toMatchObject({ ...requirements, secondFactorRequired: false })
  await update({ rule: ASSIGNED })
  await update({ sessionMaxAge: { seconds: 0n }, allowedNetworks: { cidrs: [] } })
  expect(await shown()).toMatchObject({
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
])("%s is refused", async (_, access) => {
  await create()
  await expect(async () => update(access)).rejects.toMatchObject({ code: "invalid_argument" })
})

test("an age below zero is refused, and is no way to take a limit back", async () => {
  await create({ access: requirements })
  await expect(async () => update({ sessionMaxAge: { seconds: -1n } })).rejects.toMatchObject({
    code: "invalid_argument",
  })
})
