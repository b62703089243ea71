import type { MessageInitShape } from "@bufbuild/protobuf"
import { bindHandlers } from "../../../api/method.ts"
import { AuthService } from "../../../gen/core/auth/v1/auth_service_pb.ts"
import type { RefreshTokenSchema } from "../../../gen/core/user/v1/user_pb.ts"
import { requireUserId } from "../../../kernel/context.ts"
import { Fault } from "../../../kernel/fault.ts"
import { toDetails, toTimestamp } from "../../../protocol/api/response.ts"
import type { Cx, Transaction } from "../../../store/index.ts"
import { requireUserRow } from "../../user-lookup/index.ts"
import { endGrant } from "../commands.ts"
import { grant, offlineExpiryOf } from "../model.ts"
import { isOfflineCurrent } from "../refresh.ts"
import { grantIdsOf } from "../view.ts"

/** The refresh tokens of the caller. Each has the ID of its grant, which is revoked with it. */
export const auth = bindHandlers<Cx>()(AuthService, {
  listMyRefreshTokens: (_, cx) => {
    const result = refreshableGrants(cx).map((id) => toRefreshToken(cx, id))
    return {
      details: {
        totalResult: BigInt(result.length),
        processedSequence: BigInt(cx.store.log.durable()),
        viewTimestamp: toTimestamp(cx.clock.now()),
      },
      result,
    }
  },
  revokeMyRefreshToken: async ({ id }, cx) => {
    const userId = requireUserId(cx)
    const step = await cx.store.transact(cx, (tx) => {
      if (!isRefreshable(tx, id, userId)) throw refreshTokenNotFoundError()
      endGrant(tx, id, "revoked by the user")
    })
    return { details: toDetails({ ...step.receipt(grant, id), owner: callerOrgOf(cx) }) }
  },
  revokeAllMyRefreshTokens: async (_, cx) => {
    const userId = requireUserId(cx)
    await cx.store.transact(cx, (tx) => {
      const refreshableIds = grantIdsOf(cx, userId).filter((id) => isRefreshable(tx, id, userId))
      for (const id of refreshableIds) endGrant(tx, id, "revoked by the user")
    })
    return {}
  },
})

/**
 * IDs of the grants that can still be refreshed, newest first: not expired, and not ended by a
 * password change or a lock.
 */
function refreshableGrants(cx: Cx): readonly string[] {
  const userId = requireUserId(cx)
  const now = cx.clock.now()
  return grantIdsOf(cx, userId)
    .filter((id) => {
      const state = cx.store.state(cx, grant, id)
      if (state.status !== "active" || !state.offline) return false
      return now < offlineExpiryOf(state.offline) && isOfflineCurrent(cx, userId, state)
    })
    .toReversed()
}

function isRefreshable(tx: Transaction, id: string, userId: string): boolean {
  const state = tx.state(grant, id)
  return state.status === "active" && state.userId === userId && state.offline !== undefined
}

function toRefreshToken(cx: Cx, id: string): MessageInitShape<typeof RefreshTokenSchema> {
  const state = cx.store.state(cx, grant, id)
  const receipt = cx.store.receipt(cx, grant, id)
  if (state.status === "absent" || !state.offline || !receipt) throw refreshTokenNotFoundError()
  return {
    id,
    details: toDetails({ ...receipt, owner: callerOrgOf(cx) }),
    clientId: state.clientId,
    authTime: toTimestamp(state.authTime),
    idleExpiration: toTimestamp(state.offline.idleExpires),
    expiration: toTimestamp(state.offline.expires),
    scopes: [...state.scopes],
    audience: [...state.audience],
  }
}

const callerOrgOf = (cx: Cx): string => requireUserRow(cx, requireUserId(cx)).org

const refreshTokenNotFoundError = () =>
  new Fault("not_found", "grant.missing", "refresh token not found")
