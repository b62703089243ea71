import type { Refusal } from "../../domain/refusal/index.ts"
import type { ShowPage } from "../../login/index.ts"
import type { FormLimits } from "../../protocol/body.ts"
import type { Cx } from "../../store/index.ts"

/** The context of one request to one endpoint. */
export type EndpointContext = {
  readonly cx: Cx
  readonly request: Request
  /** The parsed URL of the request. */
  readonly url: URL
  /** The posted form, within the limits of the endpoint. */
  readonly form: () => Promise<URLSearchParams>
  readonly show: ShowPage
  /** Called for each rejected request, with the reason. */
  readonly onRejected: (refusal: Refusal) => void
  /** Called with the grant type when tokens are issued; absent if no one needs it. */
  readonly onIssued?: ((grant: string) => void) | undefined
}

/** The description of an endpoint for the router. */
export type Endpoint = {
  readonly methods: readonly ("GET" | "POST" | "PUT" | "DELETE")[]
  /** Whether scripts of other origins can call it: true if it reads no cookies. */
  readonly anyOrigin: boolean
  /** Whether this instance has the endpoint, if not all have it. */
  readonly exists?: (cx: Cx) => boolean
  /** Limits for its forms, if they differ from the default. */
  readonly formMax?: FormLimits
  readonly handle: (asking: EndpointContext) => Promise<Response> | Response
}
