import { randomToken } from "../../../kernel/crypto/random.ts"
import type { Cx } from "../../../store/index.ts"
import { mustForceAuthn, type RequestedSignIn } from "../upstream/forward.ts"

/** What is kept from the way to a provider to the way back; nobody else ever sees it. */
export type Kept = {
  readonly nonce: string
  readonly verifier: string
  /** Whether a provider that speaks SAML has to sign the user in again. */
  readonly forceAuthn?: boolean
}

export const newKept = (cx: Pick<Cx, "random">, requested: RequestedSignIn = {}): Kept => ({
  nonce: randomToken(cx.random),
  verifier: randomToken(cx.random),
  ...(mustForceAuthn(requested) && { forceAuthn: true }),
})

/** One way to a provider: what comes back with the answer, and what is compared with it. */
export type Asked = {
  readonly state: string
  readonly kept: Kept
  readonly requested?: RequestedSignIn
}
