import { setImmediate as nextTurn } from "node:timers/promises"
import { type Entry, entriesOf } from "../api/dispatch.ts"
import { type ApiHandler, apiHandler } from "../api/encoding/http.ts"
import { callLog } from "../api/log.ts"
import { sayOf } from "../domain/target/index.ts"
import { uiEntry } from "../gen/ui-assets.ts"
import { apiCaller } from "../oauth/index.ts"
import type { Cx } from "../store/index.ts"
import { authenticateWith } from "./caller.ts"
import { authority, operations } from "./modules.ts"
import { type OpenApi, openApiPages } from "./openapi.ts"
import type { ServerServices } from "./services.ts"

/** The management interface in every encoding, and its description. */
export type Api = {
  readonly entries: readonly Entry[]
  readonly answer: ApiHandler
  readonly description: OpenApi
}

/**
 * Reads the book and lays the modules' answers beside it. Whatever the contracts forbid is refused
 * here: an operation without a rule, a rule that names what is not there, two at one path.
 */
export async function apiOf(services: ServerServices): Promise<Api> {
  const read = await operations()
  const entries = entriesOf<Cx>({
    operations: read,
    authority,
    authenticate: authenticateWith(services, apiCaller),
    position: ({ written }) => written?.position,
    say: sayOf,
    faultOf: (cause) => services.store.faultOf(cause),
    hooks: [callLog(services.log), ...hooksOf(services)],
    clock: services.clock,
    ids: services.ids,
  })
  await nextTurn()
  return { entries, answer: apiHandler(entries), description: openApiPages(entries, uiEntry) }
}

/** What counts and traces calls, where somebody wants that. */
const hooksOf = ({ meters, tracing }: ServerServices) =>
  [meters, tracing].flatMap((each) => each?.calls ?? [])
