import { type Cx, statement } from "../../store/index.ts"
import { instance } from "../instance/index.ts"
import { org } from "../org/index.ts"
import { project } from "../project/index.ts"
import { projectGrant } from "../project-grant/index.ts"
import { hasLeft, user } from "../user/index.ts"
import { lackingIn, permissionsOn, type Reader } from "./commands.ts"
import { stateReader } from "./custom-role.ts"
import { type Membership, memberships, rolesIn } from "./view.ts"

/**
 * Whether the caller holds all that a user holds. Who sets somebody's password or keys can act as
 * them, so it is the same as giving their roles away: then it counts "anywhere". "home" is what the
 * user holds on the instance and in their own organisation: roles that others give them elsewhere
 * shield nobody from the owner of the organisation that they belong to.
 */
export function outranks(cx: Cx, userId: string, reach: "anywhere" | "home"): boolean {
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

/** Whether the caller may remove a user, and with them whatever they administer. */
export function isOver(cx: Cx, userId: string): boolean {
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
 * stops them. Who has stopped it counts as well, so that nobody lower starts it again. Looks at its
 * administrators alone, however many people it has.
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
  return holdsAll(cx, [...ofInstance, ...below])
}

function holdsAll(cx: Cx, held: readonly Membership[]): boolean {
  const read: Reader = { ...stateReader(cx), caller: cx.caller }
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
