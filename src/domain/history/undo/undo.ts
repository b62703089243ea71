import type { Operating } from "../../../kernel/context.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx, Transaction } from "../../../store/index.ts"
import { allFieldsOf, between, folded } from "../past.ts"
import type { RecordedEvent } from "../query.ts"
import type { Place } from "../resource.ts"
import { type Plan, planOf, unchangedError, undoError, wordsOfKeys } from "./plan.ts"

/** Tries the undo of a change, of which nothing is stored; a fault where it is refused. */
export async function tryUndo(cx: Cx, place: Place, version: number) {
  const plan = await planOf(cx, place, version)
  if (plan instanceof Fault) return plan
  const events: Omit<RecordedEvent, "position">[] = []
  const store = cx.store.rehearse((step) => events.push(...step))
  const refusal = await refusalOf(
    operate(cx, plan, { call: { store, written: undefined }, isTrial: true }),
  )
  if (refusal?.id === "member.credentials_unconfirmed") return rolesError()
  if (refusal) return refusal
  if (events.length === 0) return unchangedError()
  const after = events
    .filter(({ stream, id }) => stream === place.kind.stream && id === place.id)
    .map((event) => ({ ...event, position: 0, erase: null }))
    .reduce((state, event) => folded(cx.store, state, event), plan.now)
  const fields = allFieldsOf(place, after.whole)
  const missed = [...plan.expected].filter(([key, was]) => fields.get(key) !== was)
  if (missed.length > 0) return partError(missed.map(([key]) => key))
  const types = [...new Set(events.map(({ type }) => type))]
  return { plan, differences: between(place, plan.now, after), types }
}

/**
 * Undoes a change: nothing happens where others have changed the thing since `last`, or while this
 * goes on. Answers the version of the thing now.
 */
export async function undo(
  cx: Cx,
  place: Place,
  { version, last }: { readonly version: number; readonly last: number | undefined },
): Promise<{ readonly operation: string; readonly version: number }> {
  const tried = await tryUndo(cx, place, version)
  if (tried instanceof Fault) throw tried
  const { plan } = tried
  if (last !== undefined && last !== plan.last) throw movedError()
  const store = cx.store.checking((tx) => mustStand(cx, tx, plan))
  await operate(cx, plan, { call: { store } })
  const now = cx.store.receipt(cx, place.kind, place.id)
  return { operation: plan.operation, version: now?.version ?? plan.last }
}

/** What is looked at joins the step: nobody else can change it before that is written. */
function mustStand(cx: Cx, tx: Transaction, { place, last }: Plan): void {
  tx.owner(place.kind, place.id)
  if (cx.store.receipt(cx, place.kind, place.id)?.version !== last) throw movedError()
}

/** Calls the operation; only those of the management service act on an organization. */
function operate(
  cx: Cx,
  { operation, request, owner }: Plan,
  { call, isTrial = false }: Operating,
) {
  if (!cx.operate) throw new Error("the dispatcher lends what asks operations")
  const orgId = operation.startsWith("core.management.v1.ManagementService/") ? owner : ""
  return cx.operate(operation, request, { call: { ...call, orgId }, isTrial })
}

/** A refusal is the answer here. */
async function refusalOf(work: Promise<void>): Promise<Fault | undefined> {
  try {
    await work
    return undefined
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
}

const partError = (keys: readonly string[]) => {
  const words = `${wordsOfKeys(keys)} would not be as before; change by hand what is to be so`
  return undoError("history.undo_partly", words)
}

/** An undo confirms no credentials; whoever gives the roles looks at them. */
const rolesError = () =>
  undoError(
    "history.undo_roles",
    "others set credentials or addresses of this user, which must be confirmed; give the roles " +
      "by hand",
  )

const movedError = () =>
  new Fault(
    "aborted",
    "history.moved",
    "this has been changed while you looked; see what an undo would do now, and try again",
  )
