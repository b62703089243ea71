import { randomToken } from "../../../kernel/crypto/random.ts"
import type { Cx } from "../../../store/index.ts"
import { type RequestedSignIn, requiresForceAuthn } from "../upstream/forward.ts"

/** State between the redirect to a provider and its answer; never disclosed. */
export type FlowState = {
  readonly nonce: string
  readonly verifier: string
  /** Whether a SAML provider must reauthenticate the user. */
  readonly forceAuthn?: boolean
}

export const createFlowState = (
  cx: Pick<Cx, "random">,
  requested: RequestedSignIn = {},
): FlowState => ({
  nonce: randomToken(cx.random),
  verifier: randomToken(cx.random),
  ...(requiresForceAuthn(requested) && { forceAuthn: true }),
})

/**
 * One redirect to a provider: the state parameter, and the values that the answer is checked
 * against.
 */
export type ProviderRequest = {
  readonly state: string
  readonly flow: FlowState
  readonly requested?: RequestedSignIn
}
