import { setImmediate as nextTurn } from "node:timers/promises"
import type { Entry } from "../api/dispatch.ts"
import { type ApiHandler, apiHandler } from "../api/routes.ts"
import { apiCaller } from "../oauth/index.ts"
import { authenticateWith } from "./caller.ts"
import { entriesFor } from "./entries.ts"
import type { ServerServices } from "./services.ts"

/** The management interface in every encoding. */
export type Api = {
  readonly entries: readonly Entry[]
  readonly answer: ApiHandler
}

/** The operations, as others call them, beside the paths that are `reserved` for the server. */
export async function apiOf(services: ServerServices, reserved: readonly string[]): Promise<Api> {
  const entries = await entriesFor(services, authenticateWith(services, apiCaller))
  await nextTurn()
  return { entries, answer: apiHandler(entries, reserved) }
}
