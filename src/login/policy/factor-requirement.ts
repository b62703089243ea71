import { passwordOf } from "../../domain/credential/index.ts"
import {
  areKeysSupported,
  type Factor,
  factorsSkippedAt,
  isAllowedFactor,
  listFactorsSetUp,
  verifiedChannels,
} from "../../domain/factor/index.ts"
import { isManager } from "../../domain/member/index.ts"
import { login, policyFor } from "../../domain/policy/index.ts"
import { isProviderActiveFor } from "../../domain/user-link/index.ts"
import { hasPasskey, user } from "../../domain/user-model/index.ts"
import type { Cx } from "../../store/index.ts"
import type { FactorRequirement, PresentSession } from "../flow.ts"

/** The parts of a session that are read. */
type RequirementSession = Pick<PresentSession, "userId" | "checks" | "vouched">

/** The factors of the user of a session, with the requirements of the organization's policy. */
export function requirementFor(
  cx: Cx,
  { userId, checks, vouched }: RequirementSession,
): FactorRequirement {
  const cameByProvider = checks.intent !== undefined
  const isProviderClosed = cameByProvider && !isProviderActiveFor(cx, vouched?.idpId ?? "", userId)
  return { ...requirementOf(cx, userId), isProviderClosed }
}

/** The same for a user who did not come from a provider. */
export function requirementOf(cx: Cx, userId: string): FactorRequirement {
  const state = cx.store.state(cx, user, userId)
  const orgId = cx.store.receipt(cx, user, userId)?.owner ?? ""
  const policy = policyFor(cx, { userId, orgId }, login)
  const allows = (factor: Factor): boolean => isAllowedFactor(policy, factor)
  const factors = listFactorsSetUp(state).filter(allows)
  const codes = verifiedChannels(state)
  const can: Readonly<Partial<Record<Factor, boolean>>> = {
    passkey: areKeysSupported(cx) && policy.allowPasswordless,
    otp: true,
    u2f: areKeysSupported(cx),
    otp_email: codes.email,
    otp_sms: codes.sms,
  }
  const lasts = policy.mfaInitSkipLifetime * 1000
  const offered = factorKinds.filter((factor) => allows(factor) && can[factor] === true)
  return {
    // Recovery codes replace another factor; alone, they are none.
    factors: factors.some((factor) => factor !== "recovery_codes") ? factors : [],
    offered,
    isForced: policy.forceMfa || policy.forceMfaLocalOnly,
    isLocalOnly: !policy.forceMfa,
    isForcedManager: policy.forceMfaManagers && isManager(cx, userId),
    isDue: lasts > 0 && cx.clock.now() >= factorsSkippedAt(state) + lasts,
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

const factorKinds: readonly Factor[] = ["passkey", "otp", "u2f", "otp_email", "otp_sms"]
