import { createEntries, type Entry, type Pipeline } from "../api/dispatch.ts"
import { callLog } from "../api/log.ts"
import { targetCallsOf } from "../domain/target/index.ts"
import type { Cx } from "../store/index.ts"
import { authority, loadOperations } from "./modules.ts"
import type { ServerServices } from "./services.ts"

/**
 * Combines the API with the handlers of the modules, for one transport. Throws for missing or
 * invalid access rules and for duplicate paths.
 */
export const loadEntries = async (
  services: ServerServices,
  authenticate: Pipeline<Cx>["authenticate"],
): Promise<readonly Entry[]> => {
  const entries = createEntries<Cx>({
    operations: await loadOperations(),
    authority,
    authenticate,
    position: ({ written }) => written?.position,
    head: ({ store }) => store.log.durable(),
    findTargetCalls: targetCallsOf,
    faultOf: (cause) => services.store.faultOf(cause),
    hooks: [callLog(services.log), ...hooksOf(services)],
    clock: services.clock,
    ids: services.ids,
  })
  return services.store.together ? entries.map((each) => withVisibleReads(services, each)) : entries
}

/**
 * Returns the response only after other processes that read the file can see what was read for it.
 */
const withVisibleReads = ({ store }: ServerServices, entry: Entry): Entry => ({
  ...entry,
  call: async (arrival, codec) => {
    const answer = await entry.call(arrival, codec)
    try {
      await store.pending()
      return answer
    } catch (cause) {
      const fault = store.faultOf(cause)
      if (!fault) throw cause
      return { ...answer, result: { ok: false, fault } }
    }
  },
})

/** The hooks for metrics and traces, if enabled. */
const hooksOf = ({ meters, tracing }: ServerServices) =>
  [meters, tracing].flatMap((each) => each?.calls ?? [])
