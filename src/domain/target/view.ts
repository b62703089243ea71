import {
  type Cx,
  cacheQuery,
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
  type ExecutionEntry,
  type ExecutionEvent,
  execution,
  isExistingTarget,
  type TargetEvent,
  target,
} from "./model.ts"

const targetTable = table("targets", { id: text() }, { key: ["id"] })

const executionTable = table(
  "executions",
  {
    id: text(),
    entries: json<readonly ExecutionEntry[]>(),
    created: integer(),
    changed: integer(),
    version: integer(),
  },
  { key: ["id"] },
)

/** An execution; times are in ms since the epoch. */
export type ExecutionRow = Omit<RowOf<typeof executionTable>, "entries"> & {
  readonly targets: readonly ExecutionEntry[]
}

const set = (db: ViewWriter, { id, time, version }: Envelope, entries: readonly ExecutionEntry[]) =>
  executionTable.upsert(db, { id, entries, created: time, changed: time, version }, [
    "entries",
    "changed",
    "version",
  ])

/** Few enough to search without an index. */
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

/** The IDs of the targets of the instance. */
export const targetIds = (cx: Cx): readonly string[] =>
  cx.store.all(cx, allTargets).map(({ id }) => id)

const allExecutions = executionTable.select("*")

/** All executions, including those without targets. */
export const executionRows: (cx: Cx) => readonly ExecutionRow[] = cacheQuery(
  (cx) =>
    cx.store.all(cx, allExecutions).map(({ entries: targets, ...row }) => ({ ...row, targets })),
  [execution.stream],
)

/** The executions that contain a target. */
export const executionsWith = (cx: Cx, targetId: string): readonly string[] =>
  executionRows(cx)
    .filter(({ targets }) =>
      targets.some(({ type, target: id }) => type === "target" && id === targetId),
    )
    .map(({ id }) => id)

const eventStatement = systemStatement<{ id: string }>(
  `SELECT DISTINCT id FROM executions
   WHERE entries <> '[]' AND (id = 'event' OR id LIKE 'event/%')`,
  "one reactor reads the log for all instances, and only the events that one of them needs",
)

/** The conditions of executions for events, of all instances. */
export const eventConditions = ({ store }: Pick<Cx, "store">): readonly string[] =>
  store.all({ instance: "" }, eventStatement).map(({ id }) => id)

/** The existing targets by condition. */
export const targetsByCondition: (cx: Cx) => ReadonlyMap<string, readonly string[]> = cacheQuery(
  (cx) =>
    new Map(
      executionRows(cx)
        .map(({ id }) => [id, targetsOf(cx, id)] as const)
        .filter(([, ids]) => ids.length > 0),
    ),
  [execution.stream, target.stream],
)

/** The targets of an execution, with included executions resolved in place; each once. */
export function targetsOf(cx: Cx, id: string, path: readonly string[] = []): readonly string[] {
  // Two executions that were saved concurrently can include each other.
  if (path.includes(id)) return []
  const { targets } = cx.store.state(cx, execution, id)
  const called = targets.flatMap(({ type, target: each }) => {
    if (type === "include") return targetsOf(cx, each, [...path, id])
    return isExistingTarget(cx.store.state(cx, target, each)) ? [each] : []
  })
  return [...new Set(called)]
}

/**
 * The users who are responsible for what a target does at an execution: the authors of the target,
 * of the execution, and of executions in between. Each must have permission for the changes of the
 * target.
 */
export const authorsAt = (cx: Cx, executionId: string, targetId: string): readonly string[] => [
  ...new Set([
    ...executionAuthorsOf(cx, executionId, { targetId, path: [] }),
    ...cx.store.state(cx, target, targetId).authors,
  ]),
]

function executionAuthorsOf(
  cx: Cx,
  id: string,
  { targetId, path }: { readonly targetId: string; readonly path: readonly string[] },
): readonly string[] {
  if (path.includes(id)) return []
  const { targets, author } = cx.store.state(cx, execution, id)
  const isNamed = targets.some(({ type, target: each }) => type === "target" && each === targetId)
  const within = targets.flatMap(({ type, target: each }) =>
    type === "include" ? executionAuthorsOf(cx, each, { targetId, path: [...path, id] }) : [],
  )
  return isNamed || within.length > 0 ? [author, ...within] : []
}
