import { authTimeFor, type Requested } from "../../domain/grant/index.ts"
import type { Session } from "../../domain/session/index.ts"
import { acrFor } from "../token/claims/acr.ts"
import type { Identity } from "../token/issue.ts"

type SignedIn = {
  readonly sessionId: string
  readonly session: Session
  /** What stands in the id_token's audience beside the client. */
  readonly projects: readonly string[]
  readonly withUserClaims: boolean
}

/** What an id_token says that answers an authorization request. */
export function identityOf(asked: Requested, signedIn: SignedIn): Identity {
  const { sessionId, session, projects, withUserClaims } = signedIn
  const { clientId, nonce, claims, acr } = asked
  return {
    audience: [clientId, ...projects],
    nonce,
    sessionId,
    authTime: authTimeFor(asked, session),
    methods: session.methods,
    acr: acr && acrFor(acr, session.methods),
    withUserClaims,
    ...(claims && { requested: claims.idToken }),
  }
}
