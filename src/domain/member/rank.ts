import { asAuthor, callsOfEachAuthor } from "../../kernel/context.ts"
import { type Cx, type DecisionContext, statement } from "../../store/index.ts"
import { instance } from "../instance/index.ts"
import { org } from "../org/index.ts"
import { type RankReader, registerRankComparer } from "../policy/index.ts"
import { project } from "../project/index.ts"
import { projectGrant } from "../project-grant/index.ts"
import { isAbsent, user } from "../user-model/index.ts"
import { type StateReader, stateReader } from "./custom-role.ts"
import { rolesOfAllGroups, rolesOfOrgGroups } from "./group/view.ts"
import {
  effectiveRolesOn,
  findMissingPermissionOfRoles,
  permissionsOn,
  type Reader,
} from "./permission.ts"
import { parseRoles } from "./roles-text.ts"
import { listMemberships, type Membership } from "./view.ts"

/**
 * Whether the caller has all permissions that a user has. Setting a user's password or keys allows
 * acting as them, so it equals assigning all their roles; then roles "anywhere" are compared.
 * "home" compares only the roles on the instance and in the user's own organization: roles
 * elsewhere must not protect users from the owner of their organization.
 */
export const outranks = (cx: Cx, userId: string, reach: "anywhere" | "home"): boolean =>
  callsOfEachAuthor(cx).every((each) => callerOutranks(each, userId, reach))

function callerOutranks(cx: Cx, userId: string, reach: "anywhere" | "home"): boolean {
  if (cx.caller.kind === "user" && cx.caller.userId === userId) return true
  const home = cx.store.receipt(cx, user, userId)?.owner ?? ""
  const counting = (each: Membership) =>
    reach === "anywhere" || each.level === "instance" || orgIdsOf(cx, each).includes(home)
  return hasAllPermissions(cx, listMemberships(cx, userId).filter(counting))
}

/**
 * Whether the caller outranks, "home", every administrator who locked or deactivated a user since
 * they could last sign in. Only administrators of at least that rank can undo it.
 */
export function outranksDeactivators(cx: Cx, userId: string): boolean {
  const state = cx.store.state(cx, user, userId)
  const stoppers = isAbsent(state) ? [] : (state.stoppers ?? [])
  return stoppers.every((each) => outranks(cx, each, "home"))
}

/**
 * Whether a user can sign in: the user is not removed, deactivated or locked by an administrator,
 * and their organization is active. Locks after failed sign-ins are ignored.
 */
export const isActive = (cx: Cx, userId: string): boolean => isActiveIn(readerOf(cx), userId)

/** Whether a user can sign in, within a decision. */
export function isActiveIn(
  read: StateReader & Pick<DecisionContext, "owner">,
  userId: string,
): boolean {
  const state = read.state(user, userId)
  if (isAbsent(state) || state.status === "inactive") return false
  if (state.status === "locked" && (state.stoppers ?? []).length > 0) return false
  return read.state(org, read.owner(user, userId)).status === "active"
}

/**
 * Whether settings that an author made for a user apply: not if the user has permissions that the
 * author lacks. A decision compares the roles on the instance and on the user's own organization, a
 * query compares all. Authors that were never users are operators of the server and outrank
 * everyone; removed and deactivated authors outrank no one who has a role.
 */
function appliesTo(read: RankReader, userId: string, author: string): boolean {
  if (author === userId) return true
  const reader = readerOf(read)
  const membershipsOfUser =
    "store" in read ? listMemberships(read, userId) : ownMemberships(reader, userId)
  if (membershipsOfUser.length === 0 || reader.state(user, author).status === "absent") return true
  return (
    isActiveIn(reader, author) && includesMemberships(asAuthor(reader, author), membershipsOfUser)
  )
}

registerRankComparer(appliesTo)

type OwnerReader = Reader & Pick<DecisionContext, "owner">

const readerOf = (read: RankReader): OwnerReader =>
  "store" in read
    ? {
        ...stateReader(read),
        caller: read.caller,
        owner: (kind, id) => read.store.receipt(read, kind, id)?.owner ?? "",
      }
    : {
        state: read.state,
        rows: read.rows,
        owner: read.owner,
        instance: read.instance,
        caller: read.caller,
      }

/**
 * The roles that a user has on the instance and on their own organization, including those of their
 * groups.
 */
