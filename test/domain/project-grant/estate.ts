// A project of org1, granted to org2, and a third organisation that has nothing to do with it.

import { addMember } from "../../../src/domain/member/index.ts"
import { addOrganization } from "../../../src/domain/org/index.ts"
import { addRoles } from "../../../src/domain/project/index.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import type { Call } from "../../../src/kernel/context.ts"
import { type Estate, openEstate, person } from "../../support/estate.ts"
import { callerOf } from "../../support/world.ts"

export type Granting = Estate & {
  /** Calls as somebody whom the estate does not know. */
  readonly by: (userId: string, orgId: string, name: string, request?: object) => Promise<any>
  /** Makes a user an administrator of the grant to org2. */
  readonly manageGrant: (userId: string, role?: string) => Promise<void>
}

/** How v2 names the grant. */
export const grant = { projectId: "p1", grantedOrganizationId: "org2" }

/** What the project is granted with. */
export const keys = ["admin", "editor"]

/** p1 of org1 with three roles; org2 has two of them. guest and other belong to org2. */
export async function openGranting(): Promise<Granting> {
  const estate = await openEstate()
  const p1 = { organizationId: "org1", projectId: "p1", name: "Portal" }
  await estate.as("manager", "createProject", p1)
  await estate.step((tx) => {
    addRoles.within(tx, "p1", [...keys, "auditor"].map(roleOf))
    addOrganization(tx, "org3", { name: "Initech" })
    for (const id of ["guest", "other"]) addUser(tx, id, person(id, "org2"))
    addUser(tx, "third", person("third", "org3"))
    addMember(tx, {
      userId: "third",
      roles: ["ORG_OWNER"],
      target: { level: "org", id: "org3" },
    })
  })
  await estate.as("manager", "createProjectGrant", { ...grant, roleKeys: keys })
  const by: Granting["by"] = (userId, orgId, name, request) => {
    const cx: Partial<Call> = { caller: callerOf(userId, orgId) }
    return estate.as("nobody", name, request, { cx })
  }
  const manageGrant = (userId: string, role = "PROJECT_GRANT_OWNER") =>
    estate.as("stranger", "createAdministrator", {
      userId,
      roles: [role],
      resource: { resource: { case: "projectGrant", value: named } },
    })
  return { ...estate, by, manageGrant }
}

export const roleOf = (key: string) => ({ key, displayName: `The ${key}` })

/** How administrators name the grant. */
export const named = { projectId: "p1", organizationId: "org2" }
