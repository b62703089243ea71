import { share } from "../../../api/method.ts"
import { AuthService } from "../../../gen/core/auth/v1/auth_service_pb.ts"
import type { ChangeQuery } from "../../../gen/core/change/v1/change_pb.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import { callerOf } from "../../../kernel/context.ts"
import { presentedType } from "../../../kernel/event/name.ts"
import { pageOf } from "../../../kernel/page.ts"
import { at } from "../../../protocol/api/answer.ts"
import type { AnyAggregate, Cx } from "../../../store/index.ts"
import { app } from "../../app/index.ts"
import { contextOrg, org } from "../../org/index.ts"
import { project } from "../../project/index.ts"
import { projectGrant } from "../../project-grant/index.ts"
import { user } from "../../user-model/index.ts"
import { type Editor, editorsOf, keptSince, type RecordedEvent } from "../query.ts"
import { sequenceOf, wordsOf } from "../words.ts"

type Query = ChangeQuery | undefined

export const management = share<Cx>()(ManagementService, {
  listUserChanges: (req, cx) => list(cx, user, req.userId, req.query),
  listOrgChanges: (req, cx) => list(cx, org, contextOrg(cx), req.query),
  listProjectChanges: (req, cx) => list(cx, project, req.projectId, req.query),
  listAppChanges: (req, cx) => list(cx, app, req.appId, req.query),
  listProjectGrantChanges: (req, cx) => list(cx, projectGrant, req.grantId, req.query),
})

export const auth = share<Cx>()(AuthService, {
  listMyUserChanges: ({ query }, cx) => list(cx, user, callerOf(cx), query),
})

async function list(cx: Cx, { stream }: AnyAggregate, id: string, query: Query) {
  const { limit, asc } = pageOf(query && { limit: query.limit, asc: query.asc })
  const part = { limit, asc, from: sequenceOf(query?.sequence), since: keptSince(cx) }
  const events = await cx.store.log.history({ ...part, instance: cx.instance, stream, id })
  const editors = editorsOf(cx)
  return { result: events.map((event) => toChange(cx, event, editors(event))) }
}

const toChange = (cx: Cx, event: RecordedEvent, editor: Editor) => ({
  changeDate: at(event.time),
  eventType: {
    key: `EventTypes.${presentedType(event)}`,
    localizedMessage: wordsOf(cx, event.type),
  },
  sequence: BigInt(event.version),
  editorId: editor.id,
  editorDisplayName: editor.name,
  editorPreferredLoginName: editor.loginName,
  editorAvatarUrl: editor.picture,
  resourceOwnerId: event.owner,
})
