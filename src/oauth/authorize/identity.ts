import { type AuthorizationRequest, authTimeOf } from "../../domain/grant/index.ts"
import type { Session } from "../../domain/session/index.ts"
import { selectAcr } from "../token/claims/acr.ts"
import type { Identity } from "../token/issue.ts"

type SignedInUser = {
  readonly sessionId: string
  readonly session: Session
  /** Projects in the audience of the ID token, in addition to the client. */
  readonly projects: readonly string[]
  readonly withUserClaims: boolean
}

/** The user data in an ID token for an authorization request. */
export function identityOf(request: AuthorizationRequest, signedIn: SignedInUser): Identity {
  const { sessionId, session, projects, withUserClaims } = signedIn
  const { clientId, nonce, claims, acr } = request
  return {
    audience: [clientId, ...projects],
    nonce,
    sessionId,
    authTime: authTimeOf(request, session),
    methods: session.methods,
    acr: acr && selectAcr(acr, session.methods),
    withUserClaims,
    ...(claims && { requested: claims.idToken }),
  }
}
