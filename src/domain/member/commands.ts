import { asEach } from "../../kernel/context.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Decision, Draft, Transaction } from "../../store/index.ts"
import { addInstanceMember, changeInstanceMember, removeInstanceMember } from "../instance/index.ts"
import { org } from "../org/index.ts"
import { isProjectThere, project } from "../project/index.ts"
import { isGrantThere, projectGrant } from "../project-grant/index.ts"
import { hasLeft, standingOf, user } from "../user-model/index.ts"
import { customRoles, roleOf, type StateReader } from "./custom-role.ts"
import { heldOn, lackingIn, type Reader, type RolesOn, rolesOn, roleTooHighError } from "./held.ts"
import { type MemberEvent, member, memberId, type Target } from "./model.ts"
import { mustBeConfirmed, promotionBy } from "./promotion.ts"
import { roles as builtIn } from "./roles.ts"

type MemberInput = {
  readonly target: Target
  readonly userId: string
  readonly roles: readonly string[]
  /** What others created for the user, and the caller confirms; see `mustBeConfirmed`. */
  readonly confirmed?: readonly string[]
}

/**
 * Makes a user an administrator. Refuses roles that the caller does not hold themself, users that
 * they may not see, and those whose credentials of others are not confirmed.
 */
export function addMember(tx: Transaction, input: MemberInput): void {
  checkRoles(tx, input)
  mustHold(tx, input)
  mustSeeUser(tx, input.userId, input.target.level === "instance" ? "" : orgOf(tx, input.target))
  mustBeConfirmed(tx, [promotionBy(tx, input)], input.confirmed ?? [])
  putMember(tx, input)
}

/**
 * People of the organisation that something is done in, and others that the caller may look at: who
 * guesses ids learns nothing of other organisations, and lays hands on nobody there.
 */
export function mustSeeUser(tx: Transaction, userId: string, orgId: string): void {
  if (hasLeft(tx.state(user, userId))) throw missingUserError()
  const home = tx.owner(user, userId)
  if (home === orgId) return
  for (const each of asEach(tx)) {
    const { caller } = each
    const isOwn = caller.kind === "user" && caller.userId === userId
    const isSeen = isOwn || heldOn(each, { level: "org", id: home }).has("user.read")
    if (!isSeen && caller.kind !== "system") throw missingUserError()
  }
}

const missingUserError = () => new Fault("not_found", "user.missing", "there is no such user")

/** Makes whoever created a project its owner; not a gift, so what they hold does not matter. */
export function addCreator(tx: Transaction, projectId: string, userId: string): void {
  putMember(tx, { target: { level: "project", id: projectId }, userId, roles: ["PROJECT_OWNER"] })
}

/** Makes whoever began an organisation its owner; not a gift either. */
export function addFounder(tx: Transaction, orgId: string, userId: string): void {
  putMember(tx, { target: { level: "org", id: orgId }, userId, roles: ["ORG_OWNER"] })
}

/** Replaces the roles of an administrator; what is given and taken the caller must hold. */
export function changeMember(tx: Transaction, input: MemberInput): void {
  const { target, userId, roles } = input
  checkRoles(tx, input)
  const present = rolesLeft(tx, target, userId)
  mustHold(tx, { target, roles: [...present, ...roles] })
  if (present.length === 0) {
    throw new Fault("not_found", "member.missing", "the user is not an administrator here")
  }
  mustBeConfirmed(tx, [promotionBy(tx, input)], input.confirmed ?? [])
  if (target.level === "instance") {
    changeInstanceMember.within(tx, tx.instance, { userId, roles, standingOf: standing(tx) })
    return
  }
  if (present.length === roles.length && roles.every((role) => present.includes(role))) return
  const type = `${kinds[target.level]}.changed` as const
  const changed: Draft<MemberEvent> = { type, data: { userId, roles } }
  tx.append(member, memberId(target.level, target.id, userId), [changed])
}

/**
 * Takes all roles on one thing. Answers whether there were any. The caller must hold them, unless
 * they are `over` the user, who is theirs to remove with all that they have.
 */
export function removeMember(
  tx: Transaction,
  { target, userId, over = false }: Omit<MemberInput, "roles"> & { readonly over?: boolean },
): boolean {
  const present = rolesLeft(tx, target, userId)
  if (present.length === 0) return false
  if (!over) mustHold(tx, { target, roles: present })
  if (target.level === "instance") {
    removeInstanceMember.within(tx, tx.instance, { userId, standingOf: standing(tx) })
    return true
  }
  const type = `${kinds[target.level]}.removed` as const
  const removed: Draft<MemberEvent> = { type, data: { userId } }
  tx.append(member, memberId(target.level, target.id, userId), [removed])
  return true
}

