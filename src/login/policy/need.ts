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
import { letsUserIn } from "../../domain/user-link/index.ts"
import { hasPasskey, user } from "../../domain/user-model/index.ts"
import type { Cx } from "../../store/index.ts"
import type { Need, Present } from "../flow.ts"

/** What is read of the person of a session. */
type NeedSession = Pick<Present, "userId" | "checks" | "vouched">

/** Reads what the person of a session has, and what the policy of their organisation says. */
export function needFor(cx: Cx, { userId, checks, vouched }: NeedSession): Need {
  const cameByProvider = checks.intent !== undefined
  const isProviderClosed = cameByProvider && !letsUserIn(cx, vouched?.idpId ?? "", userId)
  return { ...needOf(cx, userId), isProviderClosed }
}

/** The same of a person who has not come by a provider. */
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
