import { Fault } from "../../kernel/fault.ts"
import type { Calls, Cx, Reactor, Receipt, Transaction } from "../../store/index.ts"
import { actionsOf, removeAction } from "../action/index.ts"
import { dropProject } from "../app/index.ts"
import { dropIdps } from "../idp/index.ts"
import { bestStanding, instance, mustStayOwned, type Standing } from "../instance/index.ts"
import { deactivateOrganization, org, removeOrganization } from "../org/index.ts"
import { dropLook } from "../policy/index.ts"
import { project, projectsOf } from "../project/index.ts"
import { grantsTo, removeGrant } from "../project-grant/index.ts"
import { dropSignUps } from "../sign-up/index.ts"
import { dropTexts } from "../text/index.ts"
import { removeUser } from "../user/index.ts"
import { usersOf } from "../user-lookup/index.ts"
import { standingOf } from "../user-model/index.ts"

/** How many of each go in one step; a project takes its applications along. */
const batch = { users: 50, grants: 50, projects: 5, actions: 50 } as const
/** How many steps an answer waits for: a thousand users, so that lists show nobody of them. */
const stepsAwaited = 20

/** Stops an organisation; see the command. Refuses the one that our own project is of. */
export async function stopOrganization(cx: Cx, id: string): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    const { status } = tx.state(org, id)
    const before = owned(tx)
    deactivateOrganization.within(tx, id)
    if (status === "active") mustBeDispensable(tx, id, before)
  })
  return step.receipt(org, id)
}

/**
 * Removes an organisation with what it owns. Of a large one something is left when this is
 * answered: it is of no use from then on, for every use asks for the organisation, and goes in the
 * background.
 */
export async function removeOrganizationWithAll(cx: Cx, id: string): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    const before = owned(tx)
    removeOrganization.within(tx, id)
    mustBeDispensable(tx, id, before)
    dropTexts(tx, id)
    dropLook(tx, id)
    dropIdps(tx, id)
    removeSome(cx, tx, id)
  })
  await clearOrganization(cx, id, stepsAwaited)
  return step.receipt(org, id)
}

/**
 * Without the organisation somebody can still act for the instance, and the console is still there:
 * it belongs to our own project, whichever organisation is the default. Asked when it has stopped.
 */
function mustBeDispensable(tx: Transaction, id: string, before: Standing): void {
  const state = tx.state(instance, tx.instance)
  mustStayOwned({ before, after: owned(tx) })
  if (tx.owner(project, state.projectId) !== id) return
  throw new Fault(
    "failed_precondition",
    "org.is_own",
    "this organisation can't be stopped or removed: the console belongs to it",
  )
}

const owned = (tx: Transaction): Standing => bestStanding(tx, (userId) => standingOf(tx, userId))

/** Answers whether there was anything. */
function removeSome(cx: Cx, tx: Transaction, id: string): boolean {
  const users = usersOf(cx, id, batch.users)
  const grants = grantsTo(cx, id, batch.grants)
  const projects = projectsOf(cx, id, batch.projects)
  const actions = actionsOf(cx, id, batch.actions)
  for (const userId of users) removeUser.within(tx, userId)
  for (const grantId of grants) removeGrant.within(tx, grantId)
  for (const projectId of projects) dropProject(cx, tx, projectId)
  for (const actionId of actions) removeAction(tx, actionId)
  const hasSignUps = dropSignUps(cx, tx, id)
  return hasSignUps || users.length + grants.length + projects.length + actions.length > 0
}

/** Removes what an organisation that is gone has left, step by step; so many of them at most. */
export async function clearOrganization(
  cx: Cx,
  id: string,
  steps = Number.POSITIVE_INFINITY,
): Promise<void> {
  for (let left = steps; left > 0; left--) {
    const step = await cx.store.transact(cx, (tx) => removeSome(cx, tx, id))
    if (!step.value) return
  }
}

/** Goes on where a stop of the process has interrupted it. */
export const organizationRemoval = (call: Calls): Reactor => ({
  name: "organization-removal",
  on: {
    "org.removed": (event) => clearOrganization(call(event.instance, "removal"), event.id),
  },
})
