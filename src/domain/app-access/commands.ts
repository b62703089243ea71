import { Fault } from "../../kernel/fault.ts"
import type { Cx, Draft, Transaction } from "../../store/index.ts"
import { app } from "../app/index.ts"
import { group } from "../group/index.ts"
import { requireVisibleUser } from "../member/index.ts"
import {
  type AppAssignmentEvent,
  type AssignmentSubject,
  appAssignment,
  assignmentId,
} from "./model.ts"

/** Maximum number of users, and of groups, in one call. */
const subjectsMax = 100

export type AssignmentSubjects = {
  readonly userIds: readonly string[]
  readonly groupIds: readonly string[]
}

/**
 * Assigns users and groups to an application, all or none. Rejects users that the caller can't
 * read, and groups of organizations that don't own the application. Returns when assignments last
 * changed, ms UTC.
 */
export const addAssignments = (
  cx: Cx,
  appId: string,
  subjects: AssignmentSubjects,
): Promise<number> =>
  changeAssignments(cx, appId, subjects, (tx, subject) => addAssignment(tx, appId, subject))

/** Assigns one user or group within a transaction; returns false if it was already assigned. */
export function addAssignment(tx: Transaction, appId: string, subject: AssignmentSubject): boolean {
  const state = tx.state(app, appId)
  if (!("projectId" in state)) throw appNotFoundError()
  const orgId = tx.owner(app, appId)
  if (subject.kind === "user") requireVisibleUser(tx, subject.id, orgId)
  else requireGroupOfOrg(tx, subject.id, orgId)
  const id = assignmentId(appId, subject)
  if (tx.state(appAssignment, id).isAssigned) return false
  const subjectIds = subject.kind === "user" ? { userId: subject.id } : { groupId: subject.id }
  const added: Draft<AppAssignmentEvent> = {
    type: "project.application.assignment.added",
    data: { appId, projectId: state.projectId, ...subjectIds },
  }
  tx.append(appAssignment, id, [added], orgId)
  return true
}

/** Removes assignments. Users and groups that are not assigned are ignored. */
export const removeAssignments = (
  cx: Cx,
  appId: string,
  subjects: AssignmentSubjects,
): Promise<number> =>
  changeAssignments(cx, appId, subjects, (tx, subject) => {
    const id = assignmentId(appId, subject)
    if (!tx.state(appAssignment, id).isAssigned) return false
    tx.append(appAssignment, id, [{ type: "project.application.assignment.removed", data: {} }])
    return true
  })

async function changeAssignments(
  cx: Cx,
  appId: string,
  { userIds, groupIds }: AssignmentSubjects,
  change: (tx: Transaction, subject: AssignmentSubject) => boolean,
): Promise<number> {
  if (Math.max(userIds.length, groupIds.length) > subjectsMax) throw tooManyAssignmentsError()
  const subjects: readonly AssignmentSubject[] = [
    ...userIds.map((id) => ({ kind: "user", id }) as const),
    ...groupIds.map((id) => ({ kind: "group", id }) as const),
  ]
  const step = await cx.store.transact(cx, (tx) => {
    if (!("projectId" in tx.state(app, appId))) throw appNotFoundError()
    const changed = subjects.filter((subject) => change(tx, subject))
    return changed.length > 0 ? tx.now : undefined
  })
  return step.value ?? step.receipt(app, appId).changed
}

function requireGroupOfOrg(tx: Transaction, groupId: string, orgId: string): void {
  const state = tx.state(group, groupId)
  if (state.status === "active" && state.orgId === orgId) return
  throw new Fault(
    "not_found",
    "group.missing",
    "group not found in the organization that owns the application",
  )
}

const appNotFoundError = () => new Fault("not_found", "app.missing", "application not found")

const tooManyAssignmentsError = () =>
  new Fault(
    "invalid_argument",
    "app.too_many_assignments",
    `at most ${subjectsMax} users and ${subjectsMax} groups can be assigned or removed in ` +
      "one call; make several calls",
  )
