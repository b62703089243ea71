import { share } from "../../../api/method.ts"
import { BackChannelLogoutReach } from "../../../gen/core/application/v2/application_pb.ts"
import {
  ApplicationService,
  type GetBackChannelLogoutStatusRequest,
} from "../../../gen/core/application/v2/application_service_pb.ts"
import type { Reach } from "../../../kernel/port/outbound.ts"
import { at } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { noticeFailures } from "../back-channel.ts"
import { app, isGone } from "../model.ts"
import { checkBackChannel, mayAllowPrivate, mayLieInside } from "../oidc.ts"
import { missingAppError } from "../view.ts"

/** How applications are notified of ended sessions. */
export const v2logout = share<Cx>()(ApplicationService, {
  getBackChannelLogoutStatus: (req, cx) => status(cx, req),
})

/**
 * Where an address leads, and why nothing arrives there, would show callers around in the network
 * of this service: only who may allow addresses in it learns that. No name is looked up for others.
 */
async function status(cx: Cx, req: GetBackChannelLogoutStatusRequest) {
  const state = cx.store.state(cx, app, req.applicationId)
  if (isGone(state) || state.kind !== "oidc") throw missingAppError()
  const failures = noticeFailures(cx, state.clientId)
  const isShown = mayAllowPrivate(cx)
  const uri = req.backChannelLogoutUri || state.oidc.backChannelLogoutUri
  checkBackChannel(uri)
  return {
    ...(isShown && uri !== "" && { reach: reaches[await reachOf(cx, uri)] }),
    ...(failures && {
      failedNotices: failures.count,
      lastFailure: at(failures.last),
      ...(failures.next !== undefined && { nextAttempt: at(failures.next) }),
      ...(isShown && { lastError: failures.reason }),
    }),
  }
}

async function reachOf(cx: Cx, uri: string): Promise<Reach> {
  const reach = await cx.outside.reach(uri)
  return reach === "private_network" && !mayLieInside(cx, uri) ? "forbidden" : reach
}

const reaches = {
  open: BackChannelLogoutReach.OPEN,
  private_network: BackChannelLogoutReach.PRIVATE_NETWORK,
  forbidden: BackChannelLogoutReach.FORBIDDEN,
  unknown_host: BackChannelLogoutReach.UNKNOWN_HOST,
} as const satisfies Record<Reach, BackChannelLogoutReach>
