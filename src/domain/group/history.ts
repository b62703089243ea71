import { historyOf } from "../../store/index.ts"
import { groupUser } from "./member.ts"
import { group } from "./model.ts"

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
    // Whom it was about is in the event that added them.
    "group.user.removed": ({ earlier: { data } = { data: {} } }) =>
      "groupId" in data && "userId" in data
        ? ["AddUsersToGroup", { id: data.groupId, userIds: [data.userId] }]
        : "parts",
  },
})
