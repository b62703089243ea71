import { requireInstance } from "../../../domain/instance/index.ts"
import type { Endpoint } from "../endpoint.ts"
import { discovery } from "./discovery.ts"

/** RFC 8414 §3: says the same as discovery, on instances that turned it on. */
export const serverMetadata: Endpoint = {
  ...discovery,
  exists: (cx) => requireInstance(cx).oidc.serverMetadata,
}
