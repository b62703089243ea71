import { type Entry, entriesOf, type Pipeline } from "../api/dispatch.ts"
import { callLog } from "../api/log.ts"
import { sayOf } from "../domain/target/index.ts"
import type { Cx } from "../store/index.ts"
import { authority, operations } from "./modules.ts"
import type { ServerServices } from "./services.ts"

/**
 * Reads the book and lays the modules' answers beside it, for who comes in by one way. Whatever the
 * contracts forbid is refused here: an operation without a rule, a rule that names what is not
 * there, two at one path.
 */
export const entriesFor = async (
  services: ServerServices,
  authenticate: Pipeline<Cx>["authenticate"],
): Promise<readonly Entry[]> => {
  const entries = entriesOf<Cx>({
    operations: await operations(),
    authority,
    authenticate,
    position: ({ written }) => written?.position,
    head: ({ store }) => store.log.durable(),
    say: sayOf,
    faultOf: (cause) => services.store.faultOf(cause),
    hooks: [callLog(services.log), ...hooksOf(services)],
    clock: services.clock,
    ids: services.ids,
  })
  return services.store.together ? entries.map((each) => shown(services, each)) : entries
}

/** Its answers are given once other processes that read the file see what was read for them. */
const shown = ({ store }: ServerServices, entry: Entry): Entry => ({
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

/** What counts and traces calls, where somebody wants that. */
const hooksOf = ({ meters, tracing }: ServerServices) =>
  [meters, tracing].flatMap((each) => each?.calls ?? [])
