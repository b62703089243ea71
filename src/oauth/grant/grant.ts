import type { Cx } from "../../store/index.ts"
import type { AuthenticatedClient } from "../client/authentication.ts"
import type { DpopProof } from "../client/proof.ts"
import type { Parameters } from "../parameters.ts"
import type { Narrow } from "../token/audience.ts"
import type { Issuance } from "../token/issue.ts"

type GrantRequest<Client> = {
  readonly parameters: Parameters
  readonly client: Client
  /** The key that the client proved possession of; tokens are bound to it. */
  readonly proof: DpopProof | undefined
  /**
   * Restricts an audience to what the request asks for; rejects more. Called before anything is
   * written.
   */
  readonly narrow: Narrow
}

/**
 * A grant type. The token endpoint parses the request, authenticates the client if the grant
 * requires it, and issues the tokens; a grant only decides what is allowed, or throws.
 */
export type Grant =
  | {
      readonly name: string
      readonly client: "authenticated"
      readonly allow: (cx: Cx, request: GrantRequest<AuthenticatedClient>) => Promise<Issuance>
    }
  | {
      readonly name: string
      /** The grant itself authenticates the sender. */
      readonly client: "none"
      readonly allow: (cx: Cx, request: Omit<GrantRequest<never>, "client">) => Promise<Issuance>
    }
