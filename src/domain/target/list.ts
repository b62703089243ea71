import { Fault } from "../../kernel/fault.ts"
import type { Found, Page } from "../../kernel/page.ts"
import { type Cx, fold, windowOf } from "../../store/index.ts"
import { missingError } from "./commands.ts"
import { type Kind, kindOf } from "./condition.ts"
import { isThere, type Target, type TargetSettings, target } from "./model.ts"
import { calledAt, type ExecutionRow, executionRows, targetIds } from "./view.ts"

/** A target as it stands; times are ms UTC. */
export type TargetRow = TargetSettings & {
  readonly id: string
  readonly created: number
  readonly changed: number
}

/** Faults where there is none. */
export function findTarget(cx: Cx, id: string): TargetRow {
  const state = cx.store.state(cx, target, id)
  const receipt = cx.store.receipt(cx, target, id)
  if (!isThere(state) || !receipt) throw missingError()
  return rowOf(id, state, receipt)
}

type Stand = { readonly created: number; readonly changed: number }

const rowOf = (id: string, state: Target, { created, changed }: Stand): TargetRow => {
  const { name, targetType, endpoint, timeoutMs, interruptOnError, payloadType } = state
  return {
    id,
    created,
    changed,
    name,
    targetType,
    endpoint,
    timeoutMs,
    interruptOnError,
    payloadType,
  }
}

export type TargetFilter =
  | { readonly name: string; readonly method: number }
  | { readonly ids: readonly string[] }

export type TargetSort = Exclude<keyof TargetRow, "payloadType">

type Asked<Filter, Sort> = {
  readonly page: Page
  readonly sort: Sort
  readonly filters: readonly Filter[]
}

/** The targets of the instance, few enough to be searched without an index. */
export function searchTargets(
  cx: Cx,
  { page, sort, filters }: Asked<TargetFilter, TargetSort>,
): Found<TargetRow> {
  const rows = targetIds(cx)
    .map((id) => findTarget(cx, id))
    .filter((row) => filters.every((filter) => fitsTarget(row, filter)))
  const requested = ["targets", sort, filters]
  return windowOf(cx, rows, { page, requested, by: (row) => [row[sort], row.id] })
}

const fitsTarget = ({ id, name }: TargetRow, filter: TargetFilter): boolean =>
  "ids" in filter ? filter.ids.includes(id) : compared(name, filter.name, filter.method)

/** The methods of the interface, 0 to 7: each, and the next that ignores case. */
function compared(text: string, part: string, method: number): boolean {
  const compare = comparisons[method >> 1]
  if (!compare) {
    throw new Fault("invalid_argument", "search.method_unknown", `method ${method} is not known`)
  }
  return method & 1 ? compare(fold(text), fold(part)) : compare(text, part)
}

const comparisons: readonly ((text: string, part: string) => boolean)[] = [
  (text, part) => text === part,
  (text, part) => text.startsWith(part),
  (text, part) => text.includes(part),
  (text, part) => text.endsWith(part),
]

export type ExecutionFilter =
  | { readonly conditions: readonly string[] }
  | { readonly kind: Kind }
  | { readonly target: string }
  | { readonly include: string }

export type ExecutionSort = "id" | "created" | "changed"

/** An execution, and the targets that it comes to. */
export type Listed = ExecutionRow & { readonly called: readonly string[] }

/** Executions that call something; also one that calls nothing where it is asked for by name. */
export function searchExecutions(
  cx: Cx,
  { page, sort, filters }: Asked<ExecutionFilter, ExecutionSort>,
): Found<Listed> {
  const isNamed = filters.some((filter) => "conditions" in filter)
  const rows = executionRows(cx)
    .map((row) => ({ ...row, called: calledAt(cx, row.id) }))
    .filter(({ called }) => isNamed || called.length > 0)
    .filter((row) => filters.every((filter) => fitsExecution(row, filter)))
  const requested = ["executions", sort, filters]
  return windowOf(cx, rows, { page, requested, by: (row) => [row[sort], row.id] })
}

function fitsExecution({ id, targets, called }: Listed, filter: ExecutionFilter): boolean {
  if ("conditions" in filter) return filter.conditions.includes(id)
  if ("kind" in filter) return kindOf(id) === filter.kind
  if ("target" in filter) return called.includes(filter.target)
  return targets.some(({ type, target: each }) => type === "include" && each === filter.include)
}
