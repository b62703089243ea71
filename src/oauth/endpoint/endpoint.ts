import type { Refusal } from "../../domain/refusal/index.ts"
import type { ShowPage } from "../../login/index.ts"
import type { FormMax } from "../../protocol/body.ts"
import type { Cx } from "../../store/index.ts"

/** One request to one endpoint. */
export type Asking = {
  readonly cx: Cx
  readonly request: Request
  /** Parsed once for all. */
  readonly url: URL
  /** The form that was posted, within the limits of the endpoint. */
  readonly form: () => Promise<URLSearchParams>
  readonly show: ShowPage
  /** Learns of each request that was refused, and why. */
  readonly refused: (refusal: Refusal) => void
  /** Learns by which grant somebody got tokens; absent where nobody wants to know. */
  readonly issued?: ((grant: string) => void) | undefined
}

/** What the router must know of an endpoint. */
export type Endpoint = {
  readonly methods: readonly ("GET" | "POST" | "PUT" | "DELETE")[]
  /** Whether scripts of other origins may call it: true where no cookie is looked at. */
  readonly anyOrigin: boolean
  /** Where only some instances have it: whether this one does. */
  readonly exists?: (cx: Cx) => boolean
  /** Where its forms may hold more, or less, than others. */
  readonly formMax?: FormMax
  readonly answer: (asking: Asking) => Promise<Response> | Response
}
