import { timestampMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../../api/method.ts"
import {
  ActivityService,
  type ListApplicationUsesRequest,
} from "../../../gen/core/activity/v2/activity_service_pb.ts"
import { callerOf } from "../../../kernel/context.ts"
import { pageOf } from "../../../kernel/page.ts"
import { at, pagination } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { app } from "../../app/index.ts"
import { org } from "../../org/index.ts"
import { project } from "../../project/index.ts"
import { type Connected, connectedApps, disconnectApp } from "../connected.ts"
import { searchUses, type UseRow, usageOf } from "../use.ts"

export const v2 = share<Cx>()(ActivityService, {
  listApplicationUses: (req, cx) => list(cx, req),
  listConnectedApplications: (_, cx) => connectedTo(cx, callerOf(cx)),
  listUserConnectedApplications: ({ userId }, cx) => connectedTo(cx, userId),
  disconnectApplication: ({ applicationId }, cx) => disconnect(cx, callerOf(cx), applicationId),
  disconnectUserApplication: ({ userId, applicationId }, cx) =>
    disconnect(cx, userId, applicationId),
})

const connectedTo = (cx: Cx, userId: string) => ({
  connectedApplications: connectedApps(cx, userId).map((each) => toConnected(cx, each)),
})

async function disconnect(cx: Cx, userId: string, appId: string) {
  const isOwn = cx.caller.kind === "user" && cx.caller.userId === userId
  const reason = isOwn ? "withdrawn by the user" : "withdrawn by an administrator"
  return { disconnectionDate: at(await disconnectApp(cx, userId, appId, reason)) }
}

async function list(cx: Cx, req: ListApplicationUsesRequest) {
  const { userId, applicationId: appId } = req
  const since = req.since ? timestampMs(req.since) : 0
  const found = await searchUses(cx, { page: pageOf(req.pagination), userId, appId, since })
  const { dropped, isProfileUnread } = mayRead(cx, appId) ? usageOf(cx, appId) : unknown
  return {
    pagination: pagination(found),
    applicationUses: found.rows.map(toUse),
    droppedScopes: dropped,
    profileUnread: isProfileUnread,
  }
}

const unknown = { dropped: [], isProfileUnread: false }

/** Whether the caller may read an application that is named. */
function mayRead(cx: Cx, appId: string): boolean {
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
  lastUsed: at(last),
})

const toConnected = (cx: Cx, connected: Connected) => ({
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
  connectedSince: at(connected.since),
  lastUsed: at(connected.lastUsed),
  ...(connected.consentUntil !== undefined && { consentExpiration: at(connected.consentUntil) }),
})
