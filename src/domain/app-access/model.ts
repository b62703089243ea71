import { aggregate, type Event } from "../../store/index.ts"

/** Contains either a user or a group. */
type AssignmentData = {
  readonly appId: string
  readonly projectId: string
  readonly userId?: string
  readonly groupId?: string
}

export type AppAssignmentEvent =
  | Event<"project.application.assignment.added", AssignmentData>
  | Event<"project.application.assignment.removed">

/** Whether a user or a group is assigned to an application; each pair has its own stream. */
export const appAssignment = aggregate<AppAssignmentEvent, { readonly isAssigned: boolean }>({
  stream: "app_assignment",
  initial: { isAssigned: false },
  evolve: {
    "project.application.assignment.added": () => ({ isAssigned: true }),
    "project.application.assignment.removed": () => ({ isAssigned: false }),
  },
})

/** A user or a group. */
export type AssignmentSubject = { readonly kind: "user" | "group"; readonly id: string }

/** The stream ID of an assignment. IDs of applications can contain slashes. */
export const assignmentId = (appId: string, { kind, id }: AssignmentSubject): string =>
  `${encodeURIComponent(appId)}/${kind}/${id}`
