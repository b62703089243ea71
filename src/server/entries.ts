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
): Promise<readonly Entry[]> =>
  entriesOf<Cx>({
    operations: await operations(),
    authority,
    authenticate,
    position: ({ written }) => written?.position,
    say: sayOf,
    faultOf: (cause) => services.store.faultOf(cause),
    hooks: [callLog(services.log), ...hooksOf(services)],
    clock: services.clock,
    ids: services.ids,
  })

/** What counts and traces calls, where somebody wants that. */
const hooksOf = ({ meters, tracing }: ServerServices) =>
  [meters, tracing].flatMap((each) => each?.calls ?? [])
