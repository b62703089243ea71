import { Fault } from "../../kernel/fault.ts"
import { type Cx, failedEvents, removeFailedEvent, retryFailedEvents } from "../../store/index.ts"
import { sequenceOf } from "./words.ts"

/** The name of the only database, where the interface requires one. */
export const databaseName = "latchkey"

type EventKey = { readonly viewName: string; readonly failedSequence: bigint }

/**
 * Takes a failed event off the list; of any instance, unless one is named. Faults with `not_found`
 * where it isn't on it.
 */
export async function removeFailed(
  { store }: Pick<Cx, "store">,
  { database, viewName, failedSequence }: EventKey & { readonly database: string },
  instance?: string,
): Promise<void> {
  const [found] = failedEvents(store, instance)
    .filter(({ reactor }) => database === databaseName && reactor === viewName)
    .filter(({ position }) => BigInt(position) === failedSequence)
  if (!found) throw missingError(database, { viewName, failedSequence })
  await removeFailedEvent(store, found.reactor, found.position)
}

/**
 * Has one failed event tried again, or all where none is named, and answers how many; of any
 * instance, unless one is named. Faults with `not_found` where the one isn't on the list.
 */
export async function retryFailed(
  { store }: Pick<Cx, "store">,
  { viewName, failedSequence }: EventKey,
  instance?: string,
) {
  const position = sequenceOf(failedSequence)
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
