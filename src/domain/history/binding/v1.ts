import { share } from "../../../api/method.ts"
import { AuthService } from "../../../gen/core/auth/v1/auth_service_pb.ts"
import type { ChangeQuery } from "../../../gen/core/change/v1/change_pb.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { pageOf } from "../../../kernel/page.ts"
import { at } from "../../../protocol/api/answer.ts"
import type { AnyAggregate, Cx } from "../../../store/index.ts"
import { app } from "../../app/index.ts"
import { contextOrg, org } from "../../org/index.ts"
import { project } from "../../project/index.ts"
import { projectGrant } from "../../project-grant/index.ts"
import { user } from "../../user-model/index.ts"
import { type Change, changesOf } from "../query.ts"
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

async function list(cx: Cx, kind: AnyAggregate, id: string, query: Query) {
  const { limit, asc } = pageOf({ limit: query?.limit ?? 0, asc: query?.asc ?? false })
  const changes = await changesOf(cx, kind, id, { limit, asc, from: sequenceOf(query?.sequence) })
  return { result: changes.map((change) => toChange(cx, change)) }
}

const toChange = (cx: Cx, { version, time, type, name, owner, editor }: Change) => ({
  changeDate: at(time),
  eventType: { key: `EventTypes.${name}`, localizedMessage: wordsOf(cx, type) },
  sequence: BigInt(version),
  editorId: editor.id,
  editorDisplayName: editor.name,
  editorPreferredLoginName: editor.loginName,
  editorAvatarUrl: editor.picture,
  resourceOwnerId: owner,
})

function callerOf({ caller }: Cx): string {
  if (caller.kind === "user") return caller.userId
  throw new Fault("unauthenticated", "user.nobody", "sign in to see what happened to you")
}
