import { setImmediate as nextTurn } from "node:timers/promises"
import type { Entry } from "../api/dispatch.ts"
import { type ApiHandler, apiHandler } from "../api/encoding/http.ts"
import { uiEntry } from "../gen/ui-assets.ts"
import { apiCaller } from "../oauth/index.ts"
import { authenticateWith } from "./caller.ts"
import { entriesFor } from "./entries.ts"
import { type OpenApi, openApiPages } from "./openapi.ts"
import type { ServerServices } from "./services.ts"

/** The management interface in every encoding, and its description. */
export type Api = {
  readonly entries: readonly Entry[]
  readonly answer: ApiHandler
  readonly description: OpenApi
}

/** The operations, as others call them. */
export async function apiOf(services: ServerServices): Promise<Api> {
  const entries = await entriesFor(services, authenticateWith(services, apiCaller))
  await nextTurn()
  return { entries, answer: apiHandler(entries), description: openApiPages(entries, uiEntry) }
}