/** Who is removed holds nothing any more, though nobody took it from them. */
const rolesLeft = (tx: Transaction, target: Target, userId: string): readonly string[] =>
  hasLeft(tx.state(user, userId)) ? [] : rolesOn(tx, target, userId)

/** What events of each level begin with. */
const kinds = {
  org: "org.member",
  project: "project.member",
  grant: "project.grant.member",
} as const

/** Whether a user has any role on exactly this thing. */
export const isMember = (cx: Decision, target: Target, userId: string): boolean =>
  rolesOn(cx, target, userId).length > 0

function putMember(tx: Transaction, { target, userId, roles }: MemberInput): void {
  if (hasLeft(tx.state(user, userId))) throw missingUserError()
  if (target.level === "instance") {
    const orgId = tx.owner(user, userId)
    addInstanceMember.within(tx, tx.instance, { userId, orgId, roles })
    return
  }
  if (rolesOn(tx, target, userId).length > 0) {
    throw new Fault(
      "already_exists",
      "member.exists",
      "the user is an administrator here already; change their roles instead",
    )
  }
  const { level, id } = target
  const owner = orgOf(tx, target)
  tx.append(member, memberId(level, id, userId), [addedTo(tx, target, { userId, roles })], owner)
}

function addedTo(
  tx: Transaction,
  { level, id }: Below,
  given: { readonly userId: string; readonly roles: readonly string[] },
): Draft<MemberEvent> {
  if (level === "org") return { type: "org.member.added", data: { orgId: id, ...given } }
  if (level === "project")
    return { type: "project.member.added", data: { projectId: id, ...given } }
  const { projectId } = tx.state(projectGrant, id)
  return { type: "project.grant.member.added", data: { projectId, grantId: id, ...given } }
}

type Below = Exclude<Target, { level: "instance" }>

/**
 * The organisation that a thing is or belongs to, a grant to the one that has it; faults where the
 * thing is not there.
 */
export function orgOf(tx: Transaction, { level, id }: Below): string {
  if (level === "org") {
    if (tx.state(org, id).status !== "absent") return id
    throw new Fault("not_found", "org.missing", "there is no such organisation")
  }
  const granted = level === "grant" ? tx.state(projectGrant, id) : undefined
  if (granted && !isGrantThere(granted)) {
    throw new Fault("not_found", "grant.missing", "there is no such project grant")
  }
  const on = tx.state(project, granted?.projectId ?? id)
  if (isProjectThere(on)) return granted?.grantedOrgId ?? on.orgId
  throw new Fault("not_found", "project.missing", "there is no such project")
}

/** Roles are known, each is given once, and each belongs on the thing it is given for. */
export function checkRoles(cx: Reader, { target, roles }: RolesOn): void {
  if (roles.length === 0) {
    throw new Fault("invalid_argument", "member.roles_missing", "name at least one role")
  }
  if (new Set(roles).size < roles.length) {
    throw new Fault("invalid_argument", "member.role_twice", "name each role once")
  }
  const wrong = roles.find((role) => roleOf(cx, role)?.level !== target.level)
  if (wrong === undefined) return
  const fitting = rolesFor(cx, target.level).join(", ")
  throw new Fault(
    "invalid_argument",
    "member.role_unknown",
    `one of the roles is not for ${names[target.level]}; these are: ${fitting}`,
  )
}

const names = {
  instance: "the instance",
  org: "an organisation",
  project: "a project",
  grant: "a project grant",
} as const

/** The roles that can be held on a level: the built-in ones, and those of the instance. */
export const rolesFor = (cx: StateReader, level: Target["level"]): readonly string[] => {
  const { roles } = cx.state(customRoles, cx.instance)
  return [...Object.entries(builtIn), ...Object.entries(roles)].flatMap(([name, role]) =>
    role.level === level ? [name] : [],
  )
}

/**
 * Nobody may give what they lack, nor take it. Who owns the instance may give every role: some
 * permissions (impersonation, linking sessions) no owner holds, and somebody must be able to give
 * them.
 */
export function mustHold(cx: Reader, given: RolesOn): void {
  const lacking = lackingIn(cx, given)
  if (lacking !== undefined) throw roleTooHighError(lacking)
}

const standing = (cx: Decision) => (userId: string) => standingOf(cx, userId)
