import { Fault } from "../../../kernel/fault.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../../store/index.ts"
import { group } from "../../group/index.ts"
import {
  assignableRoles,
  authorizationNotFoundError,
  hasSameRoles,
  requireAvailableProject,
  roleSourcesOf,
} from "../commands.ts"
import {
  type GroupAuthorization,
  type GroupAuthorizationEvent,
  groupAuthorization,
  groupAuthorizationClaim,
  groupAuthorizationKeyOf,
} from "./model.ts"

type GroupAuthorizationInput = {
  readonly groupId: string
  readonly projectId: string
  /** The organization that assigns the roles; it must own the group. */
  readonly orgId: string
  readonly roleKeys: readonly string[]
}

/**
 * Authorizes a group on a project. Rejects a group of another organization, a second authorization
 * of the same group, an organization that neither owns the project nor has a grant of it, and roles
 * that are not available to it.
 */
export function addGroupAuthorization(
  tx: Transaction,
  id: string,
  { groupId, projectId, orgId, roleKeys }: GroupAuthorizationInput,
): void {
  const { grantId, projectOrgId } = requireAvailableProject(tx, projectId, orgId)
  const authorizedGroup = tx.state(group, groupId)
  if (authorizedGroup.status !== "active" || authorizedGroup.orgId !== orgId)
    throw groupNotFoundError()
  const roles = assignableRoles(tx, { projectId, grantId }, roleKeys)
  const subject = { groupId, projectId, grantId, ...(grantId && { projectOrgId }) }
  const added: Draft<GroupAuthorizationEvent> = {
    type: "group.grant.added",
    data: { ...subject, ...roles },
    claims: [
      {
        take: groupAuthorizationClaim,
        key: groupAuthorizationKeyOf(subject),
        taken: groupAuthorizationTaken,
      },
    ],
  }
  tx.append(groupAuthorization, id, [added], orgId)
}

/** Authorizes a group in a transaction of its own. */
export async function createGroupAuthorization(
  cx: Cx,
  id: string,
  input: GroupAuthorizationInput,
): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => addGroupAuthorization(tx, id, input))
  return step.receipt(groupAuthorization, id)
}

/** Replaces the roles; no-op if they are unchanged. */
export const updateGroupAuthorization = groupAuthorization.command<readonly string[]>(
  (state, roleKeys, cx) => {
    requireExists(state)
    const roles = assignableRoles(cx, state, roleKeys)
    const isSame = hasSameRoles(roleSourcesOf(cx, state), state, roleKeys)
    return isSame ? [] : [{ type: "group.grant.changed", data: roles }]
  },
)

/** Removes the authorization of a group; no-op if it is already removed. */
export const removeGroupAuthorization = groupAuthorization.command((state) => {
  if (state.status !== "active") return []
  const claims = [{ release: groupAuthorizationClaim, key: groupAuthorizationKeyOf(state) }]
  return [{ type: "group.grant.removed", data: {}, claims }]
})

function requireExists({ status }: GroupAuthorization): void {
  if (status !== "active") throw authorizationNotFoundError()
}

const groupNotFoundError = () =>
  new Fault("not_found", "group.missing", "group not found in the organization")

const groupAuthorizationTaken = {
  id: "authorization.exists",
  message: "the group is already authorized on this project; update the roles instead",
}
