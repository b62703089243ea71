import type { Cx, Draft, Transaction } from "../../../store/index.ts"
import { type Admit, type MagicLink, tryMagicLink } from "../../credential/index.ts"
import { type AdmitFactor, type CheckKind, factorChecks } from "../../factor/index.ts"
import type { CheckedIntent } from "../../federation/index.ts"
import { checkedBy } from "../commands.ts"
import { type Hindrance, hindranceOf, mayUsePasskeyAlone, standingOf } from "../entry.ts"
import { type SessionEvent, session } from "../model.ts"
import { passwordVersionOf } from "../query.ts"

/** What somebody brings beside a password: a code, or the assertion of a key as JSON. */
export type Proof = { readonly kind: CheckKind; readonly given: string }

/** A code by mail may be one that lets in by itself. */
type Admitting = { readonly kind: CheckKind | "magic_link"; readonly admit: AdmitFactor }

/** Does what takes time about proofs; within a step, `proveAll` decides. */
export function proofsOf(
  cx: Cx,
  id: string,
  { userId, proofs }: { readonly userId: string; readonly proofs: readonly Proof[] },
): Promise<readonly Admitting[]> {
  const { challenges } = cx.store.state(cx, session, id)
  const asked = {
    webauthn: challenges.webAuthN,
    otp_sms: challenges.otpSms,
    otp_email: challenges.otpEmail,
    totp: undefined,
    recovery_code: undefined,
  } as const
  return Promise.all(
    proofs.map(async ({ kind, given }) => {
      const challenge = asked[kind]
      if (challenge?.kind === "magic_link") {
        return { kind: "magic_link", admit: byLink({ ...challenge, account: userId }, given) }
      }
      return { kind, admit: await factorChecks[kind](cx, { userId, given, challenge }) }
    }),
  )
}

const byLink =
  (link: MagicLink, given: string): AdmitFactor =>
  (tx) =>
    tryMagicLink(tx, link, { device: undefined, given })
      ? { isRight: true, methods: ["otp"], isUserVerified: false }
      : { isRight: false }

type Proving = {
  /** Of the password, where one was given. */
  readonly admit: Admit | undefined
  readonly admits: readonly Admitting[]
}

/**
 * Decides about a password and proofs, all of which must be right. Answers what to note of the
 * proofs, or what is in the way; what was wrong has been counted then.
 */
export function proveAll(
  tx: Transaction,
  userId: string,
  { admit, admits }: Proving,
): readonly Draft<SessionEvent>[] | Hindrance | "proof wrong" {
  const hindrance = admit && hindranceOf(tx, userId, admit)
  if (hindrance) return hindrance
  const events: Draft<SessionEvent>[] = []
  for (const { kind, admit: admitProof } of admits) {
    const checked = admitProof(tx)
    if (!checked.isRight) return "proof wrong"
    const { methods, isUserVerified } = checked
    const isKey = kind === "webauthn" && isUserVerified && mayUsePasskeyAlone(tx, userId)
    const isFirst = isKey || kind === "magic_link"
    const standing = isFirst && standingOf(tx, userId)
    if (standing) return standing
    const passwordVersion = passwordVersionOf(tx, userId)
    const isFirstKey = isKey && passwordVersion !== undefined
    const proof = kind === "magic_link" ? { kind } : { kind, methods, isUserVerified: isFirstKey }
    // Whose link was right is a person, and signs in under a version.
    events.push(checkedBy(proof, passwordVersion ?? 0))
  }
  return events
}

/** Decides about who came from a provider: it must be the very user, who may sign in. */
export function proveIntent(
  tx: Transaction,
  userId: string,
  intent: CheckedIntent,
): readonly Draft<SessionEvent>[] | "locked" | "inactive" | "proof wrong" {
  if (intent.userId !== userId) return "proof wrong"
  const standing = standingOf(tx, userId)
  if (standing) return standing
  intent.use(tx)
  const passwordVersion = passwordVersionOf(tx, userId)
  if (passwordVersion === undefined) return "inactive"
  return [checkedBy({ ...intent, kind: "intent" }, passwordVersion)]
}
