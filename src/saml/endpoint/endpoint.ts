import type { ShowPage } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"

/** One request to one endpoint. */
export type Asking = {
  readonly cx: Cx
  readonly request: Request
  /** Parsed once for all. */
  readonly url: URL
  readonly show: ShowPage
}

export type Endpoint = {
  readonly methods: readonly ("GET" | "POST")[]
  readonly answer: (asking: Asking) => Promise<Response> | Response
}
