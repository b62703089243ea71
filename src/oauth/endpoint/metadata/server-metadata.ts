import { requireInstance } from "../../../domain/instance/index.ts"
import type { Endpoint } from "../endpoint.ts"
import { discovery } from "./discovery.ts"

/** RFC 8414 §3: the same content as discovery, on instances that have enabled it. */
export const serverMetadata: Endpoint = {
  ...discovery,
  exists: (cx) => requireInstance(cx).oidc.serverMetadata,
}
