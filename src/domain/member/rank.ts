import { asAuthor, asEach } from "../../kernel/context.ts"
import { type Cx, type Decision, statement } from "../../store/index.ts"
import { instance } from "../instance/index.ts"
import { org } from "../org/index.ts"
import { judgeRankBy, type Reading } from "../policy/index.ts"
import { project } from "../project/index.ts"
import { projectGrant } from "../project-grant/index.ts"
import { hasLeft, user } from "../user-model/index.ts"
import { type StateReader, stateReader } from "./custom-role.ts"
import { rolesOfGroupsAnywhere, rolesOfGroupsOf } from "./group/view.ts"
import { effectiveRolesOn, lackingIn, permissionsOn, type Reader } from "./held.ts"
import { rolesIn } from "./roles-text.ts"
import { type Membership, memberships } from "./view.ts"

/**
 * Whether the caller holds all that a user holds. Who sets somebody's password or keys can act as
 * them, so it is the same as giving their roles away: then it counts "anywhere". "home" is what the
 * user holds on the instance and in their own organisation: roles that others give them elsewhere
 * shield nobody from the owner of the organisation that they belong to.
 */
export const outranks = (cx: Cx, userId: string, reach: "anywhere" | "home"): boolean =>
  asEach(cx).every((each) => outranksAlone(each, userId, reach))

function outranksAlone(cx: Cx, userId: string, reach: "anywhere" | "home"): boolean {
  if (cx.caller.kind === "user" && cx.caller.userId === userId) return true
  const home = cx.store.receipt(cx, user, userId)?.owner ?? ""
  const counting = (each: Membership) =>
    reach === "anywhere" || each.level === "instance" || orgOf(cx, each).includes(home)
  return holdsAll(cx, memberships(cx, userId).filter(counting))
}

/**
 * Whether the caller outranks, "home", everybody who locked or deactivated a user since they could
 * last sign in: nobody lets in whom somebody higher has kept out.
 */
export function outranksStoppers(cx: Cx, userId: string): boolean {
  const state = cx.store.state(cx, user, userId)
  const stoppers = hasLeft(state) ? [] : (state.stoppers ?? [])
  return stoppers.every((each) => outranks(cx, each, "home"))
}

/**
 * Whether a user is neither removed nor deactivated, nor their organization, nor locked by an
 * administrator. Whoever fails to sign in as them locks them, too, and changes nothing here.
 */
export const isActive = (cx: Cx, userId: string): boolean => isActiveIn(readerOf(cx), userId)

/** The same within a decision. */
export function isActiveIn(read: StateReader & Pick<Decision, "owner">, userId: string): boolean {
  const state = read.state(user, userId)
  if (hasLeft(state) || state.status === "inactive") return false
  if (state.status === "locked" && (state.stoppers ?? []).length > 0) return false
  return read.state(org, read.owner(user, userId)).status === "active"
}

/**
 * Whether what a user has set up applies to another: not where the other holds what the author
 * lacks. Within a decision the roles on the instance and on the user's own organization count,
 * elsewhere all. Whoever never was a user runs the server and outranks everybody; whoever has been
 * removed or deactivated outranks nobody who has a role.
 */
function isAppliedTo(read: Reading, userId: string, author: string): boolean {
  if (author === userId) return true
  const reader = readerOf(read)
  const held = "store" in read ? memberships(read, userId) : ownMemberships(reader, userId)
  if (held.length === 0 || reader.state(user, author).status === "absent") return true
  return isActiveIn(reader, author) && holdsEach(asAuthor(reader, author), held)
}

judgeRankBy(isAppliedTo)

type OwnReader = Reader & Pick<Decision, "owner">

const readerOf = (read: Reading): OwnReader =>
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

/** The roles of a user and of their groups on the instance and on their own organization. */
function ownMemberships(read: OwnReader, userId: string): readonly Membership[] {
  const home = read.owner(user, userId)
  const held: readonly Membership[] = [
    {
      level: "instance",
      id: read.instance,
      roles: effectiveRolesOn(read, [{ level: "instance" }], userId),
    },
    { level: "org", id: home, roles: effectiveRolesOn(read, [{ level: "org", id: home }], userId) },
  ]
  return held.filter((each) => each.roles.length > 0)
}

