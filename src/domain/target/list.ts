import { Fault } from "../../kernel/fault.ts"
import type { Page, SearchResult } from "../../kernel/page.ts"
import { type Cx, fold, paginate } from "../../store/index.ts"
import { targetNotFoundError } from "./commands.ts"
import { type Kind, kindOf } from "./condition.ts"
import { isExistingTarget, type Target, type TargetSettings, target } from "./model.ts"
import { type ExecutionRow, executionRows, targetIds, targetsOf } from "./view.ts"

/** A target; times are in ms since the epoch. */
export type TargetRow = TargetSettings & {
  readonly id: string
  readonly created: number
  readonly changed: number
}

/** Throws if the target does not exist. */
export function findTarget(cx: Cx, id: string): TargetRow {
  const state = cx.store.state(cx, target, id)
  const receipt = cx.store.receipt(cx, target, id)
  if (!isExistingTarget(state) || !receipt) throw targetNotFoundError()
  return rowOf(id, state, receipt)
}

type RowDates = { readonly created: number; readonly changed: number }

const rowOf = (id: string, state: Target, { created, changed }: RowDates): TargetRow => {
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

type SearchInput<Filter, Sort> = {
  readonly page: Page
  readonly sort: Sort
  readonly filters: readonly Filter[]
}

/** The targets of the instance, which are few enough to search without an index. */
export function searchTargets(
  cx: Cx,
  { page, sort, filters }: SearchInput<TargetFilter, TargetSort>,
): SearchResult<TargetRow> {
  const rows = targetIds(cx)
    .map((id) => findTarget(cx, id))
    .filter((row) => filters.every((filter) => matchesTarget(row, filter)))
  const requested = ["targets", sort, filters]
  return paginate(cx, rows, { page, requested, by: (row) => [row[sort], row.id] })
}

const matchesTarget = ({ id, name }: TargetRow, filter: TargetFilter): boolean =>
  "ids" in filter ? filter.ids.includes(id) : compareText(name, filter.name, filter.method)

/**
 * Compares texts with a method of the API, 0 to 7: each method, followed by its variant that
 * ignores case.
 */
function compareText(text: string, part: string, method: number): boolean {
  const compare = comparisons[method >> 1]
  if (!compare) {
    throw new Fault("invalid_argument", "search.method_unknown", `unknown method ${method}`)
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

/** An execution and its resolved targets. */
export type ListedExecution = ExecutionRow & { readonly called: readonly string[] }

/** Executions with targets; an execution without targets only if it is requested by ID. */
export function searchExecutions(
  cx: Cx,
  { page, sort, filters }: SearchInput<ExecutionFilter, ExecutionSort>,
): SearchResult<ListedExecution> {
  const isNamed = filters.some((filter) => "conditions" in filter)
  const rows = executionRows(cx)
    .map((row) => ({ ...row, called: targetsOf(cx, row.id) }))
    .filter(({ called }) => isNamed || called.length > 0)
    .filter((row) => filters.every((filter) => matchesExecution(row, filter)))
  const requested = ["executions", sort, filters]
  return paginate(cx, rows, { page, requested, by: (row) => [row[sort], row.id] })
}

function matchesExecution(
  { id, targets, called }: ListedExecution,
  filter: ExecutionFilter,
): boolean {
  if ("conditions" in filter) return filter.conditions.includes(id)
  if ("kind" in filter) return kindOf(id) === filter.kind
  if ("target" in filter) return called.includes(filter.target)
  return targets.some(({ type, target: each }) => type === "include" && each === filter.include)
}
