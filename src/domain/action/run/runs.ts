import type { Page } from "../../../kernel/page.ts"
import { type Cx, paginate, type Store } from "../../../store/index.ts"
import type { LogLine, Outcome } from "../script/messages.ts"

/** A run of a script, for its authors. */
export type Run = {
  /** The ID of the request that the run was part of. */
  readonly requestId: string
  readonly actionId: string
  readonly name: string
  /** The organization that owns the script. */
  readonly orgId: string
  /** When the run ended, in ms since the epoch. */
  readonly time: number
  /** The duration of the run in ms. */
  readonly tookMs: number
  readonly logs: readonly LogLine[]
  /** Why the run failed; empty if it succeeded. */
  readonly error: string
}

/** `place` is a sequence number within the instance. */
export type StoredRun = Run & { readonly place: number }

const runsByStore = new WeakMap<Store, Map<string, StoredRun[]>>()

/**
 * The number of runs kept per instance; the oldest are dropped. Kept only in memory because runs
 * can contain data about any user.
 */
const runsMax = 200

type EndedRun = Pick<Run, "actionId" | "name" | "orgId" | "tookMs"> & { readonly outcome: Outcome }

/** Stores the log and the error of a run. */
export function recordRun(cx: Cx, { outcome, ...run }: EndedRun): void {
  const byInstance = runsByStore.get(cx.store) ?? new Map<string, StoredRun[]>()
  runsByStore.set(cx.store, byInstance)
  const stored = byInstance.get(cx.instance) ?? []
  byInstance.set(cx.instance, stored)
  const { logs, failed } = outcome
  const sequence = (stored.at(-1)?.place ?? 0) + 1
  const { requestId } = cx
  const time = cx.clock.now()
  stored.push({ ...run, requestId, time, logs, error: failed?.words ?? "", place: sequence })
  if (stored.length > runsMax) stored.shift()
}

/** All scripts or organizations if the ID is empty. */
type RunQuery = Pick<Run, "actionId" | "orgId"> & { readonly page: Page }

/** The runs of scripts in the caller's scope, newest first unless requested otherwise. */
export function searchRuns(cx: Cx, { actionId, orgId, page }: RunQuery) {
  const { scope } = cx
  if (!scope) throw new Error("a search for runs requires the scope of the caller")
  const all = runsByStore.get(cx.store)?.get(cx.instance) ?? []
  const seen = all.filter((run) => {
    return (
      (actionId === "" || run.actionId === actionId) &&
      (orgId === "" || run.orgId === orgId) &&
      (scope.all || scope.orgs.includes(run.orgId))
    )
  })
  return paginate(cx, seen, {
    page,
    requested: ["runs", actionId, orgId],
    by: ({ place: sequence }) => [sequence],
  })
}
