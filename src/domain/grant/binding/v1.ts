import type { MessageInitShape } from "@bufbuild/protobuf"
import { share } from "../../../api/method.ts"
import { AuthService } from "../../../gen/core/auth/v1/auth_service_pb.ts"
import type { RefreshTokenSchema } from "../../../gen/core/user/v1/user_pb.ts"
import { callerOf } from "../../../kernel/context.ts"
import { Fault } from "../../../kernel/fault.ts"
import { at, details } from "../../../protocol/api/answer.ts"
import type { Cx, Transaction } from "../../../store/index.ts"
import { findUser } from "../../user-lookup/index.ts"
import { endGrant } from "../commands.ts"
import { grant, offlineUntil } from "../model.ts"
import { isOfflineCurrent } from "../refresh.ts"
import { grantsOf } from "../view.ts"

/** The caller's refresh tokens. Each is named by the grant that it renews, which ends with it. */
export const auth = share<Cx>()(AuthService, {
  listMyRefreshTokens: (_, cx) => {
    const result = usable(cx).map((id) => shown(cx, id))
    return {
      details: {
        totalResult: BigInt(result.length),
        processedSequence: BigInt(cx.store.log.durable()),
        viewTimestamp: at(cx.clock.now()),
      },
      result,
    }
  },
  revokeMyRefreshToken: async ({ id }, cx) => {
    const userId = callerOf(cx)
    const step = await cx.store.transact(cx, (tx) => {
      if (!isRefreshable(tx, id, userId)) throw missingError()
      endGrant(tx, id, "revoked by the user")
    })
    return { details: details({ ...step.receipt(grant, id), owner: homeOf(cx) }) }
  },
  revokeAllMyRefreshTokens: async (_, cx) => {
    const userId = callerOf(cx)
    await cx.store.transact(cx, (tx) => {
      const theirs = grantsOf(cx, userId).filter((id) => isRefreshable(tx, id, userId))
      for (const id of theirs) endGrant(tx, id, "revoked by the user")
    })
    return {}
  },
})

/** Those that neither time nor a newer password or a lock has ended, the newest first. */
function usable(cx: Cx): readonly string[] {
  const userId = callerOf(cx)
  const now = cx.clock.now()
  return grantsOf(cx, userId)
    .filter((id) => {
      const state = cx.store.state(cx, grant, id)
      if (state.status !== "active" || !state.offline) return false
      return now < offlineUntil(state.offline) && isOfflineCurrent(cx, userId, state)
    })
    .toReversed()
}

function isRefreshable(tx: Transaction, id: string, userId: string): boolean {
  const state = tx.state(grant, id)
  return state.status === "active" && state.userId === userId && state.offline !== undefined
}

function shown(cx: Cx, id: string): MessageInitShape<typeof RefreshTokenSchema> {
  const state = cx.store.state(cx, grant, id)
  const receipt = cx.store.receipt(cx, grant, id)
  if (state.status === "absent" || !state.offline || !receipt) throw missingError()
  return {
    id,
    details: details({ ...receipt, owner: homeOf(cx) }),
    clientId: state.clientId,
    authTime: at(state.authTime),
    idleExpiration: at(state.offline.idleExpires),
    expiration: at(state.offline.expires),
    scopes: [...state.scopes],
    audience: [...state.audience],
  }
}

const homeOf = (cx: Cx): string => findUser(cx, callerOf(cx)).org

const missingError = () => new Fault("not_found", "grant.missing", "you have no such refresh token")
