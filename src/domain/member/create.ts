import type { Cx, Transaction } from "../../store/index.ts"
import { addOrganization, type OrgOidcSettings, org } from "../org/index.ts"
import { addProject, type ProjectInput, project } from "../project/index.ts"
import { addUser, type NewHuman } from "../user/index.ts"
import { addCreator, addMember, changeMember, isMember } from "./commands.ts"
import { permissionsOn } from "./held.ts"
import type { Target } from "./model.ts"

/** Somebody to make an administrator; `human` where they are new. */
export type Administrator = {
  readonly userId: string
  readonly human?: Omit<NewHuman, "orgId">
  /** The owner's role where it is empty. */
  readonly roles: readonly string[]
}

/** Adds an organisation and its administrators in one step. */
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
 * Adds a project and its administrators in one step. Who may create projects but not change those
 * of the organisation becomes the owner of what they create: they could not even see it else.
 */
export async function createProjectWithAdmins(
  cx: Cx,
  id: string,
  input: ProjectInput & { readonly admins: readonly Administrator[] },
) {
  const step = await cx.store.transact(cx, (tx) => {
    addProject(tx, id, input)
    const creator = limitedCreator(tx, input.orgId)
    if (creator !== undefined) addCreator(tx, id, creator)
    for (const admin of input.admins) addProjectAdmin(tx, id, admin)
  })
  return step.receipt(project, id)
}

/** The creator may be named too; the roles that are asked for then count. */
function addProjectAdmin(tx: Transaction, id: string, { userId, roles }: Administrator): void {
  const target: Target = { level: "project", id }
  const wanted = { target, userId, roles: roles.length > 0 ? roles : ["PROJECT_OWNER"] }
  if (isMember(tx, target, userId)) changeMember(tx, wanted)
  else addMember(tx, wanted)
}

/** The caller, where they may create projects but not change those of the organisation. */
function limitedCreator(tx: Transaction, orgId: string): string | undefined {
  if (tx.caller.kind !== "user") return undefined
  const { userId } = tx.caller
  const mayChange = permissionsOn(tx, { level: "org", id: orgId }, userId).has("project.write")
  return mayChange ? undefined : userId
}
