import { setImmediate as nextTurn } from "node:timers/promises"
import type { Entry } from "../api/dispatch.ts"
import { type ApiHandler, createApiHandler } from "../api/routes.ts"
import { authenticateApiCaller } from "../oauth/index.ts"
import { createAuthenticate } from "./caller.ts"
import { loadEntries } from "./entries.ts"
import type { ServerServices } from "./services.ts"

/** The management API in every encoding. */
export type Api = {
  readonly entries: readonly Entry[]
  readonly handle: ApiHandler
}

/** Creates the API. Paths below `reserved` belong to the server itself. */
export async function createApi(
  services: ServerServices,
  reserved: readonly string[],
): Promise<Api> {
  const entries = await loadEntries(services, createAuthenticate(services, authenticateApiCaller))
  await nextTurn()
  return { entries, handle: createApiHandler(entries, reserved) }
}
