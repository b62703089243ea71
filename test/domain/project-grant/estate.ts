// A project of org1 that is granted to org2, and an unrelated third organization.

import { addMember } from "../../../src/domain/member/index.ts"
import { addOrganization } from "../../../src/domain/org/index.ts"
import { addRoles } from "../../../src/domain/project/index.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import type { Call } from "../../../src/kernel/context.ts"
import { humanInput, openTenant, type Tenant } from "../../support/tenant.ts"
import { callerOf } from "../../support/test-environment.ts"

export type GrantEstate = Tenant & {
  /** Calls as a user that the estate does not define. */
  readonly by: (userId: string, orgId: string, name: string, request?: object) => Promise<any>
  /** Makes a user an administrator of the grant to org2. */
  readonly manageGrant: (userId: string, role?: string) => Promise<void>
}

/** The identifiers of the grant in v2. */
export const grant = { projectId: "p1", grantedOrganizationId: "org2" }

/** The roles of the grant. */
export const grantedRoleKeys = ["admin", "editor"]

/** p1 of org1 has three roles; org2 is granted two of them. guest and other belong to org2. */
export async function openGrantEstate(): Promise<GrantEstate> {
  const estate = await openTenant()
  const p1 = { organizationId: "org1", projectId: "p1", name: "Portal" }
  await estate.as("manager", "createProject", p1)
  await estate.step((tx) => {
    addRoles.within(tx, "p1", [...grantedRoleKeys, "auditor"].map(roleOf))
    addOrganization(tx, "org3", { name: "Initech" })
    for (const id of ["guest", "other"]) addUser(tx, id, humanInput(id, "org2"))
    addUser(tx, "third", humanInput("third", "org3"))
    addMember(tx, {
      userId: "third",
      roles: ["ORG_OWNER"],
      target: { level: "org", id: "org3" },
    })
  })
  await estate.as("manager", "createProjectGrant", { ...grant, roleKeys: grantedRoleKeys })
  const by: GrantEstate["by"] = (userId, orgId, name, request) => {
    const cx: Partial<Call> = { caller: callerOf(userId, orgId) }
    return estate.as("nobody", name, request, { cx })
  }
  const manageGrant = (userId: string, role = "PROJECT_GRANT_OWNER") =>
    estate.as("stranger", "createAdministrator", {
      userId,
      roles: [role],
      resource: { resource: { case: "projectGrant", value: grantResource } },
    })
  return { ...estate, by, manageGrant }
}

export const roleOf = (key: string) => ({ key, displayName: `The ${key}` })

/** The identifiers of the grant for administrators. */
export const grantResource = { projectId: "p1", organizationId: "org2" }
