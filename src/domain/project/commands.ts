import { Fault } from "../../kernel/fault.ts"
import { parseDisplayName } from "../../kernel/text/identifier.ts"
import type { Cx, DecisionContext, Draft, Receipt, Transaction } from "../../store/index.ts"
import { claimClientId, instance, releaseClientId } from "../instance/index.ts"
import { isExistingOrg as isOrgThere, org } from "../org/index.ts"
import {
  exists,
  type groupsClaims,
  type Project,
  type ProjectEvent,
  type ProjectFields,
  project,
} from "./model.ts"

type ProjectValues = Omit<ProjectFields, "groupsClaim"> & {
  readonly groupsClaim: (typeof groupsClaims)[number]
}

export type ProjectInput = { readonly orgId: string; readonly name: string } & Partial<
  Omit<ProjectValues, "name">
>

/** Adds a project to an organization, which owns it. */
export function addProject(tx: Transaction, id: string, input: ProjectInput): void {
  if (tx.state(project, id).status !== "absent") {
    throw new Fault("already_exists", "project.exists", "a project with this ID already exists")
  }
  if (!isOrgThere(tx.state(org, input.orgId))) {
    throw new Fault("not_found", "org.missing", "organization not found")
  }
  const { groupsClaim = "unspecified" } = input
  const added: Draft<ProjectEvent> = {
    type: "project.added",
    data: {
      name: parseDisplayName("name", input.name),
      projectRoleAssertion: input.projectRoleAssertion ?? false,
      projectRoleCheck: input.projectRoleCheck ?? false,
      hasProjectCheck: input.hasProjectCheck ?? false,
      privateLabelingSetting: input.privateLabelingSetting ?? "unspecified",
      ...(groupsClaim !== "unspecified" && { groupsClaim }),
    },
    claims: [claimClientId(id, idUsedByClient)],
  }
  tx.append(project, id, [added], input.orgId)
}

/** Project IDs and client IDs both appear in the audience of tokens, so they must differ. */
const idUsedByClient = {
  id: "project.id_is_client",
  message: "this ID is already used by a client; choose another one",
}

/** Adds a project in a transaction of its own. */
export async function createProject(cx: Cx, id: string, input: ProjectInput): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => addProject(tx, id, input))
  return step.receipt(project, id)
}

export type UpdateProjectInput = {
  readonly [Field in keyof ProjectValues]?: ProjectValues[Field] | undefined
}

/**
 * Updates the fields that are present; no-op if they are unchanged. Rejects settings of the
 * console's project that would prevent users from signing in to the console.
 */
export const updateProject = project.command<UpdateProjectInput>((state, input, cx, id) => {
  requireExists(state)
  if (input.projectRoleCheck || input.hasProjectCheck) rejectIfConsoleProject(cx, id)
  const { name } = input
  const requested = name === undefined ? input : { ...input, name: parseDisplayName("name", name) }
  const data = changesOf(state, requested)
  return Object.keys(data).length === 0 ? [] : [{ type: "project.changed", data }]
})

/**
 * Deactivates a project, so that users can't sign in to its applications. Rejects the console's
 * project.
 */
export const deactivateProject = project.command((state, _, cx, id) => {
  requireExists(state)
  rejectConsoleProject(cx, id)
  return state.status === "inactive" ? [] : [{ type: "project.deactivated", data: {} }]
})

export const activateProject = project.command((state) => {
  requireExists(state)
  return state.status === "active" ? [] : [{ type: "project.reactivated", data: {} }]
})

/** Removes a project; no-op if it is already removed. Rejects the console's project. */
export const removeProject = project.command((state, _, cx, id) => {
  if (!exists(state)) return []
  rejectConsoleProject(cx, id)
  return [{ type: "project.removed", data: {}, claims: [releaseClientId(id)] }]
})

export function requireExists(state: Project): void {
  if (exists(state)) return
  throw new Fault("not_found", "project.missing", "project not found")
}

const isConsoleProject = (cx: DecisionContext, id: string) =>
  cx.state(instance, cx.instance).projectId === id

function rejectConsoleProject(cx: DecisionContext, id: string): void {
  if (!isConsoleProject(cx, id)) return
  throw new Fault(
    "failed_precondition",
    "project.is_own",
    "permission denied: this project contains the console and the management API, so it " +
      "can't be deactivated or removed",
  )
}

function rejectIfConsoleProject(cx: DecisionContext, id: string): void {
  if (!isConsoleProject(cx, id)) return
  throw new Fault(
    "failed_precondition",
    "project.is_own",
    "this project can't require authorizations or a project grant: no one could sign in to " +
      "the console",
  )
}

/** The fields of the input that differ from the state. */
function changesOf(state: Project, input: UpdateProjectInput): Partial<ProjectFields> {
  const { groupsClaim, ...others } = input
  const withGroupsClaim = groupsClaim === "unspecified" ? others : { ...others, groupsClaim }
  const entries = Object.entries(withGroupsClaim).filter(([field, value]) => {
    return value !== undefined && value !== Reflect.get(state, field)
  })
  return Object.fromEntries(entries)
}
