import { publicKeys } from "../../domain/key/index.ts"
import { remembered } from "../remembered.ts"
import { anyOrigin, type Headers } from "../response.ts"
import type { Endpoint } from "./endpoint.ts"

const headers: Headers = {
  ...anyOrigin,
  "content-type": "application/json",
  "cache-control": "public, max-age=300",
}

/** RFC 7517 §5: every key that a token of ours may be verified with. */
export const keys: Endpoint = {
  methods: ["GET"],
  anyOrigin: true,
  answer: ({ cx }) => new Response(document(cx), { headers }),
}

const document = remembered((cx) => JSON.stringify({ keys: publicKeys(cx) }))
