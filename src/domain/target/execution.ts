import { Fault } from "../../kernel/fault.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import { executionSetEvent, targetNotFoundError } from "./commands.ts"
import { type ExecutionEntry, execution, isExistingTarget, target } from "./model.ts"
import { executionRows } from "./view.ts"

const entriesMax = 20
/** The maximum nesting depth of executions. */
const executionDepthMax = 3

/**
 * Sets the targets of a condition in order; an empty list deletes the execution. A user who saves
 * what another user has set becomes its author. Returns the time of the last change in ms since the
 * epoch. Throws if a target or execution does not exist, or if executions include themselves or are
 * nested too deeply.
 */
export async function setExecution(
  cx: Cx,
  id: string,
  entries: readonly ExecutionEntry[],
): Promise<{ readonly version: number; readonly changed: number }> {
  const targets = withoutDuplicates(entries)
  if (targets.length > entriesMax) {
    const message = `an execution can have at most ${entriesMax} targets`
    throw new Fault("invalid_argument", "execution.too_many_targets", message)
  }
  const above = depthAbove(cx, id)
  const step = await cx.store.transact(cx, (tx) => {
    for (const each of targets) requireEntryExists(tx, each)
    const below = depthBelow(tx, targets, [id])
    if (above + below > executionDepthMax) throw tooDeepError()
    const { targets: before, author } = tx.state(execution, id)
    const isSame = JSON.stringify(before) === JSON.stringify(targets)
    const isTakenOver = tx.caller.kind === "user" && tx.caller.userId !== author
    if (isSame && (before.length === 0 || !isTakenOver)) return before.length > 0
    tx.append(execution, id, [executionSetEvent(targets)])
    return true
  })
  return step.value ? step.receipt(execution, id) : { version: 0, changed: cx.clock.now() }
}

const withoutDuplicates = (entries: readonly ExecutionEntry[]): readonly ExecutionEntry[] => [
  ...new Map(
    entries.map(({ type, target: id }) => [`${type} ${id}`, { type, target: id }]),
  ).values(),
]

function requireEntryExists(tx: Transaction, { type, target: id }: ExecutionEntry): void {
  if (type === "target") {
    if (!isExistingTarget(tx.state(target, id))) throw targetNotFoundError()
  } else if (tx.state(execution, id).targets.length === 0) {
    const message = `the included execution has no targets: ${id}`
    throw new Fault("failed_precondition", "execution.include_missing", message)
  }
}

/** The nesting depth below the entries; throws if one of them is in `path`. */
function depthBelow(
  tx: Transaction,
  entries: readonly ExecutionEntry[],
  path: readonly string[],
): number {
  const included = entries.flatMap(({ type, target: id }) => (type === "include" ? [id] : []))
  const levels = included.map((id) => {
    if (path.includes(id)) {
      const message = `an execution can't include itself: ${[...path, id].join(" → ")}`
      throw new Fault("failed_precondition", "execution.circle", message)
    }
    if (path.length > executionDepthMax) throw tooDeepError()
    return 1 + depthBelow(tx, tx.state(execution, id).targets, [...path, id])
  })
  return Math.max(0, ...levels)
}

/** The nesting depth above an execution. */
function depthAbove(cx: Cx, id: string, seen: readonly string[] = []): number {
  if (seen.length > executionDepthMax) return seen.length
  const above = executionRows(cx).filter(({ targets }) =>
    targets.some((each) => each.type === "include" && each.target === id),
  )
  return Math.max(0, ...above.map((each) => 1 + depthAbove(cx, each.id, [...seen, id])))
}

const tooDeepError = () =>
  new Fault(
    "failed_precondition",
    "execution.too_deep",
    `executions can be nested at most ${executionDepthMax} levels deep; use the targets directly`,
  )
