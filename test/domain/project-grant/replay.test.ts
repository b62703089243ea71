import { expect, test } from "vitest"
import * as authorization from "../../../src/domain/authorization/index.ts"
import { addMember, memberView, removeMember } from "../../../src/domain/member/index.ts"
import { orgView } from "../../../src/domain/org/view.ts"
import * as project from "../../../src/domain/project/index.ts"
import * as grants from "../../../src/domain/project-grant/index.ts"
import { statement } from "../../../src/store/index.ts"
import { openTenant } from "../../support/tenant.ts"
import type { TestEnvironment } from "../../support/test-environment.ts"
import * as people from "../../support/user-modules.ts"

const tables = [
  "project_grants",
  "project_grant_roles",
  "project_holdings",
  "authorizations",
  "administrators",
].map((name) => statement(`SELECT * FROM ${name} WHERE instance = $instance`))
const rows = ({ store, cx }: TestEnvironment) => tables.map((table) => store.all(cx(), table))

test("replaying the log produces the existing grants and their dependents", async () => {
  const estate = await openTenant()
  const cx = estate.cx()
  const roles = ["admin", "editor"].map((key) => ({ key, displayName: key }))
  const roleKeys = ["admin"]
  for (const id of ["p1", "p2", "p3"]) {
    await project.createProject(cx, id, { orgId: "org1", name: id })
    await project.addRoles(cx, id, roles)
    const grantId = `g-${id}`
    await grants.createGrant(cx, grantId, { projectId: id, grantedOrgId: "org2", roleKeys })
    const given = { userId: "stranger", projectId: id, orgId: "org2", roleKeys }
    const seat = { userId: "stranger", target: { level: "grant", id: grantId } } as const
    await estate.step((tx) => {
      authorization.addAuthorization(tx, `u-${id}`, given)
      addMember(tx, { ...seat, roles: ["PROJECT_GRANT_OWNER"] })
      if (id === "p3") removeMember(tx, seat)
    })
  }
  await grants.updateGrant(cx, "g-p1", ["editor"])
  await grants.updateGrant(cx, "g-p1", ["editor", "admin"])
  await authorization.updateAuthorization(cx, "u-p1", ["editor"])
  await grants.deactivateGrant(cx, "g-p1")
  await grants.removeGrant(cx, "g-p2")
  await project.removeProject(cx, "p3")

  const live = rows(estate)
  expect(live).toMatchObject([
    [{ id: "g-p1", state: "inactive" }],
    [
      { role_key: "admin", since: 3 },
      { role_key: "editor", since: 2 },
    ],
    [{ id: "own/own" }, { id: "own/p1" }, { id: "own/p2" }, { id: "via/g-p1" }],
    [{ id: "u-p1", grant_id: "g-p1", grant_version: 3, project_org: "org1" }],
    [{ level: "grant", target: "g-p1", project: "p1", org: "org2" }, {}, {}, {}],
  ])
  const anew = [...grants.module.views, ...authorization.module.views, memberView].map((view) => ({
    ...view,
    hash: `${view.hash} changed`,
  }))
  const again = await estate.reopen([orgView, ...people.views, ...project.module.views, ...anew])
  expect(rows(again)).toEqual(live)
  await again.close()
})
