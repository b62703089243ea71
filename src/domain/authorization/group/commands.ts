import { Fault } from "../../../kernel/fault.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../../store/index.ts"
import { group } from "../../group/index.ts"
import {
  assignableRoles,
  authorizationNotFoundError,
  grantFor,
  hasSameRoles,
  roleSourcesOf,
} from "../commands.ts"
import {
  type GroupAuthorization,
  type GroupAuthorizationEvent,
  groupAuthorization,
  groupPairClaim,
  groupPairOf,
} from "./model.ts"

type GroupAuthorizationInput = {
  readonly groupId: string
  readonly projectId: string
  /** The organization that assigns the roles; it must own the group. */
  readonly orgId: string
  readonly roleKeys: readonly string[]
}

/**
 * Assigns a group roles in a project. Rejects a group of another organization or with roles in the
 * project, an organization that neither owns the project nor has a grant for it, and roles that it
 * can't assign there.
 */
export function addGroupAuthorization(
  tx: Transaction,
  id: string,
  { groupId, projectId, orgId, roleKeys }: GroupAuthorizationInput,
): void {
  const { grantId, projectOrgId } = grantFor(tx, projectId, orgId)
  const of = tx.state(group, groupId)
  if (of.status !== "active" || of.orgId !== orgId) throw groupMissingError()
  const given = assignableRoles(tx, { projectId, grantId }, roleKeys)
  const between = { groupId, projectId, grantId, ...(grantId && { projectOrgId }) }
  const added: Draft<GroupAuthorizationEvent> = {
    type: "group.grant.added",
    data: { ...between, ...given },
    claims: [{ take: groupPairClaim, key: groupPairOf(between), taken }],
  }
  tx.append(groupAuthorization, id, [added], orgId)
}

/** The same in a transaction of its own. */
export async function createGroupAuthorization(
  cx: Cx,
  id: string,
  input: GroupAuthorizationInput,
): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => addGroupAuthorization(tx, id, input))
  return step.receipt(groupAuthorization, id)
}

/** Replaces the roles; does nothing if they are equal. */
export const changeGroupAuthorization = groupAuthorization.command<readonly string[]>(
  (state, roleKeys, cx) => {
    mustExist(state)
    const given = assignableRoles(cx, state, roleKeys)
    const isSame = hasSameRoles(roleSourcesOf(cx, state), state, roleKeys)
    return isSame ? [] : [{ type: "group.grant.changed", data: given }]
  },
)

/** Removes all roles; does nothing if there are none. */
export const removeGroupAuthorization = groupAuthorization.command((state) => {
  if (state.status !== "active") return []
  const claims = [{ release: groupPairClaim, key: groupPairOf(state) }]
  return [{ type: "group.grant.removed", data: {}, claims }]
})

function mustExist({ status }: GroupAuthorization): void {
  if (status !== "active") throw authorizationNotFoundError()
}

const groupMissingError = () =>
  new Fault("not_found", "group.missing", "the organization does not have this group")

const taken = {
  id: "authorization.exists",
  message: "the group already has roles in this project; update them instead",
}
