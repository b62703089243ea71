import type { SignInEvidence } from "../../protocol/freshness.ts"
import { combinedTimeOf, type SignInFacts } from "./model.ts"

/**
 * The evidence of when the user of a session signed in. For a provider sign-in, it is the time that
 * the provider reports: neither its response alone nor one stored by an older version proves a
 * fresh sign-in.
 */
export function signInEvidenceOf(
  session: SignInFacts & { readonly authTime: number },
): SignInEvidence {
  const { checks, userVerified, vouched, authTime } = session
  const { intent, password = 0, magicLink = 0, webAuthN = 0 } = checks
  if (intent === undefined) return { localAt: authTime }
  const passkey = userVerified ? webAuthN : 0
  const localAt = Math.max(password, magicLink, passkey, combinedTimeOf(session))
  return { localAt, providerAt: vouched?.freshAt ?? 0, answeredAt: intent }
}

/** Time of the last verified sign-in in a session, ms UTC; 0 if unknown. */
export function freshTimeOf(session: SignInFacts & { readonly authTime: number }): number {
  const { localAt, providerAt = 0 } = signInEvidenceOf(session)
  return Math.max(localAt, providerAt)
}

/** Whether the user came from a provider that did not report when they signed in. */
export const isProviderTimeUnknown = ({ checks, vouched }: SignInFacts): boolean =>
  checks.intent !== undefined && vouched !== undefined && vouched.freshAt === undefined
