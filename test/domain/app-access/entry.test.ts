// Whether a user can use an application: every combination of the rule and its conditions.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createApplication } from "../../../src/domain/app/commands.ts"
import { updateApplication } from "../../../src/domain/app/index.ts"
import { findAppDenial } from "../../../src/domain/app-access/index.ts"
import { createAuthorization } from "../../../src/domain/authorization/index.ts"
import { addUserToGroup, createGroup } from "../../../src/domain/group/index.ts"
import { addRoles, createProject, updateProject } from "../../../src/domain/project/index.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { humanInput, openTenant, type Tenant } from "../../support/tenant.ts"

const rules = ["everyone", "assigned", "role"] as const
const assigned = ["no", "user", "group"] as const
const authorized = ["no", "without a role", "with a role"] as const
const flags = [false, true] as const

let estate: Tenant
let appCount = 0

/**
 * Users by their authorization on the project and by whether their organization has the project.
 */
const userIdOf = (held: (typeof authorized)[number], isHome: boolean) =>
  `${authorized.indexOf(held)}-${isHome ? "home" : "else"}`

beforeAll(async () => {
  estate = await openTenant()
  const cx = estate.cx()
  await createProject(cx, "p1", { orgId: "org1", name: "Portal" })
  await addRoles(cx, "p1", [{ key: "editor", displayName: "Editor", group: "" }])
  for (const held of authorized) {
    for (const isHome of flags) {
      const userId = userIdOf(held, isHome)
      const orgId = isHome ? "org1" : "org2"
      await estate.step((tx) => addUser(tx, userId, { ...humanInput(userId, orgId), orgId }))
      if (held === "no") continue
      const roleKeys = held === "with a role" ? ["editor"] : []
      const system = { caller: { kind: "system", name: "test" } } as const
      const given = { userId, projectId: "p1", orgId: "org1", roleKeys }
      await createAuthorization(estate.cx(system), cx.ids.next(), given)
    }
  }
})
afterAll(() => estate.close())

type Case = {
  readonly rule: (typeof rules)[number]
  readonly isAssigned: (typeof assigned)[number]
  readonly held: (typeof authorized)[number]
  readonly isHome: boolean
  readonly roleCheck: boolean
  readonly hasProjectCheck: boolean
}

const cases: readonly Case[] = rules.flatMap((rule) =>
  assigned.flatMap((isAssigned) =>
    authorized.flatMap((held) =>
      flags.flatMap((isHome) =>
        flags.flatMap((roleCheck) =>
          flags.map((hasProjectCheck) => ({
            rule,
            isAssigned,
            held,
            isHome,
            roleCheck,
            hasProjectCheck,
          })),
        ),
      ),
    ),
  ),
)

/** Restates the rule: all three conditions must be met. */
function expectedOf(each: Case): string | undefined {
  if (each.hasProjectCheck && !each.isHome) return "no project"
  if (each.roleCheck && each.held === "no") return "no roles"
  if (each.rule === "assigned" && each.isAssigned === "no") return "not assigned"
  if (each.rule === "role" && each.held !== "with a role") return "no role"
  return undefined
}

/** Creates an application of the project, with the user's assignment. */
async function createAppFor({ rule, isAssigned }: Case, userId: string): Promise<string> {
  const cx = estate.cx({ caller: { kind: "system", name: "test" } })
  const appId = `app${++appCount}`
  const config = { kind: "api", api: { authMethod: "basic" } } as const
  await createApplication(cx, appId, { projectId: "p1", name: appId, config, access: { rule } })
  const userIds = isAssigned === "user" ? [userId] : []
  const groupIds = isAssigned === "group" ? [`group${appCount}`] : []
  for (const id of groupIds) {
    // A group contains only users of its own organization.
    await createGroup(cx, id, { orgId: "org1", name: id, description: "" })
    await estate.step((tx) => void addUserToGroup(tx, id, userId))
  }
  await estate.as("owner", "addApplicationAssignments", {
    applicationId: appId,
    projectId: "p1",
    userIds,
    groupIds,
  })
  return appId
}

/** Users of other organizations can't be in a group of this one. */
const possibleCases = cases.filter(({ isAssigned, isHome }) => isHome || isAssigned !== "group")

describe("the rule of an application, and the checks of its project", () => {
  test.each(rules)("admit users that pass all checks: %s", async (rule) => {
    for (const each of possibleCases.filter((one) => one.rule === rule)) {
      const { held, isHome, roleCheck: projectRoleCheck, hasProjectCheck } = each
      const userId = userIdOf(held, isHome)
      const appId = await createAppFor(each, userId)
      await updateProject(estate.cx(), "p1", { projectRoleCheck, hasProjectCheck })
      expect([each, findAppDenial(estate.cx(), userId, appId)]).toEqual([each, expectedOf(each)])
    }
  })

  test("every combination is tested", () => {
    expect(possibleCases.length).toBe(3 * (3 * 3 * 4 + 2 * 3 * 4))
  })
})

describe("an application for assigned users and groups", () => {
  const base: Case = {
    rule: "assigned",
    isAssigned: "group",
    held: "no",
    isHome: true,
    roleCheck: false,
    hasProjectCheck: false,
  }
  const userId = userIdOf("no", true)
  const open = () =>
    updateProject(estate.cx(), "p1", { projectRoleCheck: false, hasProjectCheck: false })

  test("admits no one without an assignment", async () => {
    await open()
    const appId = await createAppFor({ ...base, isAssigned: "no" }, userId)
    for (const id of ["owner", "manager", userId, "absent", ""]) {
      expect([id, findAppDenial(estate.cx(), id, appId)]).toEqual([id, "not assigned"])
    }
  })

  test("admits no one after its only group is deleted", async () => {
    await open()
    const appId = await createAppFor(base, userId)
    expect(findAppDenial(estate.cx(), userId, appId)).toBeUndefined()
    await estate.as("manager", "deleteGroup", { id: `group${appCount}` })
    expect(findAppDenial(estate.cx(), userId, appId)).toBe("not assigned")
  })

  test("immediately rejects users who were removed from the group", async () => {
    await open()
    const appId = await createAppFor(base, userId)
    const request = { id: `group${appCount}`, userIds: [userId] }
    await estate.as("manager", "removeUsersFromGroup", request)
    expect(findAppDenial(estate.cx(), userId, appId)).toBe("not assigned")
    await estate.as("manager", "addUsersToGroup", request)
    expect(findAppDenial(estate.cx(), userId, appId)).toBeUndefined()
  })

  test("admits service accounts that pass the project's checks", async () => {
    await open()
    const named = { orgId: "org1", userName: "robot", name: "Robot" }
    const machine = { ...named, kind: "machine", accessTokenType: "bearer" } as const
    await estate.step((tx) => addUser(tx, "robot", machine))
    const appId = await createAppFor({ ...base, isAssigned: "no" }, userId)
    expect(findAppDenial(estate.cx(), "robot", appId)).toBeUndefined()
    await updateProject(estate.cx(), "p1", { projectRoleCheck: true })
    expect(findAppDenial(estate.cx(), "robot", appId)).toBe("no roles")
    await open()
  })

  test("admits all users of the project after the rule is reset to everyone", async () => {
    await open()
    const appId = await createAppFor({ ...base, isAssigned: "no" }, userId)
    await updateApplication(estate.cx(), appId, { access: { rule: "everyone" } })
    expect(findAppDenial(estate.cx(), userId, appId)).toBeUndefined()
  })
})
