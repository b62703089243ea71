import type { SignInEvidence } from "../../protocol/freshness.ts"
import { type Checked, pairTimeOf } from "./model.ts"

/**
 * What is known of when the person of a session signed in. The time of a provider is the one that
 * it states: its answer alone proves no fresh sign-in, nor does one that an older version stored.
 */
export function evidenceOf(session: Checked & { readonly authTime: number }): SignInEvidence {
  const { checks, userVerified, vouched, authTime } = session
  const { intent, password = 0, magicLink = 0, webAuthN = 0 } = checks
  if (intent === undefined) return { localAt: authTime }
  const passkey = userVerified ? webAuthN : 0
  const localAt = Math.max(password, magicLink, passkey, pairTimeOf(session))
  return { localAt, providerAt: vouched?.freshAt ?? 0, answeredAt: intent }
}

/** When the person of a session last signed in for certain, ms UTC; 0 where nobody knows. */
export function freshTimeOf(session: Checked & { readonly authTime: number }): number {
  const { localAt, providerAt = 0 } = evidenceOf(session)
  return Math.max(localAt, providerAt)
}

/** Whether a provider vouched for the person without stating when they signed in there. */
export const cameByProviderWithoutTime = ({ checks, vouched }: Checked): boolean =>
  checks.intent !== undefined && vouched !== undefined && vouched.freshAt === undefined