function ownMemberships(read: OwnerReader, userId: string): readonly Membership[] {
  const home = read.owner(user, userId)
  const membershipsOfUser: readonly Membership[] = [
    {
      level: "instance",
      id: read.instance,
      roles: effectiveRolesOn(read, [{ level: "instance" }], userId),
    },
    { level: "org", id: home, roles: effectiveRolesOn(read, [{ level: "org", id: home }], userId) },
  ]
  return membershipsOfUser.filter((each) => each.roles.length > 0)
}

const rolesOnInstance = statement<{ level: Membership["level"]; text: string }>(
  "SELECT DISTINCT level, roles AS text FROM administrators WHERE instance = $instance",
)

/**
 * Whether the caller has on the instance all permissions that any user has anywhere. In practice,
 * only instance owners do, since there is always one.
 */
export function outranksInstance(cx: Cx): boolean {
  const { members } = cx.store.state(cx, instance, cx.instance)
  const owners = Object.values(members).map(({ roles }) => roles)
  const others = cx.store.all(cx, rolesOnInstance).map(({ text }) => parseRoles(text))
  const ofGroups = rolesOfAllGroups(cx).map(({ roles }) => roles)
  return hasAllPermissions(
    cx,
    [...owners, ...others, ...ofGroups].map((roles) => ({
      level: "instance",
      id: cx.instance,
      roles,
    })),
  )
}

/** Whether the caller can remove a user together with their administrator roles. */
export const canRemoveUser = (cx: Cx, userId: string): boolean =>
  callsOfEachAuthor(cx).every((each) => callerCanRemoveUser(each, userId))

function callerCanRemoveUser(cx: Cx, userId: string): boolean {
  if (cx.caller.kind !== "user") return cx.caller.kind === "system"
  const target = { level: "org", id: cx.store.receipt(cx, user, userId)?.owner ?? "" } as const
  const read: Reader = { ...stateReader(cx), caller: cx.caller }
  const mayRemove = permissionsOn(read, target, cx.caller.userId).has("user.delete")
  return mayRemove && outranks(cx, userId, "home")
}

const rolesOfOrgUsers = statement<Membership & { readonly text: string }>(
  `SELECT DISTINCT a.level, a.target AS id, a.roles AS text FROM administrators a
   JOIN users u ON u.instance = a.instance AND u.id = a.user_id
   WHERE a.instance = $instance AND a.org = $orgId AND u.org = $orgId`,
)

/**
 * Whether the caller outranks, "home", everyone in an organization, because deactivating the
 * organization locks all of them out. Also compares the administrator who deactivated it, so that
 * no one with fewer permissions can activate it again. Reads only the organization's administrators
 * and the roles of its groups, however many users it has.
 */
export function outranksOrg(cx: Cx, orgId: string): boolean {
  const { stoppedBy } = cx.store.state(cx, org, orgId)
  if (stoppedBy !== "" && !outranks(cx, stoppedBy, "home")) return false
  const { members } = cx.store.state(cx, instance, cx.instance)
  const ofInstance = Object.entries(members)
    .filter(([id, member]) => member.orgId === orgId && !isAbsent(cx.store.state(cx, user, id)))
    .map(([, { roles }]): Membership => ({ level: "instance", id: cx.instance, roles }))
  const below = cx.store
    .all(cx, rolesOfOrgUsers, { orgId })
    .map(({ text, ...each }) => ({ ...each, roles: parseRoles(text) }))
  return hasAllPermissions(cx, [...ofInstance, ...below, ...rolesOfOrgGroups(cx, orgId)])
}

const hasAllPermissions = (cx: Cx, membershipsOfUser: readonly Membership[]): boolean =>
  includesMemberships(
    { ...stateReader(cx), caller: cx.caller, authors: cx.authors },
    membershipsOfUser,
  )

function includesMemberships(read: Reader, membershipsOfUser: readonly Membership[]): boolean {
  return membershipsOfUser.every(({ level, id, roles }) => {
    const target = level === "instance" ? { level } : { level, id }
    return findMissingPermissionOfRoles(read, { target, roles }) === undefined
  })
}

/** The organization that roles on a resource belong to; empty for the instance. */
export function orgIdsOf(cx: Cx, { level, id }: { level: string; id: string }): readonly string[] {
  if (level === "org") return [id]
  if (level === "project") return [cx.store.state(cx, project, id).orgId]
  return level === "grant" ? [cx.store.state(cx, projectGrant, id).grantedOrgId] : []
}
