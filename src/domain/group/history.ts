import { historyOf } from "../../store/index.ts"
import { groupUser } from "./member.ts"
import { group } from "./model.ts"
import { groupNesting } from "./nesting.ts"

export const groupHistory = historyOf(group, {
  hidden: ["orgId"],
  operations: "core.group.v2.GroupService/*Group",
})

export const groupUserHistory = historyOf(groupUser, {
  operations: "core.group.v2.GroupService/*Group",
  unkept: ["group.user"],
  undo: {
    "group.user.added": ({ event: { data } }) => [
      "RemoveUsersFromGroup",
      { id: data.groupId, userIds: [data.userId] },
    ],
    // The user is in the event that added them.
    "group.user.removed": ({ earlier: { data } = { data: {} } }) =>
      "groupId" in data && "userId" in data
        ? ["AddUsersToGroup", { id: data.groupId, userIds: [data.userId] }]
        : "parts",
  },
})

export const groupNestingHistory = historyOf(groupNesting, {
  operations: "core.group.v2.GroupService/*Group",
  undo: {
    "group.group.added": ({ event: { data } }) => [
      "RemoveGroupsFromGroup",
      { id: data.groupId, groupIds: [data.memberGroupId] },
    ],
    "group.group.removed": ({ event: { data } }) => [
      "AddGroupsToGroup",
      { id: data.groupId, groupIds: [data.memberGroupId] },
    ],
  },
  noUndo: { cascade: ["group.nesting.removed"] },
})
