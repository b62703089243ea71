import { Fault } from "../../kernel/fault.ts"
import { listCodeSpellings } from "../../kernel/text/typed-code.ts"
import type { Cx } from "../../store/index.ts"
import {
  countFactorFailure,
  isUsed,
  recordFactorSuccess,
  requireFactorAllowed,
} from "../lockout/index.ts"
import { generateCode } from "../policy/index.ts"
import { factorsOf, type Human, user } from "../user-model/index.ts"
import type { Challenge, FactorCheck } from "./proof.ts"
import { ownSession, requireHuman, secondFactorsOf } from "./ready.ts"

/** Where one-time codes are sent. */
export type OtpChannel = "email" | "sms"

const channels = {
  email: {
    kind: "otp_email",
    has: (person: Human) => factorsOf(person).otpEmail,
    isVerified: ({ email }: Human) => email.verified,
    what: "email address",
    methods: ["otp"],
  },
  sms: {
    kind: "otp_sms",
    has: (person: Human) => factorsOf(person).otpSms,
    isVerified: ({ phone }: Human) => phone?.verified === true,
    what: "phone",
    // RFC 8176 §2: a one-time code over SMS has both values.
    methods: ["otp", "sms"],
  },
} as const

/** Enables codes sent to the user's verified address. Rejects if they are already enabled. */
export const addOtp = user.command<OtpChannel>((state, channel) => {
  const person = requireHuman(state)
  const { has, isVerified, what: channelName } = channels[channel]
  if (!isVerified(person)) {
    throw new Fault(
      "failed_precondition",
      `user.otp_${channel}_unverified`,
      `the ${channelName} must be verified first`,
    )
  }
  if (has(person)) {
    throw new Fault(
      "already_exists",
      `user.otp_${channel}_exists`,
      "one-time codes are already enabled for this channel",
    )
  }
  return [{ type: `user.human.mfa.otp.${channel}.added`, data: {} }]
})

/** Disables codes sent to this address. Rejects if they are not enabled. */
export const removeOtp = user.command<OtpChannel>((state, channel, cx, id) => {
  if (!channels[channel].has(requireHuman(state))) {
    throw new Fault(
      "not_found",
      `user.otp_${channel}_missing`,
      "one-time codes are not enabled for this channel",
    )
  }
  return [{ type: `user.human.mfa.otp.${channel}.removed`, data: ownSession(cx, id) }]
})

/** Creates a one-time code: the plain text for the message, and the challenge to check it with. */
export function createCodeChallenge(
  cx: Cx,
  userId: string,
  channel: OtpChannel,
): { readonly plain: string; readonly challenge: Extract<Challenge, { kind: "code" }> } {
  const { kind } = channels[channel]
  const { plain, expires } = generateCode(cx, kind)
  const hash = cx.secrets.hash(plain, codeContext(userId, kind))
  return { plain, challenge: { kind: "code", hash, expires } }
}

/** With `isFactor`, only users who have enabled this second factor pass. */
const createOtpCheck =
  (channel: OtpChannel, isFactor = true): FactorCheck =>
  async (cx, { userId, given: typedCode, challenge }) => {
    const { kind, methods } = channels[channel]
    const typed = listCodeSpellings(typedCode)
    const isCode = (hash: string) =>
      typed.filter((each) => cx.secrets.matches(hash, each, codeContext(userId, kind))).length > 0
    return (tx) => {
      requireFactorAllowed(tx, userId)
      const hasIt = !isFactor || secondFactorsOf(tx.state(user, userId)).includes(kind)
      const sent = challenge?.kind === "code" && tx.now < challenge.expires ? challenge : undefined
      if (!hasIt || !sent || !isCode(sent.hash) || isUsed(tx, sent.hash)) {
        countFactorFailure(tx, userId, kind)
        return { isRight: false }
      }
      recordFactorSuccess(tx, userId, { kind, used: { key: sent.hash, expires: sent.expires } })
      return { isRight: true, methods, isUserVerified: false }
    }
  }

export const checkEmailCode = createOtpCheck("email")
export const checkSmsCode = createOtpCheck("sms")

/** Checks a code that was emailed to a user without second factors. */
export const checkMailedCode = createOtpCheck("email", false)

const codeContext = (userId: string, kind: string): string => `user/${userId}/${kind}`
