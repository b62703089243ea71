import { passwordOf } from "../../domain/credential/index.ts"
import {
  type Factor,
  factorSkipped,
  factorsSetUp,
  hasKeys,
  isAllowedFactor,
  mayHaveCodes,
} from "../../domain/factor/index.ts"
import { isManager } from "../../domain/member/index.ts"
import { login, policyFor } from "../../domain/policy/index.ts"
import type { Session } from "../../domain/session/index.ts"
import { letsUserIn } from "../../domain/user-link/index.ts"
import { hasPasskey, user } from "../../domain/user-model/index.ts"
import type { Cx } from "../../store/index.ts"

/** What a person has to prove; lifetimes are seconds. */
export type Need = {
  /** What they have set up and may use, the best first. */
  readonly factors: readonly Factor[]
  /** What they could set up. */
  readonly offered: readonly Factor[]
  /** Whether the policy requires a factor of all users. */
  readonly isForced: boolean
  /** Whether that excludes users who came by an identity provider: that has its own factors. */
  readonly isLocalOnly: boolean
  /**
   * Whether the policy requires a factor of this user as a manager, however they sign in. Managers
   * for whom no factor can be set up are let in: they are the ones who could change that.
   */
  readonly isForcedManager?: boolean
  /** Whether it is time to offer it again. */
  readonly isDue: boolean
  readonly secondLifetime: number
  readonly multiLifetime: number
  /** Where passwords alone let nobody in: whether a person has a passkey; absent elsewhere. */
  readonly passkeyAlone?:
    | {
        readonly isThere: boolean
        readonly canBeMade: boolean
        /** Whether a link by mail does as well. */
        readonly orLink: boolean
      }
    | undefined
  /** Whether they have a password, too, where they come by a link. */
  readonly hasPassword: boolean
  /** How long a first factor counts that was not proved for this request. */
  readonly firstLifetime: number
  /** The same of who came by an identity provider. */
  readonly externalLifetime: number
  /** Whether their organisation lets them in by a provider; absent where the page says that. */
  readonly isLetInBy?: ((idpId: string) => boolean) | undefined
}

/** Reads what a person has, and what the policy of their organisation says. */
export function needOf(cx: Cx, userId: string): Need {
  const state = cx.store.state(cx, user, userId)
  const orgId = cx.store.receipt(cx, user, userId)?.owner ?? ""
  const policy = policyFor(cx, { userId, orgId }, login)
  const allows = (factor: Factor): boolean => isAllowedFactor(policy, factor)
  const factors = factorsSetUp(state).filter(allows)
  const codes = mayHaveCodes(state)
  const can: Readonly<Partial<Record<Factor, boolean>>> = {
    passkey: hasKeys(cx) && policy.allowPasswordless,
    otp: true,
    u2f: hasKeys(cx),
    otp_email: codes.email,
    otp_sms: codes.sms,
  }
  const lasts = policy.mfaInitSkipLifetime * 1000
  const offered = kinds.filter((factor) => allows(factor) && can[factor] === true)
  return {
    // What stands in for another factor is none by itself.
    factors: factors.some((factor) => factor !== "recovery_codes") ? factors : [],
    offered,
    isForced: policy.forceMfa || policy.forceMfaLocalOnly,
    isLocalOnly: !policy.forceMfa,
    isForcedManager: policy.forceMfaManagers && isManager(cx, userId),
    isDue: lasts > 0 && cx.clock.now() >= factorSkipped(state) + lasts,
    secondLifetime: policy.secondFactorCheckLifetime,
    multiLifetime: policy.multiFactorCheckLifetime,
    firstLifetime: policy.passwordCheckLifetime,
    externalLifetime: policy.externalLoginCheckLifetime,
    isLetInBy: (idpId) => letsUserIn(cx, idpId, userId),
    passkeyAlone: policy.allowUsernamePassword
      ? undefined
      : {
          isThere: hasPasskey(state),
          canBeMade: can.passkey === true,
          orLink: policy.allowMagicLink,
        },
    hasPassword: passwordOf(state) !== null,
  }
}

const kinds: readonly Factor[] = ["passkey", "otp", "u2f", "otp_email", "otp_sms"]

/** Whether a session has what is needed, proved for this request or not too long ago; ms UTC. */
export function isProved(
  need: Need,
  { checks, userVerified }: Pick<Session, "checks" | "userVerified">,
  { since, now }: { readonly since: number; readonly now: number },
): boolean {
  const { user: _, password: __, intent: ___, magicLink: ____, webAuthN, ...others } = checks
  const { otpEmail, ...unmailed } = others
  // Who came in by a mail proves nothing more with another one.
  const codes = cameBy({ checks }) === "link" ? unmailed : others
  const counts = (time: number | undefined, lifetime: number) =>
    time !== undefined && (time > since || now - time <= lifetime * 1000)
  // A key that has seen who holds it is two factors at once, whatever else there is.
  if (userVerified && counts(webAuthN, need.multiLifetime)) return true
  return [webAuthN, ...Object.values(codes)].some((time) => counts(time, need.secondLifetime))
}

/**
 * What somebody came in by last: a provider that vouched for them, a link that was mailed to them,
 * or what they have themselves.
 */
export function cameBy({ checks }: Pick<Session, "checks">): "provider" | "link" | "own" {
  const { intent = 0, magicLink = 0, password = 0 } = checks
  const last = Math.max(intent, magicLink, password)
  if (last === 0 || last === password) return "own"
  return last === intent ? "provider" : "link"
}
