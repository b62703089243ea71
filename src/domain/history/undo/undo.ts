import { Fault } from "../../../kernel/fault.ts"
import type { Cx, Transaction } from "../../../store/index.ts"
import { type Difference, isSame } from "../difference.ts"
import { allFieldsOf, between, type Folded, type Happening } from "../past.ts"
import type { Place } from "../resource.ts"
import { type Plan, planOf, unchangedError, wordsOfKeys } from "./plan.ts"

/** What would happen. */
export type Tried = {
  readonly plan: Plan
  readonly differences: readonly Difference[]
  /** Types of the events, each once. */
  readonly types: readonly string[]
}

/** Tries the undo of a change; a fault where it is refused. Nothing comes of it. */
export async function tryUndo(cx: Cx, place: Place, version: number): Promise<Tried | Fault> {
  const plan = await planOf(cx, place, version)
  if (plan instanceof Fault) return plan
  const { operation, request, now, expected } = plan
  const events: Omit<Happening, "position">[] = []
  const store = cx.store.rehearse((step) => events.push(...step))
  const call = { store, orgId: contextOf(plan), written: undefined }
  const refusal = await refusalOf(operateOf(cx)(operation, request, { call, isTrial: true }))
  if (refusal?.id === "member.credentials_unconfirmed") return rolesError()
  if (refusal) return refusal
  if (events.length === 0) return unchangedError()
  const after = foldedWith(cx, plan, events)
  const fields = allFieldsOf(place, after.whole)
  const short = [...expected].filter(([key, field]) => !isSame(key, fields, keyed(key, field)))
  if (short.length > 0) return partError(short.map(([key]) => key))
  const types = [...new Set(events.map(({ type }) => type))]
  return { plan, differences: between(place, now, after), types }
}

/** Only the management service acts on the organization of its context. */
const contextOf = ({ operation, owner }: Plan): string =>
  operation.startsWith("core.management.v1.ManagementService/") ? owner : ""

/** A map of one field, or of none. */
const keyed = <T>(key: string, field: T | undefined): ReadonlyMap<string, T> =>
  new Map(field === undefined ? [] : [[key, field]])

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
  const { operation, request } = plan
  const store = cx.store.checking((tx) => mustStand(cx, tx, plan))
  await operateOf(cx)(operation, request, { call: { store, orgId: contextOf(plan) } })
  return { operation, version: cx.store.receipt(cx, place.kind, place.id)?.version ?? plan.last }
}

/** What is looked at joins the step: nobody else can change it before that is written. */
function mustStand(cx: Cx, tx: Transaction, { place, last }: Plan): void {
  tx.owner(place.kind, place.id)
  if (cx.store.receipt(cx, place.kind, place.id)?.version !== last) throw movedError()
}

function foldedWith(
  { store }: Cx,
  { place, now }: Plan,
  events: readonly Omit<Happening, "position">[],
): Folded {
  const { kind, id } = place
  const own = events.filter((event) => event.stream === kind.stream && event.id === id)
  return own.reduce<Folded>(({ whole, open }, each) => {
    const event = { ...each, position: 0, erase: null }
    return {
      whole: store.fold(whole, event),
      open: store.fold(open, { ...event, private: null }),
    }
  }, now)
}

function operateOf({ operate }: Cx) {
  if (!operate) throw new Error("the dispatcher lends what asks operations")
  return operate
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

const partError = (keys: readonly string[]) =>
  new Fault(
    "failed_precondition",
    "history.undo_partly",
    `no undo: ${wordsOfKeys(keys)} would not be as before; change by hand what is to be so`,
  )

/** An undo confirms no credentials; whoever gives the roles looks at them. */
const rolesError = () =>
  new Fault(
    "failed_precondition",
    "history.undo_roles",
    "no undo: others set credentials or addresses of this user, which must be confirmed; give " +
      "the roles by hand",
  )

const movedError = () =>
  new Fault(
    "aborted",
    "history.moved",
    "this has been changed while you looked; see what an undo would do now, and try again",
  )
