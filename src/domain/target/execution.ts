import { Fault } from "../../kernel/fault.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import { missingError, setTo } from "./commands.ts"
import { type Entry, execution, isThere, target } from "./model.ts"
import { executionRows } from "./view.ts"

const entriesMax = 20
/** How many executions may lie one within the other. */
export const levelsMax = 3

/**
 * Says what is called at a condition, in this order; nothing is where there is nothing. Whoever
 * sets again what somebody else has set answers for it from then on. Returns since when it is so,
 * ms UTC. Faults where something named is not there, and where executions would include
 * themselves, or lie too deep.
 */
export async function setExecution(
  cx: Cx,
  id: string,
  entries: readonly Entry[],
): Promise<{ readonly version: number; readonly changed: number }> {
  const targets = onceEach(entries)
  if (targets.length > entriesMax) {
    const words = `an execution may name at most ${entriesMax} targets`
    throw new Fault("invalid_argument", "execution.too_many_targets", words)
  }
  const above = levelsAbove(cx, id)
  const step = await cx.store.transact(cx, (tx) => {
    for (const each of targets) mustBeThere(tx, each)
    const below = levelsBelow(tx, targets, [id])
    if (above + below > levelsMax) throw tooDeepError()
    const { targets: before, author } = tx.state(execution, id)
    const isSame = JSON.stringify(before) === JSON.stringify(targets)
    const isTakenOver = tx.caller.kind === "user" && tx.caller.userId !== author
    if (isSame && (before.length === 0 || !isTakenOver)) return before.length > 0
    tx.append(execution, id, [setTo(targets)])
    return true
  })
  return step.value ? step.receipt(execution, id) : { version: 0, changed: cx.clock.now() }
}

const onceEach = (entries: readonly Entry[]): readonly Entry[] => [
  ...new Map(
    entries.map(({ type, target: id }) => [`${type} ${id}`, { type, target: id }]),
  ).values(),
]

function mustBeThere(tx: Transaction, { type, target: id }: Entry): void {
  if (type === "target") {
    if (!isThere(tx.state(target, id))) throw missingError()
  } else if (tx.state(execution, id).targets.length === 0) {
    const words = `what is included calls no target: ${id}`
    throw new Fault("failed_precondition", "execution.include_missing", words)
  }
}

/** How many executions lie below, one within the other; faults where one is among its `path`. */
function levelsBelow(tx: Transaction, entries: readonly Entry[], path: readonly string[]): number {
  const included = entries.flatMap(({ type, target: id }) => (type === "include" ? [id] : []))
  const levels = included.map((id) => {
    if (path.includes(id)) {
      const words = `executions would include themselves: ${[...path, id].join(" → ")}`
      throw new Fault("failed_precondition", "execution.circle", words)
    }
    if (path.length > levelsMax) throw tooDeepError()
    return 1 + levelsBelow(tx, tx.state(execution, id).targets, [...path, id])
  })
  return Math.max(0, ...levels)
}

/** In how many executions this one lies, one within the other. */
function levelsAbove(cx: Cx, id: string, seen: readonly string[] = []): number {
  if (seen.length > levelsMax) return seen.length
  const above = executionRows(cx).filter(({ targets }) =>
    targets.some((each) => each.type === "include" && each.target === id),
  )
  return Math.max(0, ...above.map((each) => 1 + levelsAbove(cx, each.id, [...seen, id])))
}

const tooDeepError = () =>
  new Fault(
    "failed_precondition",
    "execution.too_deep",
    `executions may include one another over at most ${levelsMax} levels; name the targets instead`,
  )
