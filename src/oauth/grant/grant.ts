import type { Cx } from "../../store/index.ts"
import type { AuthenticatedClient } from "../client/authentication.ts"
import type { Proof } from "../client/proof.ts"
import type { Parameters } from "../request.ts"
import type { Narrow } from "../token/audience.ts"
import type { Issuance } from "../token/issue.ts"

type Requested<Client> = {
  readonly parameters: Parameters
  readonly client: Client
  /** The key that the client showed that it holds; tokens are bound to it. */
  readonly proof: Proof | undefined
  /** What the request wants of an audience; refuses more. Asked before anything is written. */
  readonly narrow: Narrow
}

/**
 * A way to get tokens. The token endpoint parses the request, authenticates the client where the
 * grant wants one, and makes the tokens; a grant only says what is allowed, or throws.
 */
export type Grant =
  | {
      readonly name: string
      readonly client: "authenticated"
      readonly allow: (cx: Cx, asked: Requested<AuthenticatedClient>) => Promise<Issuance>
    }
  | {
      readonly name: string
      /** The grant itself proves who asks. */
      readonly client: "none"
      readonly allow: (cx: Cx, asked: Omit<Requested<never>, "client">) => Promise<Issuance>
    }
