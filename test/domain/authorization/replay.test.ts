import { expect, test } from "vitest"
import * as authorization from "../../../src/domain/authorization/index.ts"
import { orgView } from "../../../src/domain/org/view.ts"
import * as project from "../../../src/domain/project/index.ts"
import { addUser, removeUser } from "../../../src/domain/user/index.ts"
import { statement } from "../../../src/store/index.ts"
import { humanInput, openTenant } from "../../support/tenant.ts"
import type { TestEnvironment } from "../../support/test-environment.ts"
import * as people from "../../support/user-modules.ts"

const tables = ["projects", "project_roles", "authorizations"].map((name) =>
  statement(`SELECT * FROM ${name} WHERE instance = $instance`),
)
const rows = ({ store, cx }: TestEnvironment) => tables.map((table) => store.all(cx(), table))

test("replaying the log produces the existing roles and authorizations", async () => {
  const estate = await openTenant()
  const cx = estate.cx()
  for (const id of ["p1", "p2"]) {
    await project.createProject(cx, id, { orgId: "org1", name: id, groupsClaim: "groups" })
    const roles = ["admin", "editor"].map((key) => ({ key, displayName: key }))
    await project.addRoles(cx, id, roles)
    for (const userId of ["nobody", "leaver"]) {
      await estate.step((tx) => {
        if (id === "p1" && userId === "leaver") addUser(tx, userId, humanInput(userId, "org1"))
        const input = { userId, projectId: id, orgId: "org1", roleKeys: ["admin"] }
        authorization.addAuthorization(tx, `${userId}-${id}`, input)
      })
    }
  }
  await project.updateRole(cx, "p1", { key: "editor", displayName: "Writer", group: "g" })
  await project.removeRole(cx, "p1", "admin")
  await project.addRoles(cx, "p1", [{ key: "admin", displayName: "Anew" }])
  await authorization.updateAuthorization(cx, "nobody-p1", ["editor", "admin"])
  await authorization.deactivateAuthorization(cx, "nobody-p1")
  await project.updateProject(cx, "p1", { groupsClaim: "roles" })
  await removeUser(cx, "leaver")
  await project.removeProject(cx, "p2")

  const live = rows(estate)
  expect(live).toMatchObject([
    [{ id: "own" }, { id: "p1", groups_claim: "roles" }],
    [{ role_key: "admin" }, { role_key: "editor", display_name: "Writer" }],
    [{ id: "nobody-p1", state: "inactive" }],
  ])
  const anew = [...project.module.views, ...authorization.module.views].map((view) => ({
    ...view,
    hash: `${view.hash} changed`,
  }))
  const again = await estate.reopen([orgView, ...people.views, ...anew])
  expect(rows(again)).toEqual(live)
  await again.close()
})
