import type { Page } from "../../../kernel/page.ts"
import { type Cx, type Store, windowOf } from "../../../store/index.ts"
import type { LogLine, Outcome } from "../script/wire.ts"

/** One run of a script, for whoever has written it. */
export type Run = {
  /** Names the request that it was a part of. */
  readonly requestId: string
  readonly actionId: string
  readonly name: string
  /** The organisation that owns the script. */
  readonly orgId: string
  /** When it had ended, ms UTC. */
  readonly time: number
  /** How long that took, ms. */
  readonly tookMs: number
  readonly logs: readonly LogLine[]
  /** Why it failed; empty where it did not. */
  readonly error: string
}

/** `place` counts those of the instance. */
export type Kept = Run & { readonly place: number }

const keptByStore = new WeakMap<Store, Map<string, Kept[]>>()

/** Of one instance; the oldest go first. Nothing of it is on disk: it may be about anybody. */
const keptMax = 200

type Ended = Pick<Run, "actionId" | "name" | "orgId" | "tookMs"> & { readonly outcome: Outcome }

/** Keeps what a run has logged, and why it failed. */
export function noteRun(cx: Cx, { outcome, ...run }: Ended): void {
  const byInstance = keptByStore.get(cx.store) ?? new Map<string, Kept[]>()
  keptByStore.set(cx.store, byInstance)
  const kept = byInstance.get(cx.instance) ?? []
  byInstance.set(cx.instance, kept)
  const { logs, failed } = outcome
  const place = (kept.at(-1)?.place ?? 0) + 1
  const { requestId } = cx
  const time = cx.clock.now()
  kept.push({ ...run, requestId, time, logs, error: failed?.words ?? "", place })
  if (kept.length > keptMax) kept.shift()
}

/** Of all scripts, or organisations, where the id is empty. */
type Wanted = Pick<Run, "actionId" | "orgId"> & { readonly page: Page }

/** The runs of scripts in the caller's scope, newest first unless requested. */
export function searchRuns(cx: Cx, { actionId, orgId, page }: Wanted) {
  const { scope } = cx
  if (!scope) throw new Error("a search of runs needs the scope of its caller")
  const all = keptByStore.get(cx.store)?.get(cx.instance) ?? []
  const seen = all.filter((run) => {
    return (
      (actionId === "" || run.actionId === actionId) &&
      (orgId === "" || run.orgId === orgId) &&
      (scope.all || scope.orgs.includes(run.orgId))
    )
  })
  return windowOf(cx, seen, {
    page,
    requested: ["runs", actionId, orgId],
    by: ({ place }) => [place],
  })
}
