import type { Cx, Transaction } from "../../store/index.ts"
import { addOrganization, type OrgOidcSettings, org } from "../org/index.ts"
import { addProject, type ProjectInput, project } from "../project/index.ts"
import { addUser, type NewHuman } from "../user/index.ts"
import { addCreator, addMember, isMember, updateMember } from "./commands.ts"
import type { Target } from "./model.ts"
import { permissionsOn } from "./permission.ts"

/** A user to make an administrator; `human` is present if the user must be created. */
export type Administrator = {
  readonly userId: string
  readonly human?: Omit<NewHuman, "orgId">
  /** If empty, the owner role is assigned. */
  readonly roles: readonly string[]
}

/** Creates an organization and its administrators in one transaction. */
export async function createOrganizationWithAdmins(
  cx: Cx,
  id: string,
  input: {
    readonly name: string
    readonly oidc?: OrgOidcSettings | undefined
    readonly admins: readonly Administrator[]
  },
) {
  const target: Target = { level: "org", id }
  const step = await cx.store.transact(cx, (tx) => {
    addOrganization(tx, id, input)
    for (const { userId, human, roles } of input.admins) {
      if (human) addUser(tx, userId, { ...human, orgId: id })
      addMember(tx, { target, userId, roles: roles.length > 0 ? roles : ["ORG_OWNER"] })
    }
  })
  return step.receipt(org, id)
}

/**
 * Creates a project and its administrators in one transaction. Callers who can create projects but
 * not update those of the organization become owners of the projects that they create; otherwise
 * they could not see them.
 */
export async function createProjectWithAdmins(
  cx: Cx,
  id: string,
  input: ProjectInput & { readonly admins: readonly Administrator[] },
) {
  const step = await cx.store.transact(cx, (tx) => {
    addProject(tx, id, input)
    const creator = creatorWithoutUpdate(tx, input.orgId)
    if (creator !== undefined) addCreator(tx, id, creator)
    for (const admin of input.admins) addProjectAdmin(tx, id, admin)
  })
  return step.receipt(project, id)
}

/** The creator can also be listed; then the requested roles apply. */
function addProjectAdmin(tx: Transaction, id: string, { userId, roles }: Administrator): void {
  const target: Target = { level: "project", id }
  const memberInput = { target, userId, roles: roles.length > 0 ? roles : ["PROJECT_OWNER"] }
  if (isMember(tx, target, userId)) updateMember(tx, memberInput)
  else addMember(tx, memberInput)
}

/** The caller, if they can create projects but not update those of the organization. */
function creatorWithoutUpdate(tx: Transaction, orgId: string): string | undefined {
  if (tx.caller.kind !== "user") return undefined
  const { userId } = tx.caller
  const mayChange = permissionsOn(tx, { level: "org", id: orgId }, userId).has("project.write")
  return mayChange ? undefined : userId
}
