import { type Entry, entriesOf } from "../api/dispatch.ts"
import { type ApiHandler, apiHandler } from "../api/http.ts"
import { callLog } from "../api/log.ts"
import { uiEntry } from "../gen/ui-assets.ts"
import { apiCaller } from "../oauth/index.ts"
import type { Cx } from "../store/index.ts"
import type { Base } from "./base.ts"
import { authenticateWith } from "./caller.ts"
import { type OpenApi, openApiPages } from "./openapi.ts"
import { operations } from "./operations.ts"
import { authority } from "./rooms.ts"

/** The management interface in every encoding, and its description. */
export type Api = {
  readonly entries: readonly Entry[]
  readonly answer: ApiHandler
  readonly description: OpenApi
}

/**
 * Reads the book and lays the rooms' answers beside it. Whatever the contracts forbid is refused
 * here: an operation without a rule, a rule that names what is not there, two at one path.
 */
export function apiOf(base: Base): Api {
  const entries = entriesOf<Cx>({
    operations: operations(),
    authority,
    authenticate: authenticateWith(base, apiCaller),
    position: (cx) => base.store.written(cx),
    faultOf: (cause) => base.store.faultOf(cause),
    hooks: [callLog(base.log)],
    clock: base.clock,
    ids: base.ids,
  })
  return { entries, answer: apiHandler(entries), description: openApiPages(entries, uiEntry) }
}
