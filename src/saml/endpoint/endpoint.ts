import type { Refusal } from "../../domain/refusal/index.ts"
import type { ShowPage } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"

/** One request to one endpoint. */
export type Asking = {
  readonly cx: Cx
  readonly request: Request
  /** Parsed once for all. */
  readonly url: URL
  readonly show: ShowPage
  /** Learns of each request that was refused, and why. */
  readonly refused: (refusal: Refusal) => void
}

export type Endpoint = {
  readonly methods: readonly ("GET" | "POST")[]
  readonly answer: (asking: Asking) => Promise<Response> | Response
}
