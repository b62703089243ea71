import type { Cx } from "../../store/index.ts"
import { isOrgActive, isThere as isOrgThere, org } from "../org/index.ts"
import { isProjectThere, project, projectChain } from "../project/index.ts"
import { grantBetween, keysGranted } from "./commands.ts"
import { isThere, type ProjectGrant, projectGrant } from "./model.ts"

type Reader = Pick<Cx, "store" | "instance" | "clock">

/** The grant of a project to an organisation; undefined where there is none. */
export function grantIdOf(cx: Reader, projectId: string, orgId: string): string | undefined {
  const holder = (kind: string, key: string) =>
    cx.store.log.holder(cx.instance, kind, key, cx.clock.now())
  // What an organisation had counts no more when it is gone, though it is cleared away later.
  const isHeld = isOrgThere(cx.store.state(cx, org, orgId))
  return isHeld ? grantBetween({ holder }, projectId, orgId) : undefined
}

/** A grant that counts: it is active, and so is the organisation that has it. */
export function grantInForce(cx: Reader, id: string): ProjectGrant | undefined {
  const state = cx.store.state(cx, projectGrant, id)
  return state.status === "active" && isOrgActive(cx, state.grantedOrgId) ? state : undefined
}

/** Whether an organisation owns a project, or has it by a grant that counts. */
export function hasProject(cx: Reader, projectId: string, orgId: string): boolean {
  const on = cx.store.state(cx, project, projectId)
  if (on.orgId === orgId) return isProjectThere(on)
  const id = grantIdOf(cx, projectId, orgId)
  return id !== undefined && isProjectThere(on) && grantInForce(cx, id) !== undefined
}

/** The roles of a grant that its project still has; none where the grant is gone. */
export function rolesGranted(cx: Reader, id: string): readonly string[] {
  const state = cx.store.state(cx, projectGrant, id)
  return isThere(state) ? keysGranted(cx.store.state(cx, project, state.projectId), state) : []
}

/** What the access to a grant hangs from. It belongs to who gave it, and to who has it. */
function grantChain(cx: Cx, id: string) {
  const state = cx.store.state(cx, projectGrant, id)
  const { projectId, grantedOrgId } = state
  const on = projectChain(cx, projectId)
  if (!on || !isThere(state) || !isOrgThere(cx.store.state(cx, org, grantedOrgId))) return undefined
  return {
    ...({ ...on, grant: id, parent: projectId } as const),
    shared: (thing: Thing) => thing.level === "org" && thing.id === grantedOrgId,
  } as const
}

type Thing = { readonly level: string; readonly id: string }

/** A grant as it is named by the organisation that has it. */
function namedChain(cx: Cx, orgId: string, projectId = "") {
  const id = grantIdOf(cx, projectId, orgId)
  return id === undefined ? undefined : grantChain(cx, id)
}

/** A project as those may look at it who own it, and those who have it by a grant. */
function sharedChain(cx: Cx, id: string) {
  const chain = projectChain(cx, id)
  if (!chain) return undefined
  const shared = ({ level, id: thing }: Thing): boolean => {
    if (level === "org") return grantIdOf(cx, id, thing) !== undefined
    if (level !== "grant") return false
    const state = cx.store.state(cx, projectGrant, thing)
    return isThere(state) && state.projectId === id
  }
  return { ...chain, shared } as const
}

/** A project as one organisation has it: what is done there is done in that one's name. */
function heldChain(cx: Cx, orgId: string, projectId = "") {
  const chain = projectChain(cx, projectId)
  if (!chain) return undefined
  if (chain.org === orgId) return { ...chain, parent: projectId } as const
  const grant = grantIdOf(cx, projectId, orgId)
  if (grant === undefined) return undefined
  const { project: _, ...above } = chain
  return { ...above, org: orgId, grant, parent: projectId } as const
}

/** What an access rule may hang from, by the name of the resource. */
export const chains = {
  grant: namedChain,
  grant_id: grantChain,
  shared_project: sharedChain,
  held_project: heldChain,
}
