import { expect, test } from "vitest"
import { views } from "../../../src/server/modules.ts"
import { statement } from "../../../src/store/index.ts"
import { openTenant, type TenantUser } from "../../support/tenant.ts"
import type { TestEnvironment } from "../../support/test-environment.ts"

const names = ["group_users", "group_groups", "group_administrators", "group_authorizations"]
const tables = names.map((name) => statement(`SELECT * FROM ${name} WHERE instance = $instance`))
const rows = ({ store, cx }: TestEnvironment) => tables.map((table) => store.all(cx(), table))

test("rebuilt views contain the members and roles of the remaining groups", async () => {
  const estate = await openTenant()
  const act = (user: TenantUser, name: string, request: object) => estate.as(user, name, request)
  await act("manager", "createProject", { organizationId: "org1", projectId: "p1", name: "P" })
  const onOrg = { resource: { case: "organizationId", value: "org1" } }
  for (const id of ["a", "b", "c", "gone"]) {
    await act("manager", "createGroup", { organizationId: "org1", id, name: id })
    await act("manager", "addUsersToGroup", { id, userIds: ["nobody", "manager"] })
    const roles = { groupId: id, projectId: "p1", organizationId: "org1", roleKeys: [] }
    await act("manager", "createGroupAuthorization", roles)
    const groupRole = { groupId: id, resource: onOrg, roles: ["ORG_OWNER_VIEWER"] }
    await act("manager", "createGroupAdministrator", groupRole)
  }
  await act("manager", "addGroupsToGroup", { id: "a", groupIds: ["b", "c", "gone"] })
  await act("manager", "addGroupsToGroup", { id: "gone", groupIds: ["c"] })
  await act("manager", "removeGroupsFromGroup", { id: "a", groupIds: ["c"] })
  await act("manager", "updateGroupAdministrator", {
    groupId: "a",
    resource: onOrg,
    roles: ["ORG_USER_MANAGER"],
  })
  await act("manager", "deleteGroupAdministrator", { groupId: "b", resource: onOrg })
  await act("manager", "deleteGroup", { id: "gone" })
  await act("manager", "deleteUser", { userId: "nobody" })

  const live = rows(estate)
  expect(live.map((each) => each.length)).toEqual([3, 1, 2, 3])
  const isOfGroups = ({ tables }: (typeof views)[number]) =>
    names.some((name) => Object.hasOwn(tables, name))
  const changedViews = views.map((view) =>
    isOfGroups(view) ? { ...view, hash: `${view.hash} changed` } : view,
  )
  const again = await estate.reopen(changedViews)
  await again.store.rebuilt()
  expect(rows(again)).toEqual(live)
  await again.close()
})
