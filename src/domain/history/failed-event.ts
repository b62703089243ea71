import { Fault } from "../../kernel/fault.ts"
import {
  type Cx,
  listFailedEvents,
  removeFailedEvent,
  retryFailedEvents,
} from "../../store/index.ts"
import { parseSequence } from "./words.ts"

/** The name of the only database, for API fields that require one. */
export const databaseName = "latchkey"

type EventKey = { readonly viewName: string; readonly failedSequence: bigint }

/**
 * Removes a failed event from the list; without `instance`, of any instance. Throws `not_found` if
 * the list does not contain the event.
 */
export async function removeFailed(
  { store }: Pick<Cx, "store">,
  { database, viewName, failedSequence }: EventKey & { readonly database: string },
  instance?: string,
): Promise<void> {
  const [found] = listFailedEvents(store, instance)
    .filter(({ reactor }) => database === databaseName && reactor === viewName)
    .filter(({ position }) => BigInt(position) === failedSequence)
  if (!found) throw missingError(database, { viewName, failedSequence })
  await removeFailedEvent(store, found.reactor, found.position)
}

/**
 * Retries one failed event, or all if none is named, and returns their number; without `instance`,
 * of any instance. Throws `not_found` if the list does not contain the event.
 */
export async function retryFailed(
  { store }: Pick<Cx, "store">,
  { viewName, failedSequence }: EventKey,
  instance?: string,
) {
  const position = parseSequence(failedSequence)
  const reactor = viewName || undefined
  const count = await retryFailedEvents(store, { instance, position, reactor })
  if (position !== undefined && count === 0) {
    throw missingError(databaseName, { viewName, failedSequence })
  }
  return { count: BigInt(count) }
}

const missingError = (database: string, { viewName, failedSequence }: EventKey) =>
  new Fault(
    "not_found",
    "event.failed_missing",
    `${database} has no failed event ${failedSequence} of ${viewName}`,
  )
