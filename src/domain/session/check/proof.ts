import type { Cx, Draft, Transaction } from "../../../store/index.ts"
import { attemptMagicLink, type MagicLink, type PasswordDecision } from "../../credential/index.ts"
import { type CheckKind, type FactorDecision, factorChecks } from "../../factor/index.ts"
import type { CheckedIntent } from "../../federation/index.ts"
import { checkedEvent } from "../commands.ts"
import { type SessionEvent, session } from "../model.ts"
import { passwordVersionOf } from "../query.ts"
import {
  canUsePasskeyAlone,
  findAccountObstacle,
  findSignInObstacle,
  type SignInObstacle,
} from "../sign-in-check.ts"

/** A proof other than a password: a code, or the assertion of a key as JSON. */
export type FactorProof = { readonly kind: CheckKind; readonly given: string }

/** A code sent by email can be a magic link. */
type PendingProof = { readonly kind: CheckKind | "magic_link"; readonly admit: FactorDecision }

/** Performs the slow part of verification; `proveAll` decides within a transaction. */
export function prepareProofs(
  cx: Cx,
  id: string,
  { userId, proofs }: { readonly userId: string; readonly proofs: readonly FactorProof[] },
): Promise<readonly PendingProof[]> {
  const { challenges } = cx.store.state(cx, session, id)
  const challengeByKind = {
    webauthn: challenges.webAuthN,
    otp_sms: challenges.otpSms,
    otp_email: challenges.otpEmail,
    totp: undefined,
    recovery_code: undefined,
  } as const
  return Promise.all(
    proofs.map(async ({ kind, given: code }) => {
      const challenge = challengeByKind[kind]
      if (challenge?.kind === "magic_link") {
        return { kind: "magic_link", admit: admitByLink({ ...challenge, account: userId }, code) }
      }
      return { kind, admit: await factorChecks[kind](cx, { userId, given: code, challenge }) }
    }),
  )
}

const admitByLink =
  (link: MagicLink, code: string): FactorDecision =>
  (tx) =>
    attemptMagicLink(tx, link, { device: undefined, given: code })
      ? { isRight: true, methods: ["otp"], isUserVerified: false }
      : { isRight: false }

type ProveAllInput = {
  /** The check of the password, if there is one. */
  readonly admit: PasswordDecision | undefined
  readonly admits: readonly PendingProof[]
}

/**
 * Decides whether the password and all proofs are correct. Returns the events for the proofs, or
 * why the checks failed; failures are already counted.
 */
export function proveAll(
  tx: Transaction,
  userId: string,
  { admit, admits }: ProveAllInput,
): readonly Draft<SessionEvent>[] | SignInObstacle | "proof wrong" {
  const obstacle = admit && findSignInObstacle(tx, userId, admit)
  if (obstacle) return obstacle
  const events: Draft<SessionEvent>[] = []
  for (const { kind, admit: admitProof } of admits) {
    const checked = admitProof(tx)
    if (!checked.isRight) return "proof wrong"
    const { methods, isUserVerified } = checked
    const isKey = kind === "webauthn" && isUserVerified && canUsePasskeyAlone(tx, userId)
    const isFirst = isKey || kind === "magic_link"
    const accountObstacle = isFirst && findAccountObstacle(tx, userId)
    if (accountObstacle) return accountObstacle
    const passwordVersion = passwordVersionOf(tx, userId)
    const isFirstKey = isKey && passwordVersion !== undefined
    const proof = kind === "magic_link" ? { kind } : { kind, methods, isUserVerified: isFirstKey }
    // A correct link belongs to an existing user, who has a sign-in version.
    events.push(checkedEvent(proof, passwordVersion ?? 0))
  }
  return events
}

/**
 * Decides whether a provider sign-in is valid: it must be for the same user, who must be able to
 * sign in.
 */
export function proveIntent(
  tx: Transaction,
  userId: string,
  intent: CheckedIntent,
): readonly Draft<SessionEvent>[] | "locked" | "inactive" | "proof wrong" {
  if (intent.userId !== userId) return "proof wrong"
  const accountObstacle = findAccountObstacle(tx, userId)
  if (accountObstacle) return accountObstacle
  intent.use(tx)
  const passwordVersion = passwordVersionOf(tx, userId)
  if (passwordVersion === undefined) return "inactive"
  return [checkedEvent({ ...intent, kind: "intent" }, passwordVersion)]
}
