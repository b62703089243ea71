import { share } from "../../../api/method.ts"
import {
  EntryCondition,
  type GetEntryReasonRequest,
  type GetPermissionReasonRequest,
  HistoryService,
  Reason,
} from "../../../gen/core/history/v2/history_service_pb.ts"
import type { AccessAnswer, Holding } from "../../../kernel/access.ts"
import { Fault } from "../../../kernel/fault.ts"
import { at } from "../../../protocol/api/answer.ts"
import type { AnyEvent, Cx, Recorded } from "../../../store/index.ts"
import { app, isAppActive } from "../../app/index.ts"
import { appEntryOf } from "../../app-access/index.ts"
import {
  authorization,
  givenOn,
  groupAuthorization,
  heldByGroups,
} from "../../authorization/index.ts"
import { group } from "../../group/index.ts"
import { mayReadUser } from "../../member/index.ts"
import { isOrgActive, org } from "../../org/index.ts"
import { project } from "../../project/index.ts"
import { projectGrant } from "../../project-grant/index.ts"
import { isUserActive } from "../../user-lookup/index.ts"
import { user } from "../../user-model/index.ts"
import { nameOf } from "../event.ts"
import { lastAuthorized, lastGiven } from "../given.ts"
import { toEditor } from "./v2.ts"

export const reasons = share<Cx>()(HistoryService, {
  getPermissionReason: (req, cx) => permissionReason(cx, req),
  getEntryReason: (req, cx) => entryReason(cx, req),
})

async function permissionReason(cx: Cx, { userId, subject, ...req }: GetPermissionReasonRequest) {
  if (!cx.explain) throw new Error("the dispatcher lends what explains its decisions")
  if (!subject.case || subject.value === "") throw subjectMissingError()
  const answer = cx.explain({
    userId,
    orgId: cx.store.receipt(cx, user, userId)?.owner ?? "",
    subject: { kind: subject.case, name: subject.value },
    resource: req.resource,
    id: req.id,
    parent: req.parentId,
  })
  const { permission, resource, owners, holdings } = answer
  return {
    ...outcomeOf(answer),
    permission,
    resource,
    organizationId: owners.org ?? "",
    projectId: owners.project ?? "",
    projectGrantId: owners.grant ?? "",
    holdings: await Promise.all(holdings.map((each) => toHolding(cx, userId, each))),
  }
}

const allowed = {
  role: { reason: Reason.ROLE, words: "a role permits it" },
  self: { reason: Reason.SELF, words: "it is about the user themself" },
  open: { reason: Reason.OPEN, words: "everybody who is signed in may do this" },
} as const

function outcomeOf({ outcome, holdings }: AccessAnswer) {
  if (!(outcome instanceof Fault)) return { allowed: true, ...allowed[outcome] }
  const granting = holdings.filter((each) => each.granting.length > 0)
  const elsewhere = granting.length > 0 ? Reason.ELSEWHERE : Reason.NO_PERMISSION
  const reason = granting.some(({ reaches }) => reaches) ? Reason.FORBIDDEN : elsewhere
  return { allowed: false, reason, words: outcome.message, refusal: outcome.id }
}

async function toHolding(cx: Cx, userId: string, { granting, ...held }: Holding) {
  const { level, id, roles, reaches, groupId } = held
  const of = level === "grant" ? cx.store.state(cx, projectGrant, id).projectId : id
  return {
    ...groupNamed(cx, groupId),
    level,
    id,
    reaches,
    name: nameOf(cx, level === "grant" ? project.stream : level, of),
    roles: [...roles],
    grantingRoles: [...granting],
    ...given(cx, await lastGiven(cx, userId, held)),
  }
}

const groupNamed = (cx: Cx, groupId: string | undefined) =>
  groupId !== undefined && { groupId, groupName: nameOf(cx, group.stream, groupId) }

const given = (cx: Cx, event: Recorded<AnyEvent> | undefined) =>
  event && { givenBy: toEditor(cx, event), givenDate: at(event.time) }

async function entryReason(cx: Cx, { userId, applicationId }: GetEntryReasonRequest) {
  const home = cx.store.receipt(cx, user, userId)?.owner
  if (home === undefined || !mayReadUser(cx, userId, home)) {
    throw new Fault("not_found", "user.missing", "there is no such user")
  }
  const state = cx.store.state(cx, app, applicationId)
  const projectId = "projectId" in state ? state.projectId : ""
  const { denial, hasProject, hasRoles, isAssigned, hasRole } = appEntryOf(
    cx,
    userId,
    applicationId,
  )
  const isActive = isUserActive(cx, userId) && isOrgActive(cx, home)
  const isServed = isAppActive(cx, applicationId)
  const checks = [
    ...check(EntryCondition.USER_ACTIVE, isActive),
    ...check(EntryCondition.APPLICATION_ACTIVE, isServed),
    ...check(EntryCondition.PROJECT_GRANTED, hasProject),
    ...check(EntryCondition.ROLES_GIVEN, hasRoles),
    ...check(EntryCondition.ASSIGNED, isAssigned),
    ...check(EntryCondition.PROJECT_ROLE, hasRole),
  ]
  const roles = cx.holds?.("user.grant.read") ? await entryRoles(cx, userId, projectId) : []
  return {
    allowed: isActive && isServed && denial === undefined,
    checks,
    roles,
  }
}

/** What a user was given on a project, and what their groups give them. */
function entryRoles(cx: Cx, userId: string, projectId: string) {
  const own = givenOn(cx, userId, projectId).map((each) => ({ ...each, groupId: undefined }))
  const ofGroups = heldByGroups(cx, userId, projectId).map((each) => ({ ...each, counts: true }))
  return Promise.all(
    [...own, ...ofGroups].map(async ({ id, orgId, grantId, counts, keys, groupId }) => ({
      authorizationId: id,
      roleKeys: [...keys],
      counts,
      projectGrantId: grantId,
      organizationId: orgId,
      organizationName: cx.store.state(cx, org, orgId).name,
      ...groupNamed(cx, groupId),
      ...given(cx, await lastAuthorized(cx, id, groupId ? groupAuthorization : authorization)),
    })),
  )
}

const conditions = {
  [EntryCondition.USER_ACTIVE]: [
    "the user and their organisation are active",
    "the user or their organisation is not active",
  ],
  [EntryCondition.APPLICATION_ACTIVE]: [
    "the application and its project are active",
    "the application, its project or the organisation that owns them is not active",
  ],
  [EntryCondition.PROJECT_GRANTED]: [
    "the organisation of the user has the project",
    "the project lets in only organisations that have it, and that of the user does not",
  ],
  [EntryCondition.ROLES_GIVEN]: [
    "the user has roles on the project",
    "the project lets in only who has roles on it, and the user has none that count",
  ],
  [EntryCondition.ASSIGNED]: [
    "the user, or a group of theirs, is assigned to the application",
    "the application is for users and groups that are assigned to it, and the user is not one",
  ],
  [EntryCondition.PROJECT_ROLE]: [
    "the user has a role of the project",
    "the application is for users with a role of the project, and the user has none",
  ],
} as const

/** None where nothing of the kind is asked for. */
function check(condition: keyof typeof conditions, met: boolean | undefined) {
  if (met === undefined) return []
  const [fine, lacking] = conditions[condition]
  return [{ condition, met, words: met ? fine : lacking }]
}

const subjectMissingError = () =>
  new Fault(
    "invalid_argument",
    "reason.subject_missing",
    "say in permission or in operation what is to be explained",
  )
