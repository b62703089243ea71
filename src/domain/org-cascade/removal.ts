import { Fault } from "../../kernel/fault.ts"
import type { CallFactory, Cx, Reactor, Receipt, Transaction } from "../../store/index.ts"
import { actionsOf, removeAction } from "../action/index.ts"
import { removeProjectInTransaction } from "../app/index.ts"
import { removeOrgIdps } from "../idp/index.ts"
import { bestOwnerAbility, instance, requireOwner, type SignInAbility } from "../instance/index.ts"
import { deactivateOrganization, org, removeOrganization } from "../org/index.ts"
import { removeBranding } from "../policy/index.ts"
import { project, projectIdsOf } from "../project/index.ts"
import { grantIdsTo, removeGrant } from "../project-grant/index.ts"
import { removeSignUps } from "../sign-up/index.ts"
import { dropTexts } from "../text/index.ts"
import { removeUser } from "../user/index.ts"
import { listUserIds } from "../user-lookup/index.ts"
import { signInStatusOf } from "../user-model/index.ts"

/** The number of resources to delete in one step; a project includes its applications. */
const batchSizes = { users: 50, grants: 50, projects: 5, actions: 50 } as const
/**
 * The number of steps before the response: a thousand users, so that they no longer appear in
 * lists.
 */
const stepsAwaited = 20

/** Deactivates an organization. Throws for the organization that owns the instance's project. */
export async function deactivateOrganizationChecked(cx: Cx, id: string): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    const { status } = tx.state(org, id)
    const before = ownerAbility(tx)
    deactivateOrganization.within(tx, id)
    if (status === "active") requireNotEssential(tx, id, before)
  })
  return step.receipt(org, id)
}

/**
 * Deletes an organization and everything it owns. For a large organization, the rest is deleted in
 * the background after the response. It can't be used in the meantime, because every use checks the
 * organization.
 */
export async function removeOrganizationCascade(cx: Cx, id: string): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    const before = ownerAbility(tx)
    removeOrganization.within(tx, id)
    requireNotEssential(tx, id, before)
    dropTexts(tx, id)
    removeBranding(tx, id)
    removeOrgIdps(tx, id)
    removeBatch(cx, tx, id)
  })
  await removeOwnedResources(cx, id, stepsAwaited)
  return step.receipt(org, id)
}

/**
 * Throws if the instance would be left without an administrator, or if the organization owns the
 * console's project, which need not be the default organization. Checked after the organization is
 * deactivated.
 */
function requireNotEssential(tx: Transaction, id: string, before: SignInAbility): void {
  const state = tx.state(instance, tx.instance)
  requireOwner({ before, after: ownerAbility(tx) })
  if (tx.owner(project, state.projectId) !== id) return
  throw new Fault(
    "failed_precondition",
    "org.is_own",
    "this organization can't be deactivated or deleted: it contains the console",
  )
}

const ownerAbility = (tx: Transaction): SignInAbility =>
  bestOwnerAbility(tx, (userId) => signInStatusOf(tx, userId))

/** Returns whether anything was deleted. */
function removeBatch(cx: Cx, tx: Transaction, id: string): boolean {
  const users = listUserIds(cx, id, batchSizes.users)
  const grants = grantIdsTo(cx, id, batchSizes.grants)
  const projects = projectIdsOf(cx, id, batchSizes.projects)
  const actions = actionsOf(cx, id, batchSizes.actions)
  for (const userId of users) removeUser.within(tx, userId)
  for (const grantId of grants) removeGrant.within(tx, grantId)
  for (const projectId of projects) removeProjectInTransaction(cx, tx, projectId)
  for (const actionId of actions) removeAction(tx, actionId)
  const hasSignUps = removeSignUps(cx, tx, id)
  return hasSignUps || users.length + grants.length + projects.length + actions.length > 0
}

/** Deletes what a deleted organization owned, in at most the given number of steps. */
export async function removeOwnedResources(
  cx: Cx,
  id: string,
  steps = Number.POSITIVE_INFINITY,
): Promise<void> {
  for (let left = steps; left > 0; left--) {
    const step = await cx.store.transact(cx, (tx) => removeBatch(cx, tx, id))
    if (!step.value) return
  }
}

/** Resumes after a restart. */
export const organizationRemoval = (call: CallFactory): Reactor => ({
  name: "organization-removal",
  on: {
    "org.removed": (event) => removeOwnedResources(call(event.instance, "removal"), event.id),
  },
})
