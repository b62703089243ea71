import type { Cx } from "../../store/index.ts"
import { isOrgActive, isExistingOrg as isOrgThere, org } from "../org/index.ts"
import { isProjectThere, project, projectChain } from "../project/index.ts"
import { currentGrantedKeys, findGrantId } from "./commands.ts"
import { exists, type ProjectGrant, projectGrant } from "./model.ts"

type Reader = Pick<Cx, "store" | "instance" | "clock">

/** The grant of a project to an organization; undefined if there is none. */
export function findGrantIdInOrg(cx: Reader, projectId: string, orgId: string): string | undefined {
  const holder = (kind: string, key: string) =>
    cx.store.log.holder(cx.instance, kind, key, cx.clock.now())
  // The grants of a removed organization are invalid, although they are deleted later.
  const isHeld = isOrgThere(cx.store.state(cx, org, orgId))
  return isHeld ? findGrantId({ holder }, projectId, orgId) : undefined
}

/** A project grant that is active and whose organization is active; undefined otherwise. */
export function findActiveGrant(cx: Reader, id: string): ProjectGrant | undefined {
  const state = cx.store.state(cx, projectGrant, id)
  return state.status === "active" && isOrgActive(cx, state.grantedOrgId) ? state : undefined
}

/** Whether an organization owns a project, or has it through an active grant. */
export function hasProject(cx: Reader, projectId: string, orgId: string): boolean {
  const on = cx.store.state(cx, project, projectId)
  if (on.orgId === orgId) return isProjectThere(on)
  const id = findGrantIdInOrg(cx, projectId, orgId)
  return id !== undefined && isProjectThere(on) && findActiveGrant(cx, id) !== undefined
}

/** The roles of a project grant that the project still has; empty if the grant is removed. */
export function listGrantedRoles(cx: Reader, id: string): readonly string[] {
  const state = cx.store.state(cx, projectGrant, id)
  return exists(state)
    ? currentGrantedKeys(cx.store.state(cx, project, state.projectId), state)
    : []
}

/**
 * The owner chain of a project grant, for access checks. It belongs to the organization that
 * granted it and to the one that received it.
 */
function grantChain(cx: Cx, id: string) {
  const state = cx.store.state(cx, projectGrant, id)
  const { projectId, grantedOrgId } = state
  const on = projectChain(cx, projectId)
  if (!on || !exists(state) || !isOrgThere(cx.store.state(cx, org, grantedOrgId))) return undefined
  return {
    ...({ ...on, grant: id, parent: projectId } as const),
    shared: (link: ChainLink) => link.level === "org" && link.id === grantedOrgId,
  } as const
}

type ChainLink = { readonly level: string; readonly id: string }

/** The owner chain of a project grant, identified by its organization and project. */
function grantByOrgChain(cx: Cx, orgId: string, projectId = "") {
  const id = findGrantIdInOrg(cx, projectId, orgId)
  return id === undefined ? undefined : grantChain(cx, id)
}

/** The owner chain of a project that both its owner and organizations with a grant can read. */
function sharedChain(cx: Cx, id: string) {
  const chain = projectChain(cx, id)
  if (!chain) return undefined
  const shared = ({ level, id: link }: ChainLink): boolean => {
    if (level === "org") return findGrantIdInOrg(cx, id, link) !== undefined
    if (level !== "grant") return false
    const state = cx.store.state(cx, projectGrant, link)
    return exists(state) && state.projectId === id
  }
  return { ...chain, shared } as const
}

/**
 * The owner chain of a project for one organization that owns it or has a grant: operations there
 * are done on behalf of that organization.
 */
function holderChain(cx: Cx, orgId: string, projectId = "") {
  const chain = projectChain(cx, projectId)
  if (!chain) return undefined
  if (chain.org === orgId) return { ...chain, parent: projectId } as const
  const grant = findGrantIdInOrg(cx, projectId, orgId)
  if (grant === undefined) return undefined
  const { project: _, ...above } = chain
  return { ...above, org: orgId, grant, parent: projectId } as const
}

/** The chain builders for access rules, by resource name. */
export const chains = {
  grant: grantByOrgChain,
  grant_id: grantChain,
  shared_project: sharedChain,
  held_project: holderChain,
}
