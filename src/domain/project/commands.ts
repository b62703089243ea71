import { Fault } from "../../kernel/fault.ts"
import { givenName } from "../../kernel/given.ts"
import type { Cx, Decision, Draft, Receipt, Transaction } from "../../store/index.ts"
import { instance } from "../instance/index.ts"
import { org } from "../org/index.ts"
import { isThere, type Project, type ProjectEvent, type ProjectFields, project } from "./model.ts"

export type ProjectInput = { readonly orgId: string; readonly name: string } & Partial<
  Omit<ProjectFields, "name">
>

/** Adds a project to an organisation, which owns it from then on. */
export function addProject(tx: Transaction, id: string, input: ProjectInput): void {
  if (tx.state(project, id).status !== "absent") {
    throw new Fault("already_exists", "project.exists", "there is already a project with this id")
  }
  if (tx.state(org, input.orgId).status === "absent") {
    throw new Fault("not_found", "org.missing", "there is no such organisation")
  }
  const added: Draft<ProjectEvent> = {
    type: "project.added",
    data: {
      name: givenName("name", input.name),
      projectRoleAssertion: input.projectRoleAssertion ?? false,
      projectRoleCheck: input.projectRoleCheck ?? false,
      hasProjectCheck: input.hasProjectCheck ?? false,
      privateLabelingSetting: input.privateLabelingSetting ?? "unspecified",
    },
  }
  tx.append(project, id, [added], input.orgId)
}

/** Adds a project in a step of its own. */
export async function createProject(cx: Cx, id: string, input: ProjectInput): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => addProject(tx, id, input))
  return step.receipt(project, id)
}

export type ProjectChange = {
  readonly [Field in keyof ProjectFields]?: ProjectFields[Field] | undefined
}

/** Changes the fields that are given; nothing happens where they say what is so already. */
export const changeProject = project.command<ProjectChange>((state, input) => {
  mustExist(state)
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
  return [{ type: "project.removed", data: {} }]
})

function mustExist(state: Project): void {
  if (isThere(state)) return
  throw new Fault("not_found", "project.missing", "there is no such project")
}

function mustNotBeOurs(cx: Decision, id: string): void {
  if (cx.state(instance, cx.instance).projectId !== id) return
  throw new Fault(
    "failed_precondition",
    "project.is_own",
    "this project can't be stopped or removed: the console and the interface belong to it",
  )
}

/** The given fields that differ from what is so. */
function changesOf(state: Project, input: ProjectChange): Partial<ProjectFields> {
  const entries = Object.entries(input).filter(([field, value]) => {
    return value !== undefined && value !== Reflect.get(state, field)
  })
  return Object.fromEntries(entries)
}
