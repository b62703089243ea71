import { instanceIds } from "../../domain/instance/index.ts"
import { auditLogRetention } from "../../domain/quota/index.ts"
import type { Config } from "../../kernel/config.ts"
import { reasonText } from "../../kernel/fault.ts"
import { type Reactor, type Reactors, runPruner, runReactors } from "../../store/index.ts"
import type { ServerServices } from "../services.ts"
import type { Collecting } from "./audit-collector.ts"

/** What a server does besides answering. */
export type Background = {
  readonly reactors: Reactors
  /** The position that all have passed who are told of events. */
  readonly passed: () => number
  readonly stop: () => Promise<void>
}

type Wanted = Pick<Config, "auditRetentionDays"> & {
  readonly collecting?: Pick<Collecting, "passed"> | undefined
}

/** Starts it; while a reactor can't go on the node is not ready. */
export function startBackground(
  services: ServerServices,
  reactors: readonly Reactor[],
  { auditRetentionDays, collecting }: Wanted,
): Background {
  const { store, clock, lead } = services
  const running = runReactors(store, clock, reactors, {
    stuck: (name, cause) => services.broke(stuck(name), cause),
    freed: (name) => services.mended(stuck(name)),
    leads: lead.holds,
    postponed: (reactor, { type, position }, error) =>
      services.log.warning("{reactor} failed at {type} {position} and tries again later: {error}", {
        reactor,
        type,
        position,
        error,
      }),
    dueFailed: (reactor, { instance, id }, error) =>
      services.log.warning("{reactor} could not do {id} of instance {instance}: {error}", {
        reactor,
        id,
        instance,
        error,
      }),
  })
  const passed = () => Math.min(running.passed(), ...(collecting ? [collecting.passed()] : []))
  const pruner = runPruner({
    store,
    clock,
    auditRetentionDays,
    auditsKept: () => auditsKept(services),
    passed,
    isFollowing: () => !lead.holds(),
    failed: (cause) =>
      services.log.warning("pruning broke off: {cause}", { cause: reasonText(cause) }),
  })
  return {
    reactors: running,
    passed,
    stop: async () => void (await Promise.all([running.stop(), pruner.stop()])),
  }
}

const stuck = (reactor: string) => `the reactor ${reactor} can't go on`

/** What the instances' limits say of their audits, in ms. */
function auditsKept({ store, call }: ServerServices): ReadonlyMap<string, number> {
  const all = instanceIds(store).map((id) => [id, auditLogRetention(call(id, "pruner"))] as const)
  return new Map(
    all.flatMap(([id, seconds]) => (seconds === undefined ? [] : [[id, seconds * 1000]])),
  )
}
