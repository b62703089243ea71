import {
  type Cx,
  cached,
  type Envelope,
  integer,
  json,
  type RowOf,
  systemStatement,
  table,
  text,
  type ViewWriter,
  view,
} from "../../store/index.ts"
import {
  type Entry,
  type ExecutionEvent,
  execution,
  isThere,
  type TargetEvent,
  target,
} from "./model.ts"

const targetTable = table("targets", { id: text() }, { key: ["id"] })

const executionTable = table(
  "executions",
  {
    id: text(),
    entries: json<readonly Entry[]>(),
    created: integer(),
    changed: integer(),
    version: integer(),
  },
  { key: ["id"] },
)

/** An execution as it stands; times are ms UTC. */
export type ExecutionRow = Omit<RowOf<typeof executionTable>, "entries"> & {
  readonly targets: readonly Entry[]
}

const set = (db: ViewWriter, { id, time, version }: Envelope, entries: readonly Entry[]) =>
  executionTable.upsert(db, { id, entries, created: time, changed: time, version }, [
    "entries",
    "changed",
    "version",
  ])

/** Few enough to be searched without an index. */
export const targetView = view<TargetEvent | ExecutionEvent>({
  name: "target",
  tables: [targetTable, executionTable],
  on: {
    "target.added": (db, { id }) => targetTable.insert(db, { id }),
    "target.removed": (db, { id }) => targetTable.remove(db, { id }),
    "execution.set": (db, event) => set(db, event, event.data.targets),
    "execution.removed": (db, event) => set(db, event, []),
  },
})

const allTargets = targetTable.select(["id"])

/** The targets of the instance. */
export const targetIds = (cx: Cx): readonly string[] =>
  cx.store.all(cx, allTargets).map(({ id }) => id)

const allExecutions = executionTable.select("*")

/** Every execution, also those that call nothing (any more). */
export const executionRows: (cx: Cx) => readonly ExecutionRow[] = cached(
  (cx) =>
    cx.store.all(cx, allExecutions).map(({ entries: targets, ...row }) => ({ ...row, targets })),
  [execution.stream],
)

/** The executions that name a target. */
export const executionsWith = (cx: Cx, targetId: string): readonly string[] =>
  executionRows(cx)
    .filter(({ targets }) =>
      targets.some(({ type, target: id }) => type === "target" && id === targetId),
    )
    .map(({ id }) => id)

const atEvents = systemStatement<{ id: string }>(
  `SELECT DISTINCT id FROM executions
   WHERE entries <> '[]' AND (id = 'event' OR id LIKE 'event/%')`,
  "one reactor looks through the log for all instances, and only for what one of them wants",
)

/** The conditions at which anybody is told of events, of all instances. */
export const eventConditions = ({ store }: Pick<Cx, "store">): readonly string[] =>
  store.all({ instance: "" }, atEvents).map(({ id }) => id)

/** What is called, by the condition: of executions that name a target that is there. */
export const planOf: (cx: Cx) => ReadonlyMap<string, readonly string[]> = cached(
  (cx) =>
    new Map(
      executionRows(cx)
        .map(({ id }) => [id, calledAt(cx, id)] as const)
        .filter(([, ids]) => ids.length > 0),
    ),
  [execution.stream, target.stream],
)

/** The targets that an execution comes to, those of what it includes in their place; each once. */
export function calledAt(cx: Cx, id: string, path: readonly string[] = []): readonly string[] {
  // Two that were set at the same moment may lie in each other: neither ends the walk of the other.
  if (path.includes(id)) return []
  const { targets } = cx.store.state(cx, execution, id)
  const called = targets.flatMap(({ type, target: each }) => {
    if (type === "include") return calledAt(cx, each, [...path, id])
    return isThere(cx.store.state(cx, target, each)) ? [each] : []
  })
  return [...new Set(called)]
}

/**
 * The users who decide what a target makes of what it is called for at an execution: who set the
 * execution, and those between that include one another, and the authors of the target. Each must
 * be permitted what the target changes.
 */
export const authorsAt = (cx: Cx, executionId: string, targetId: string): readonly string[] => [
  ...new Set([
    ...settersOf(cx, executionId, { targetId, path: [] }),
    ...cx.store.state(cx, target, targetId).authors,
  ]),
]

function settersOf(
  cx: Cx,
  id: string,
  { targetId, path }: { readonly targetId: string; readonly path: readonly string[] },
): readonly string[] {
  if (path.includes(id)) return []
  const { targets, author } = cx.store.state(cx, execution, id)
  const isNamed = targets.some(({ type, target: each }) => type === "target" && each === targetId)
  const within = targets.flatMap(({ type, target: each }) =>
    type === "include" ? settersOf(cx, each, { targetId, path: [...path, id] }) : [],
  )
  return isNamed || within.length > 0 ? [author, ...within] : []
}
