import { Fault } from "../../kernel/fault.ts"
import { typedCodes } from "../../kernel/text/typed-code.ts"
import type { Cx } from "../../store/index.ts"
import { countRight, countWrong, isUsed, mayTryFactor } from "../lockout/index.ts"
import { newCode } from "../policy/index.ts"
import { factorsOf, type Human, user } from "../user-model/index.ts"
import type { Challenge, Check } from "./proof.ts"
import { keptSession, personIn, secondFactorsOf } from "./ready.ts"

/** Where a one-time code is sent. */
export type OtpChannel = "email" | "sms"

const channels = {
  email: {
    kind: "otp_email",
    has: (person: Human) => factorsOf(person).otpEmail,
    isVerified: ({ email }: Human) => email.verified,
    what: "e-mail address",
    methods: ["otp"],
  },
  sms: {
    kind: "otp_sms",
    has: (person: Human) => factorsOf(person).otpSms,
    isVerified: ({ phone }: Human) => phone?.verified === true,
    what: "phone",
    // RFC 8176 §2: a code by SMS is a one-time password, and more is known of it.
    methods: ["otp", "sms"],
  },
} as const

/** Has codes sent to a person's verified address from now on. Refuses where they are already. */
export const addOtp = user.command<OtpChannel>((state, channel) => {
  const person = personIn(state)
  const { has, isVerified, what } = channels[channel]
  if (!isVerified(person)) {
    throw new Fault(
      "failed_precondition",
      `user.otp_${channel}_unverified`,
      `the ${what} has to be verified first`,
    )
  }
  if (has(person)) {
    throw new Fault("already_exists", `user.otp_${channel}_exists`, "codes are sent there already")
  }
  return [{ type: `user.human.mfa.otp.${channel}.added`, data: {} }]
})

/** Has none sent any more; refuses where none are. */
export const removeOtp = user.command<OtpChannel>((state, channel, cx, id) => {
  if (!channels[channel].has(personIn(state))) {
    throw new Fault("not_found", `user.otp_${channel}_missing`, "no codes are sent there")
  }
  return [{ type: `user.human.mfa.otp.${channel}.removed`, data: keptSession(cx, id) }]
})

/** Makes a one-time code: in the plain for its message, and what it will be known by. */
export function challengeCode(
  cx: Cx,
  userId: string,
  channel: OtpChannel,
): { readonly plain: string; readonly challenge: Extract<Challenge, { kind: "code" }> } {
  const { kind } = channels[channel]
  const { plain, expires } = newCode(cx, kind)
  const hash = cx.secrets.hash(plain, about(userId, kind))
  return { plain, challenge: { kind: "code", hash, expires } }
}

/** `isFactor`: whether only those pass who have codes sent there as a second factor. */
const checkOf =
  (channel: OtpChannel, isFactor = true): Check =>
  async (cx, { userId, given, challenge }) => {
    const { kind, methods } = channels[channel]
    const typed = typedCodes(given)
    const isCode = (hash: string) =>
      typed.filter((each) => cx.secrets.matches(hash, each, about(userId, kind))).length > 0
    return (tx) => {
      mayTryFactor(tx, userId)
      const hasIt = !isFactor || secondFactorsOf(tx.state(user, userId)).includes(kind)
      const sent = challenge?.kind === "code" && tx.now < challenge.expires ? challenge : undefined
      if (!hasIt || !sent || !isCode(sent.hash) || isUsed(tx, sent.hash)) {
        countWrong(tx, userId, kind)
        return { isRight: false }
      }
      countRight(tx, userId, { kind, used: { key: sent.hash, expires: sent.expires } })
      return { isRight: true, methods, isUserVerified: false }
    }
  }

export const checkEmailCode = checkOf("email")
export const checkSmsCode = checkOf("sms")

/** The same of a code that was mailed to whoever has no second factor. */
export const admitMailedCode = checkOf("email", false)

const about = (userId: string, kind: string): string => `user/${userId}/${kind}`
