import type { MessageInitShape } from "@bufbuild/protobuf"
import { share } from "../../../api/method.ts"
import { AuthService } from "../../../gen/core/auth/v1/auth_service_pb.ts"
import { type SessionSchema, SessionState } from "../../../gen/core/user/v1/user_pb.ts"
import { callerOf } from "../../../kernel/context.ts"
import { details } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { avatarAddress } from "../../user/index.ts"
import { findUser, shownNames } from "../../user-lookup/index.ts"
import { session } from "../model.ts"
import { sessionNow } from "../query.ts"
import { sessionsOf } from "../view.ts"

/** The caller's sign-ins. */
export const auth = share<Cx>()(AuthService, {
  listMyUserSessions: (_, cx) => ({
    result: sessionsOf(cx, callerOf(cx))
      .toReversed()
      .flatMap((id) => shown(cx, id)),
  }),
})

function shown(cx: Cx, id: string): readonly MessageInitShape<typeof SessionSchema>[] {
  const receipt = cx.store.receipt(cx, session, id)
  if (!receipt) return []
  const { userId, agentId } = cx.store.state(cx, session, id)
  const row = findUser(cx, userId)
  return [
    {
      sessionId: id,
      agentId,
      authState: sessionNow(cx, id) ? SessionState.ACTIVE : SessionState.TERMINATED,
      userId,
      userName: row.user_name,
      loginName: shownNames(cx, row).preferredLoginName,
      avatarUrl: avatarAddress(cx, userId),
      displayName: row.display_name,
      details: details({ ...receipt, owner: row.org }),
    },
  ]
}
