import { publicKeys } from "../../../domain/key/index.ts"
import { cached } from "../../../store/index.ts"
import { published } from "../../response.ts"
import type { Endpoint } from "../endpoint.ts"

/** RFC 7517 §5: every key that a token of ours may be verified with. */
export const keys: Endpoint = {
  methods: ["GET"],
  anyOrigin: true,
  answer: ({ cx }) => published(keysDocument(cx)),
}

/** The streams that the answer is made of. */
export const keysStreams = ["web_key"] as const

/** What the endpoint answers, as text. */
export const keysDocument = cached((cx) => JSON.stringify({ keys: publicKeys(cx) }), keysStreams)
