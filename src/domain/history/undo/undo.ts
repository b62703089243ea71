import type { CallOperationOptions } from "../../../kernel/context.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx, Transaction } from "../../../store/index.ts"
import { allFieldsOf, foldEvent, visibleDifferences } from "../past.ts"
import type { RecordedEvent } from "../query.ts"
import type { HistoryResource } from "../resource.ts"
import { formatFieldNames, planUndo, type UndoPlan, unchangedError, undoError } from "./plan.ts"

/** Tries the undo of a change without storing anything; returns a fault if it is rejected. */
export async function tryUndo(cx: Cx, resource: HistoryResource, version: number) {
  const plan = await planUndo(cx, resource, version)
  if (plan instanceof Fault) return plan
  const events: Omit<RecordedEvent, "position">[] = []
  const store = cx.store.rehearse((step) => events.push(...step))
  const refusal = await faultOf(
    callOperation(cx, plan, { call: { store, written: undefined }, isTrial: true }),
  )
  if (refusal?.id === "member.credentials_unconfirmed") return rolesError()
  if (refusal) return refusal
  if (events.length === 0) return unchangedError()
  const after = events
    .filter(({ stream, id }) => stream === resource.kind.stream && id === resource.id)
    .map((event) => ({ ...event, position: 0, erase: null }))
    .reduce((state, event) => foldEvent(cx.store, state, event), plan.now)
  const fields = allFieldsOf(resource, after.whole)
  const missed = [...plan.expected].filter(([key, was]) => fields.get(key) !== was)
  if (missed.length > 0) return partialUndoError(missed.map(([key]) => key))
  const types = [...new Set(events.map(({ type }) => type))]
  return { plan, differences: visibleDifferences(resource, plan.now, after), types }
}

/**
 * Undoes a change and returns the new version of the resource. Throws if the resource has changed
 * since `last` or changes during the undo.
 */
export async function undo(
  cx: Cx,
  resource: HistoryResource,
  { version, last }: { readonly version: number; readonly last: number | undefined },
): Promise<{ readonly operation: string; readonly version: number }> {
  const tried = await tryUndo(cx, resource, version)
  if (tried instanceof Fault) throw tried
  const { plan } = tried
  if (last !== undefined && last !== plan.last) throw conflictError()
  const store = cx.store.checking((tx) => requireUnchanged(cx, tx, plan))
  await callOperation(cx, plan, { call: { store } })
  const now = cx.store.receipt(cx, resource.kind, resource.id)
  return { operation: plan.operation, version: now?.version ?? plan.last }
}

/** Adds the stream to the transaction, so that no concurrent change can come before the write. */
function requireUnchanged(cx: Cx, tx: Transaction, { place, last }: UndoPlan): void {
  tx.owner(place.kind, place.id)
  if (cx.store.receipt(cx, place.kind, place.id)?.version !== last) throw conflictError()
}

/** Calls the operation; only those of the management service have an organization context. */
function callOperation(
  cx: Cx,
  { operation, request, owner }: UndoPlan,
  { call, isTrial = false }: CallOperationOptions,
) {
  if (!cx.operate) throw new Error("the dispatcher provides no way to call operations")
  const orgId = operation.startsWith("core.management.v1.ManagementService/") ? owner : ""
  return cx.operate(operation, request, { call: { ...call, orgId }, isTrial })
}

/** Returns the fault of a rejected operation instead of throwing it. */
async function faultOf(work: Promise<void>): Promise<Fault | undefined> {
  try {
    await work
    return undefined
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
}

const partialUndoError = (keys: readonly string[]) => {
  const fields = formatFieldNames(keys)
  const words = `${fields} would not be fully restored; change these fields manually`
  return undoError("history.undo_partly", words)
}

/** An undo can't confirm credentials; the administrator who grants the roles must check them. */
const rolesError = () =>
  undoError(
    "history.undo_roles",
    "other users set credentials or addresses of this user, which must be confirmed; " +
      "grant the roles " +
      "manually",
  )

const conflictError = () =>
  new Fault(
    "aborted",
    "history.moved",
    "the resource has changed in the meantime; preview the undo again, then retry",
  )
