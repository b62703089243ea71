import type { Draft, Event, Transaction } from "../../store/index.ts"
import { aggregate } from "../../store/index.ts"

export type AssertionEvent = Event<
  "oidc.assertion.used",
  {
    readonly issuer: string
    /** ms UTC; absent in events from before it was kept. */
    readonly expires?: number
  }
>

/** What no assertion outlives by much; see where they are checked. */
const hour = 3_600_000

/** Assertions that carry an id; each counts once while it is valid. The claim is what says so. */
export const assertion = aggregate<AssertionEvent, { readonly expires?: number }>({
  stream: "oidc_assertion",
  retention: "transient",
  expires: ({ expires }) => expires,
  initial: {},
  evolve: {
    "oidc.assertion.used": (_, { data, time }) => ({ expires: data.expires ?? time + hour }),
  },
})

export type SpentAssertion = {
  readonly issuer: string
  readonly jti: string
  /** ms UTC; afterwards the assertion is refused for its age. */
  readonly expires: number
}

/** RFC 7523 §3 (7): notes that an assertion was used. Faults when it was used before. */
export function spendAssertion(tx: Transaction, { issuer, jti, expires }: SpentAssertion): void {
  const taken = { id: "assertion.used", message: "the assertion has been used already" }
  const used: Draft<AssertionEvent> = {
    type: "oidc.assertion.used",
    data: { issuer, expires },
    claims: [{ take: "assertion", key: JSON.stringify([issuer, jti]), expires, taken }],
  }
  tx.append(assertion, tx.ids.next(), [used])
}
