import { bindHandlers } from "../../../api/method.ts"
import { BackChannelLogoutReach } from "../../../gen/core/application/v2/application_pb.ts"
import {
  ApplicationService,
  type GetBackChannelLogoutStatusRequest,
} from "../../../gen/core/application/v2/application_service_pb.ts"
import type { Reach } from "../../../kernel/port/outbound.ts"
import { toTimestamp } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { findLogoutNotificationFailures } from "../back-channel.ts"
import { app, isMissing } from "../model.ts"
import { canAllowPrivateNetwork, canBePrivate, validateBackChannelUri } from "../oidc.ts"
import { appNotFoundError } from "../view.ts"

/** The status of logout notifications to applications. */
export const v2logout = bindHandlers<Cx>()(ApplicationService, {
  getBackChannelLogoutStatus: (req, cx) => status(cx, req),
})

/**
 * Whether an address resolves to a private network, and why a notification failed, would let
 * callers probe the network of this service. Only callers that can allow private addresses receive
 * this information; for others no host name is resolved.
 */
async function status(cx: Cx, req: GetBackChannelLogoutStatusRequest) {
  const state = cx.store.state(cx, app, req.applicationId)
  if (isMissing(state) || state.kind !== "oidc") throw appNotFoundError()
  const failures = findLogoutNotificationFailures(cx, state.clientId)
  const isShown = canAllowPrivateNetwork(cx)
  const uri = req.backChannelLogoutUri || state.oidc.backChannelLogoutUri
  validateBackChannelUri(uri)
  return {
    ...(isShown && uri !== "" && { reach: reaches[await reachOf(cx, uri)] }),
    ...(failures && {
      failedNotices: failures.count,
      lastFailure: toTimestamp(failures.last),
      ...(failures.next !== undefined && { nextAttempt: toTimestamp(failures.next) }),
      ...(isShown && { lastError: failures.reason }),
    }),
  }
}

async function reachOf(cx: Cx, uri: string): Promise<Reach> {
  const reach = await cx.outside.reach(uri)
  return reach === "private_network" && !canBePrivate(cx, uri) ? "forbidden" : reach
}

const reaches = {
  open: BackChannelLogoutReach.OPEN,
  private_network: BackChannelLogoutReach.PRIVATE_NETWORK,
  forbidden: BackChannelLogoutReach.FORBIDDEN,
  unknown_host: BackChannelLogoutReach.UNKNOWN_HOST,
} as const satisfies Record<Reach, BackChannelLogoutReach>
