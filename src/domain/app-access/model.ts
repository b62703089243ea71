import { aggregate, type Event } from "../../store/index.ts"

/** Exactly one of the two is named: a user, or a group. */
type Assigned = {
  readonly appId: string
  readonly projectId: string
  readonly userId?: string
  readonly groupId?: string
}

export type AppAssignmentEvent =
  | Event<"project.application.assignment.added", Assigned>
  | Event<"project.application.assignment.removed">

/** Whether a user or a group is assigned to an application: each pair is a stream. */
export const appAssignment = aggregate<AppAssignmentEvent, { readonly isAssigned: boolean }>({
  stream: "app_assignment",
  initial: { isAssigned: false },
  evolve: {
    "project.application.assignment.added": () => ({ isAssigned: true }),
    "project.application.assignment.removed": () => ({ isAssigned: false }),
  },
})

/** A user or a group. */
export type Subject = { readonly kind: "user" | "group"; readonly id: string }

/** The stream of a pair. IDs of applications can contain slashes. */
export const assignmentId = (appId: string, { kind, id }: Subject): string =>
  `${encodeURIComponent(appId)}/${kind}/${id}`
