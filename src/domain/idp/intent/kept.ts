import { randomToken } from "../../../kernel/crypto/random.ts"
import type { Cx } from "../../../store/index.ts"

/** What is kept from the way to a provider to the way back; nobody else ever sees it. */
export type Kept = { readonly nonce: string; readonly verifier: string }

export const newKept = (cx: Pick<Cx, "random">): Kept => ({
  nonce: randomToken(cx.random),
  verifier: randomToken(cx.random),
})

/** One way to a provider: what comes back with the answer, and what is compared with it. */
export type Asked = { readonly state: string; readonly kept: Kept }