const ofEverybody = statement<{ level: Membership["level"]; text: string }>(
  "SELECT DISTINCT level, roles AS text FROM administrators WHERE instance = $instance",
)

/**
 * Whether the caller outranks everybody on the instance: they hold on it whatever anybody holds
 * anywhere. Only an owner does so in practice, for there is always one.
 */
export function outranksInstance(cx: Cx): boolean {
  const { members } = cx.store.state(cx, instance, cx.instance)
  const owners = Object.values(members).map(({ roles }) => roles)
  const others = cx.store.all(cx, ofEverybody).map(({ text }) => rolesIn(text))
  const ofGroups = rolesOfGroupsAnywhere(cx).map(({ roles }) => roles)
  return holdsAll(
    cx,
    [...owners, ...others, ...ofGroups].map((roles) => ({
      level: "instance",
      id: cx.instance,
      roles,
    })),
  )
}

/** Whether the caller may remove a user, and with them whatever they administer. */
export const isOver = (cx: Cx, userId: string): boolean =>
  asEach(cx).every((each) => isOverAlone(each, userId))

function isOverAlone(cx: Cx, userId: string): boolean {
  if (cx.caller.kind !== "user") return cx.caller.kind === "system"
  const target = { level: "org", id: cx.store.receipt(cx, user, userId)?.owner ?? "" } as const
  const read: Reader = { ...stateReader(cx), caller: cx.caller }
  const mayRemove = permissionsOn(read, target, cx.caller.userId).has("user.delete")
  return mayRemove && outranks(cx, userId, "home")
}

const ofPeople = statement<Membership & { readonly text: string }>(
  `SELECT DISTINCT a.level, a.target AS id, a.roles AS text FROM administrators a
   JOIN users u ON u.instance = a.instance AND u.id = a.user_id
   WHERE a.instance = $instance AND a.org = $orgId AND u.org = $orgId`,
)

/**
 * Whether the caller outranks, "home", everybody who belongs to an organisation: whoever stops it
 * stops them. Who has stopped it counts as well, so that nobody lower starts it again. Reads
 * its administrators and the roles of its groups, however many people it has.
 */
export function outranksAll(cx: Cx, orgId: string): boolean {
  const { stoppedBy } = cx.store.state(cx, org, orgId)
  if (stoppedBy !== "" && !outranks(cx, stoppedBy, "home")) return false
  const { members } = cx.store.state(cx, instance, cx.instance)
  const ofInstance = Object.entries(members)
    .filter(([id, member]) => member.orgId === orgId && !hasLeft(cx.store.state(cx, user, id)))
    .map(([, { roles }]): Membership => ({ level: "instance", id: cx.instance, roles }))
  const below = cx.store
    .all(cx, ofPeople, { orgId })
    .map(({ text, ...each }) => ({ ...each, roles: rolesIn(text) }))
  return holdsAll(cx, [...ofInstance, ...below, ...rolesOfGroupsOf(cx, orgId)])
}

const holdsAll = (cx: Cx, held: readonly Membership[]): boolean =>
  holdsEach({ ...stateReader(cx), caller: cx.caller, authors: cx.authors }, held)

function holdsEach(read: Reader, held: readonly Membership[]): boolean {
  return held.every(({ level, id, roles }) => {
    const target = level === "instance" ? { level } : { level, id }
    return lackingIn(read, { target, roles }) === undefined
  })
}

/** The organisation that roles on a thing are held in; none for the instance. */
export function orgOf(cx: Cx, { level, id }: { level: string; id: string }): readonly string[] {
  if (level === "org") return [id]
  if (level === "project") return [cx.store.state(cx, project, id).orgId]
  return level === "grant" ? [cx.store.state(cx, projectGrant, id).grantedOrgId] : []
}
