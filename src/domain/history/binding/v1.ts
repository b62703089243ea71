import { bindHandlers } from "../../../api/method.ts"
import { AuthService } from "../../../gen/core/auth/v1/auth_service_pb.ts"
import type { ChangeQuery } from "../../../gen/core/change/v1/change_pb.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import { requireUserId } from "../../../kernel/context.ts"
import { presentedType } from "../../../kernel/event/name.ts"
import { parsePage } from "../../../kernel/page.ts"
import { toTimestamp } from "../../../protocol/api/response.ts"
import type { AnyAggregate, Cx } from "../../../store/index.ts"
import { app } from "../../app/index.ts"
import { contextOrg, org } from "../../org/index.ts"
import { project } from "../../project/index.ts"
import { projectGrant } from "../../project-grant/index.ts"
import { user } from "../../user-model/index.ts"
import { type Editor, editorsOf, type RecordedEvent, retainedSince } from "../query.ts"
import { eventTitle, parseSequence } from "../words.ts"

type Query = ChangeQuery | undefined

export const management = bindHandlers<Cx>()(ManagementService, {
  listUserChanges: (req, cx) => listChanges(cx, user, req.userId, req.query),
  listOrgChanges: (req, cx) => listChanges(cx, org, contextOrg(cx), req.query),
  listProjectChanges: (req, cx) => listChanges(cx, project, req.projectId, req.query),
  listAppChanges: (req, cx) => listChanges(cx, app, req.appId, req.query),
  listProjectGrantChanges: (req, cx) => listChanges(cx, projectGrant, req.grantId, req.query),
})

export const auth = bindHandlers<Cx>()(AuthService, {
  listMyUserChanges: ({ query }, cx) => listChanges(cx, user, requireUserId(cx), query),
})

async function listChanges(cx: Cx, { stream }: AnyAggregate, id: string, query: Query) {
  const { limit, asc } = parsePage(query && { limit: query.limit, asc: query.asc })
  const part = { limit, asc, from: parseSequence(query?.sequence), since: retainedSince(cx) }
  const events = await cx.store.log.history({ ...part, instance: cx.instance, stream, id })
  const editors = editorsOf(cx)
  return { result: events.map((event) => toChange(cx, event, editors(event))) }
}

const toChange = (cx: Cx, event: RecordedEvent, editor: Editor) => ({
  changeDate: toTimestamp(event.time),
  eventType: {
    key: `EventTypes.${presentedType(event)}`,
    localizedMessage: eventTitle(cx, event.type),
  },
  sequence: BigInt(event.version),
  editorId: editor.id,
  editorDisplayName: editor.name,
  editorPreferredLoginName: editor.loginName,
  editorAvatarUrl: editor.picture,
  resourceOwnerId: event.owner,
})
