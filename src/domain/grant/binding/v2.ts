import { timestampMs } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../../api/method.ts"
import {
  ActivityService,
  type ListApplicationUsesRequest,
} from "../../../gen/core/activity/v2/activity_service_pb.ts"
import { requireUserId } from "../../../kernel/context.ts"
import { parsePage } from "../../../kernel/page.ts"
import { toPagination, toTimestamp } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { app } from "../../app/index.ts"
import { org } from "../../org/index.ts"
import { project } from "../../project/index.ts"
import { type ConnectedApp, connectedApps, disconnectApp } from "../connected.ts"
import { searchUses, type UseRow, usageOf } from "../use.ts"

export const v2 = bindHandlers<Cx>()(ActivityService, {
  listApplicationUses: (req, cx) => listApplicationUses(cx, req),
  listConnectedApplications: (_, cx) => connectedTo(cx, requireUserId(cx)),
  listUserConnectedApplications: ({ userId }, cx) => connectedTo(cx, userId),
  disconnectApplication: ({ applicationId }, cx) =>
    disconnectApplication(cx, requireUserId(cx), applicationId),
  disconnectUserApplication: ({ userId, applicationId }, cx) =>
    disconnectApplication(cx, userId, applicationId),
})

const connectedTo = (cx: Cx, userId: string) => ({
  connectedApplications: connectedApps(cx, userId).map((each) => toConnected(cx, each)),
})

async function disconnectApplication(cx: Cx, userId: string, appId: string) {
  const isOwn = cx.caller.kind === "user" && cx.caller.userId === userId
  const reason = isOwn ? "revoked by the user" : "revoked by an administrator"
  return { disconnectionDate: toTimestamp(await disconnectApp(cx, userId, appId, reason)) }
}

async function listApplicationUses(cx: Cx, req: ListApplicationUsesRequest) {
  const { userId, applicationId: appId } = req
  const since = req.since ? timestampMs(req.since) : 0
  const found = await searchUses(cx, { page: parsePage(req.pagination), userId, appId, since })
  const { dropped, isProfileUnread } = canReadApplication(cx, appId) ? usageOf(cx, appId) : noClaims
  return {
    pagination: toPagination(found),
    applicationUses: found.rows.map(toUse),
    droppedScopes: dropped,
    profileUnread: isProfileUnread,
  }
}

const noClaims = { dropped: [], isProfileUnread: false }

/** Whether the caller can read an application. */
function canReadApplication(cx: Cx, appId: string): boolean {
  const { scope, store } = cx
  const state = store.state(cx, app, appId)
  if (!scope || !("projectId" in state)) return false
  const owner = store.receipt(cx, app, appId)?.owner ?? ""
  return scope.all || scope.orgs.includes(owner) || scope.projects.includes(state.projectId)
}

const toUse = ({ app, app_name, user_id, last }: UseRow) => ({
  applicationId: app,
  applicationName: app_name,
  userId: user_id,
  lastUsed: toTimestamp(last),
})

const toConnected = (cx: Cx, connected: ConnectedApp) => ({
  applicationId: connected.appId,
  applicationName: connected.name,
  scopes: [...connected.scopes],
  projects: connected.projects.flatMap((id) => {
    const reached = cx.store.state(cx, project, id)
    if (reached.name === "") return []
    const organizationName = cx.store.state(cx, org, reached.orgId).name
    return [{ projectId: id, projectName: reached.name, organizationName }]
  }),
  offline: connected.isOffline,
  connectedSince: toTimestamp(connected.since),
  lastUsed: toTimestamp(connected.lastUsed),
  ...(connected.consentUntil !== undefined && {
    consentExpiration: toTimestamp(connected.consentUntil),
  }),
})
