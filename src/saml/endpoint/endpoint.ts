import type { Refusal } from "../../domain/refusal/index.ts"
import type { ShowPage } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"

/** The context of one request to one endpoint. */
export type EndpointContext = {
  readonly cx: Cx
  readonly request: Request
  /** The parsed URL of the request. */
  readonly url: URL
  readonly show: ShowPage
  /** Called for each rejected request, with the reason. */
  readonly onRejected: (refusal: Refusal) => void
}

export type Endpoint = {
  readonly methods: readonly ("GET" | "POST")[]
  readonly handle: (asking: EndpointContext) => Promise<Response> | Response
}
