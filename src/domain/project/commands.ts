import { Fault } from "../../kernel/fault.ts"
import { givenName } from "../../kernel/text/given.ts"
import type { Cx, Decision, Draft, Receipt, Transaction } from "../../store/index.ts"
import { instance, releaseClientId, takeClientId } from "../instance/index.ts"
import { isThere as isOrgThere, org } from "../org/index.ts"
import {
  type groupsClaims,
  isThere,
  type Project,
  type ProjectEvent,
  type ProjectFields,
  project,
} from "./model.ts"

type Given = Omit<ProjectFields, "groupsClaim"> & {
  readonly groupsClaim: (typeof groupsClaims)[number]
}

export type ProjectInput = { readonly orgId: string; readonly name: string } & Partial<
  Omit<Given, "name">
>

/** Adds a project to an organisation, which owns it from then on. */
export function addProject(tx: Transaction, id: string, input: ProjectInput): void {
  if (tx.state(project, id).status !== "absent") {
    throw new Fault("already_exists", "project.exists", "there is already a project with this id")
  }
  if (!isOrgThere(tx.state(org, input.orgId))) {
    throw new Fault("not_found", "org.missing", "there is no such organisation")
  }
  const { groupsClaim = "unspecified" } = input
  const added: Draft<ProjectEvent> = {
    type: "project.added",
    data: {
      name: givenName("name", input.name),
      projectRoleAssertion: input.projectRoleAssertion ?? false,
      projectRoleCheck: input.projectRoleCheck ?? false,
      hasProjectCheck: input.hasProjectCheck ?? false,
      privateLabelingSetting: input.privateLabelingSetting ?? "unspecified",
      ...(groupsClaim !== "unspecified" && { groupsClaim }),
    },
    claims: [takeClientId(id, idIsClient)],
  }
  tx.append(project, id, [added], input.orgId)
}

/** The id of a project stands in the audience of tokens, as those of clients do. */
const idIsClient = {
  id: "project.id_is_client",
  message: "this id is that of a client; choose another",
}

/** Adds a project in a step of its own. */
export async function createProject(cx: Cx, id: string, input: ProjectInput): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => addProject(tx, id, input))
  return step.receipt(project, id)
}

export type ProjectChange = {
  readonly [Field in keyof Given]?: Given[Field] | undefined
}

/**
 * Changes the fields that are given; nothing happens where they say what is so already. Refuses
 * what would keep people out of our own project.
 */
export const changeProject = project.command<ProjectChange>((state, input, cx, id) => {
  mustExist(state)
  if (input.projectRoleCheck || input.hasProjectCheck) mustNotKeepOut(cx, id)
  const { name } = input
  const wanted = name === undefined ? input : { ...input, name: givenName("name", name) }
  const data = changesOf(state, wanted)
  return Object.keys(data).length === 0 ? [] : [{ type: "project.changed", data }]
})

/** Stops sign-ins to every application of a project. Refuses our own project. */
export const deactivateProject = project.command((state, _, cx, id) => {
  mustExist(state)
  mustNotBeOurs(cx, id)
  return state.status === "inactive" ? [] : [{ type: "project.deactivated", data: {} }]
})

export const activateProject = project.command((state) => {
  mustExist(state)
  return state.status === "active" ? [] : [{ type: "project.reactivated", data: {} }]
})

/** Removes a project for good; nothing happens where it is gone. Refuses our own project. */
export const removeProject = project.command((state, _, cx, id) => {
  if (!isThere(state)) return []
  mustNotBeOurs(cx, id)
  return [{ type: "project.removed", data: {}, claims: [releaseClientId(id)] }]
})

export function mustExist(state: Project): void {
  if (isThere(state)) return
  throw new Fault("not_found", "project.missing", "there is no such project")
}

const isOurs = (cx: Decision, id: string) => cx.state(instance, cx.instance).projectId === id

function mustNotBeOurs(cx: Decision, id: string): void {
  if (!isOurs(cx, id)) return
  throw new Fault(
    "failed_precondition",
    "project.is_own",
    "this project can't be stopped or removed: the console and the interface belong to it",
  )
}

function mustNotKeepOut(cx: Decision, id: string): void {
  if (!isOurs(cx, id)) return
  throw new Fault(
    "failed_precondition",
    "project.is_own",
    "this project can't ask for authorizations: nobody could sign in to the console any more",
  )
}

/** The given fields that differ from what is so. */
function changesOf(state: Project, input: ProjectChange): Partial<ProjectFields> {
  const { groupsClaim, ...others } = input
  const given = groupsClaim === "unspecified" ? others : { ...others, groupsClaim }
  const entries = Object.entries(given).filter(([field, value]) => {
    return value !== undefined && value !== Reflect.get(state, field)
  })
  return Object.fromEntries(entries)
}
