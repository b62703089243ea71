import { publicKeys } from "../../../domain/key/index.ts"
import { cacheQuery } from "../../../store/index.ts"
import { publicDocument } from "../../response.ts"
import type { Endpoint } from "../endpoint.ts"

/** RFC 7517 §5: all keys that verify tokens of this instance. */
export const keys: Endpoint = {
  methods: ["GET"],
  anyOrigin: true,
  handle: ({ cx }) => publicDocument(keysDocument(cx)),
}

/** The streams that the document depends on. */
export const keysStreams = ["web_key"] as const

/** The document as JSON text. */
export const keysDocument = cacheQuery(
  (cx) => JSON.stringify({ keys: publicKeys(cx) }),
  keysStreams,
)
