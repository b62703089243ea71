import { bindHandlers } from "../../../api/method.ts"
import {
  EntryCondition,
  type GetEntryReasonRequest,
  type GetPermissionReasonRequest,
  HistoryService,
  Reason,
} from "../../../gen/core/history/v2/history_service_pb.ts"
import type { AccessDecision, RoleAssignment } from "../../../kernel/access.ts"
import { Fault } from "../../../kernel/fault.ts"
import { toTimestamp } from "../../../protocol/api/response.ts"
import type { AnyEvent, Cx, PersistedEvent } from "../../../store/index.ts"
import { app, isAppActive } from "../../app/index.ts"
import { checkAppAccess } from "../../app-access/index.ts"
import {
  authorization,
  groupAuthorization,
  listRolesFromGroups,
  listUserAuthorizations,
} from "../../authorization/index.ts"
import { group } from "../../group/index.ts"
import { canReadUser } from "../../member/index.ts"
import { isOrgActive, org } from "../../org/index.ts"
import { project } from "../../project/index.ts"
import { projectGrant } from "../../project-grant/index.ts"
import { isUserActive } from "../../user-lookup/index.ts"
import { user } from "../../user-model/index.ts"
import { nameOf } from "../event.ts"
import { findAuthorizationEvent, findMemberEvent } from "../given.ts"
import { toEditor } from "./v2.ts"

export const reasons = bindHandlers<Cx>()(HistoryService, {
  getPermissionReason: (req, cx) => getPermissionReason(cx, req),
  getEntryReason: (req, cx) => getEntryReason(cx, req),
})

async function getPermissionReason(
  cx: Cx,
  { userId, subject, ...req }: GetPermissionReasonRequest,
) {
  if (!cx.explain) throw new Error("the dispatcher provides no explanations of access decisions")
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

const allowedOutcomes = {
  role: { reason: Reason.ROLE, words: "a role grants the permission" },
  self: { reason: Reason.SELF, words: "allowed: users can do this for their own account" },
  open: { reason: Reason.OPEN, words: "allowed for every signed-in user" },
} as const

function outcomeOf({ outcome, holdings }: AccessDecision) {
  if (!(outcome instanceof Fault)) return { allowed: true, ...allowedOutcomes[outcome] }
  const granting = holdings.filter((each) => each.granting.length > 0)
  const elsewhere = granting.length > 0 ? Reason.ELSEWHERE : Reason.NO_PERMISSION
  const reason = granting.some(({ reaches }) => reaches) ? Reason.FORBIDDEN : elsewhere
  return { allowed: false, reason, words: outcome.message, refusal: outcome.id }
}

async function toHolding(cx: Cx, userId: string, { granting, ...held }: RoleAssignment) {
  const { level, id, roles, reaches, groupId } = held
  const of = level === "grant" ? cx.store.state(cx, projectGrant, id).projectId : id
  return {
    ...groupFieldsOf(cx, groupId),
    level,
    id,
    reaches,
    name: nameOf(cx, level === "grant" ? project.stream : level, of),
    roles: [...roles],
    grantingRoles: [...granting],
    ...grantedBy(cx, await findMemberEvent(cx, userId, held)),
  }
}

const groupFieldsOf = (cx: Cx, groupId: string | undefined) =>
  groupId !== undefined && { groupId, groupName: nameOf(cx, group.stream, groupId) }

const grantedBy = (cx: Cx, event: PersistedEvent<AnyEvent> | undefined) =>
  event && { givenBy: toEditor(cx, event), givenDate: toTimestamp(event.time) }

async function getEntryReason(cx: Cx, { userId, applicationId }: GetEntryReasonRequest) {
  const home = cx.store.receipt(cx, user, userId)?.owner
  if (home === undefined || !canReadUser(cx, userId, home)) {
    throw new Fault("not_found", "user.missing", "user not found")
  }
  const state = cx.store.state(cx, app, applicationId)
  const projectId = "projectId" in state ? state.projectId : ""
  const { denial, hasProject, hasRoles, isAssigned, hasRole } = checkAppAccess(
    cx,
    userId,
    applicationId,
  )
  const isActive = isUserActive(cx, userId) && isOrgActive(cx, home)
  const isServed = isAppActive(cx, applicationId)
  const checks = [
    ...conditionCheck(EntryCondition.USER_ACTIVE, isActive),
    ...conditionCheck(EntryCondition.APPLICATION_ACTIVE, isServed),
    ...conditionCheck(EntryCondition.PROJECT_GRANTED, hasProject),
    ...conditionCheck(EntryCondition.ROLES_GIVEN, hasRoles),
    ...conditionCheck(EntryCondition.ASSIGNED, isAssigned),
    ...conditionCheck(EntryCondition.PROJECT_ROLE, hasRole),
  ]
  const roles = cx.holds?.("user.grant.read") ? await toEntryRoles(cx, userId, projectId) : []
  return {
    allowed: isActive && isServed && denial === undefined,
    checks,
    roles,
  }
}

/** The authorizations of a user on a project, and those of their groups. */
function toEntryRoles(cx: Cx, userId: string, projectId: string) {
  const own = listUserAuthorizations(cx, userId, projectId).map((each) => ({
    ...each,
    groupId: undefined,
  }))
  const fromGroups = listRolesFromGroups(cx, userId, projectId).map((each) => ({
    ...each,
    isActive: true,
  }))
  return Promise.all(
    [...own, ...fromGroups].map(async ({ id, orgId, grantId, isActive, keys, groupId }) => ({
      authorizationId: id,
      roleKeys: [...keys],
      counts: isActive,
      projectGrantId: grantId,
      organizationId: orgId,
      organizationName: cx.store.state(cx, org, orgId).name,
      ...groupFieldsOf(cx, groupId),
      ...grantedBy(
        cx,
        await findAuthorizationEvent(cx, id, groupId ? groupAuthorization : authorization),
      ),
    })),
  )
}

const conditions = {
  [EntryCondition.USER_ACTIVE]: [
    "the user and their organization are active",
    "the user or their organization is not active",
  ],
  [EntryCondition.APPLICATION_ACTIVE]: [
    "the application and its project are active",
    "the application, its project, or the organization that owns them is not active",
  ],
  [EntryCondition.PROJECT_GRANTED]: [
    "the user's organization owns the project or has a project grant",
    "the project requires a project grant, and the user's organization has none",
  ],
  [EntryCondition.ROLES_GIVEN]: [
    "the user has roles on the project",
    "the project requires a role, and the user has no active role on it",
  ],
  [EntryCondition.ASSIGNED]: [
    "the user or one of their groups is assigned to the application",
    "the application is only for assigned users and groups, and the user is not assigned",
  ],
  [EntryCondition.PROJECT_ROLE]: [
    "the user has a role on the project",
    "the application is only for users with a role on the project, and the user has none",
  ],
} as const

/** Returns no check for a condition that the project does not require. */
function conditionCheck(condition: keyof typeof conditions, met: boolean | undefined) {
  if (met === undefined) return []
  const [fine, lacking] = conditions[condition]
  return [{ condition, met, words: met ? fine : lacking }]
}

const subjectMissingError = () =>
  new Fault("invalid_argument", "reason.subject_missing", "permission or operation is required")
