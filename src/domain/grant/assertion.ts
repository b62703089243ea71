import type { Draft, Event, Transaction } from "../../store/index.ts"
import { aggregate } from "../../store/index.ts"

export type AssertionEvent = Event<
  "oidc.assertion.used",
  {
    readonly issuer: string
    /** ms UTC; absent in older events. */
    readonly expires?: number
  }
>

/** No assertion is valid for much longer; see where they are verified. */
const hourMs = 3_600_000

/** Assertions with a `jti`, each accepted once while it is valid. The unique key enforces this. */
export const assertion = aggregate<AssertionEvent, { readonly expires?: number }>({
  stream: "oidc_assertion",
  retention: "transient",
  expires: ({ expires }) => expires,
  initial: {},
  evolve: {
    "oidc.assertion.used": (_, { data, time }) => ({ expires: data.expires ?? time + hourMs }),
  },
})

export type UsedAssertion = {
  readonly issuer: string
  readonly jti: string
  /** ms UTC; later the assertion is rejected as expired. */
  readonly expires: number
}

/** RFC 7523 §3 (7): records the use of an assertion. Throws if it was used before. */
export function recordAssertion(tx: Transaction, { issuer, jti, expires }: UsedAssertion): void {
  const taken = { id: "assertion.used", message: "the assertion has already been used" }
  const used: Draft<AssertionEvent> = {
    type: "oidc.assertion.used",
    data: { issuer, expires },
    claims: [{ take: "assertion", key: JSON.stringify([issuer, jti]), expires, taken }],
  }
  tx.append(assertion, tx.ids.next(), [used])
}
