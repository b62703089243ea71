import { historyOf } from "../../store/index.ts"
import { appAssignment } from "./model.ts"

type AssignmentFields = { readonly [name: string]: unknown }

/** The fields of a request that identify the application and the subject of an assignment. */
const requestOf = ({ appId, projectId, userId, groupId }: AssignmentFields) => ({
  applicationId: appId,
  projectId,
  ...(userId !== undefined && { userIds: [userId] }),
  ...(groupId !== undefined && { groupIds: [groupId] }),
})

export const appAssignmentHistory = historyOf(appAssignment, {
  operations: "core.application.v2.ApplicationService/*ApplicationAssignments",
  unkept: ["project.application.assignment"],
  undo: {
    "project.application.assignment.added": ({ event: { data } }) => [
      "RemoveApplicationAssignments",
      requestOf(data),
    ],
    // Only the event that added the assignment contains the application and the subject.
    "project.application.assignment.removed": ({ earlier: { data } = { data: {} } }) =>
      "appId" in data ? ["AddApplicationAssignments", requestOf(data)] : "parts",
  },
})
