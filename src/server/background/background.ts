import { instanceIds } from "../../domain/instance/index.ts"
import { auditLogRetention } from "../../domain/quota/index.ts"
import type { Config } from "../../kernel/config.ts"
import { errorText } from "../../kernel/fault.ts"
import { type Reactor, type Reactors, runPruner, runReactors } from "../../store/index.ts"
import type { ServerServices } from "../services.ts"
import type { CollectorHandle } from "./audit-collector.ts"

/** The background work of a server. */
export type Background = {
  readonly reactors: Reactors
  /** The position that all consumers of events have passed. */
  readonly passed: () => number
  readonly stop: () => Promise<void>
}

type BackgroundOptions = Pick<Config, "auditRetentionDays"> & {
  readonly collecting?: Pick<CollectorHandle, "collectedPosition"> | undefined
}

/** Starts the background work; the node is not ready while a reactor is blocked. */
export function startBackground(
  services: ServerServices,
  reactors: readonly Reactor[],
  { auditRetentionDays, collecting }: BackgroundOptions,
): Background {
  const { store, clock, lead } = services
  const running = runReactors(store, clock, reactors, {
    onBlocked: (name, cause) => services.reportProblem(blockedText(name), cause),
    onUnblocked: (name) => services.clearProblem(blockedText(name)),
    isLeader: lead.holds,
    onPostponed: (reactor, { type, position }, error) =>
      services.log.warning("{reactor} failed at {type} {position} and will retry: {error}", {
        reactor,
        type,
        position,
        error,
      }),
    onDueFailed: (reactor, { instance, id }, error) =>
      services.log.warning("{reactor} could not process {id} of instance {instance}: {error}", {
        reactor,
        id,
        instance,
        error,
      }),
  })
  const passed = () =>
    Math.min(running.passedPosition(), ...(collecting ? [collecting.collectedPosition()] : []))
  const pruner = runPruner({
    store,
    clock,
    auditRetentionDays,
    auditRetention: () => auditRetentions(services),
    passed,
    isFollowing: () => !lead.holds(),
    failed: (cause) =>
      services.log.warning("deleting old events failed: {cause}", { cause: errorText(cause) }),
  })
  return {
    reactors: running,
    passed,
    stop: async () => void (await Promise.all([running.stop(), pruner.stop()])),
  }
}

const blockedText = (reactor: string) => `the reactor ${reactor} is blocked`

/** The retention of audit records in ms, by instance, if limited. */
function auditRetentions({ store, call }: ServerServices): ReadonlyMap<string, number> {
  const all = instanceIds(store).map((id) => [id, auditLogRetention(call(id, "pruner"))] as const)
  return new Map(
    all.flatMap(([id, seconds]) => (seconds === undefined ? [] : [[id, seconds * 1000]])),
  )
}
