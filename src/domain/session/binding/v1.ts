import type { MessageInitShape } from "@bufbuild/protobuf"
import { bindHandlers } from "../../../api/method.ts"
import { AuthService } from "../../../gen/core/auth/v1/auth_service_pb.ts"
import { type SessionSchema, SessionState } from "../../../gen/core/user/v1/user_pb.ts"
import { requireUserId } from "../../../kernel/context.ts"
import { toDetails } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { avatarUrl } from "../../user/index.ts"
import { displayNames, requireUserRow } from "../../user-lookup/index.ts"
import { session } from "../model.ts"
import { findSession } from "../query.ts"
import { sessionIdsOf } from "../view.ts"

/** The caller's sessions. */
export const auth = bindHandlers<Cx>()(AuthService, {
  listMyUserSessions: (_, cx) => ({
    result: sessionIdsOf(cx, requireUserId(cx))
      .toReversed()
      .flatMap((id) => toSessions(cx, id)),
  }),
})

function toSessions(cx: Cx, id: string): readonly MessageInitShape<typeof SessionSchema>[] {
  const receipt = cx.store.receipt(cx, session, id)
  if (!receipt) return []
  const { userId, agentId } = cx.store.state(cx, session, id)
  const row = requireUserRow(cx, userId)
  return [
    {
      sessionId: id,
      agentId,
      authState: findSession(cx, id) ? SessionState.ACTIVE : SessionState.TERMINATED,
      userId,
      userName: row.user_name,
      loginName: displayNames(cx, row).preferredLoginName,
      avatarUrl: avatarUrl(cx, userId),
      displayName: row.display_name,
      details: toDetails({ ...receipt, owner: row.org }),
    },
  ]
}
