import { Fault } from "../../../kernel/fault.ts"
import type { Cx, Draft, Transaction } from "../../../store/index.ts"
import { createMagicLink, requestMagicLink } from "../../credential/index.ts"
import {
  type Challenge,
  challengeCode,
  challengeKey,
  type OtpChannel,
  secondFactorsOf,
  type UserVerification,
} from "../../factor/index.ts"
import { queueMagicLink, queueOtp } from "../../message/index.ts"
import { login, policyOf } from "../../policy/index.ts"
import { user } from "../../user-model/index.ts"
import { standingOf } from "../entry.ts"
import { type SessionEvent, session } from "../model.ts"

/** What a login page wants to ask its person for. */
export type WantedChallenges = {
  readonly key?: { readonly domain: string; readonly userVerification: UserVerification }
  readonly codes: readonly WantedCode[]
}

type WantedCode = {
  readonly channel: OtpChannel
  /** Whether the page gets the code and brings it to its person itself. */
  readonly isReturned: boolean
  readonly urlTemplate?: string | undefined
}

/** What a login page hands on: options for the browser, and codes that it wanted to have. */
export type ToldChallenges = {
  readonly key?: Awaited<ReturnType<typeof challengeKey>>["options"]
  readonly codes: Readonly<Partial<Record<OtpChannel, string>>>
}

type NewCode = WantedCode & {
  readonly plain: string
  readonly challenge: Exclude<Challenge, { kind: "key" }>
}

/** For whom something is asked. */
export type AskedFor = {
  /** Empty before somebody has said who they are. */
  readonly userId: string
  /** Whether nothing has been proved, nor is by the same call. */
  readonly isUnproven: boolean
}

type Ready = {
  readonly userId: string
  readonly key: Challenge | undefined
  readonly codes: readonly NewCode[]
  readonly told: ToldChallenges
}

/** Makes what is to be asked for; without a user yet, any passkey. */
export async function challengesOf(
  cx: Cx,
  { userId, isUnproven }: AskedFor,
  { key: wanted, codes: wantedCodes }: WantedChallenges,
): Promise<Ready> {
  const asked = userId === "" ? undefined : userId
  const key = wanted && (await challengeKey(cx, { userId: asked, ...wanted }))
  const codes = wantedCodes.map((code) =>
    isUnproven && letsIn(cx, userId, code)
      ? { ...code, ...linkOf(cx, userId) }
      : { ...code, ...challengeCode(cx, userId, code.channel) },
  )
  const returned = codes.filter(({ isReturned }) => isReturned)
  if (returned.length > 0) mustBeTrusted(cx, userId)
  const plain = returned.map(({ channel, plain }) => [channel, plain])
  const told = { ...(key && { key: key.options }), codes: Object.fromEntries(plain) }
  return { userId, key: key?.challenge, codes, told }
}

/**
 * Whether a code is one that lets in by itself: by mail alone, never by way of the page, and where
 * the instance allows it. What the person's own organisation says decides without a word.
 */
const letsIn = (cx: Cx, userId: string, { channel, isReturned }: WantedCode): boolean =>
  userId !== "" && channel === "email" && !isReturned && policyOf(cx, "", login).allowMagicLink

function linkOf(cx: Cx, userId: string): Pick<NewCode, "plain" | "challenge"> {
  const { link, code } = createMagicLink(cx, { account: userId })
  return { plain: code, challenge: { kind: "magic_link", hash: link.hash, expires: link.expires } }
}

/** Whether somebody who has proved nothing is to be mailed. */
export const hasLink = ({ codes }: Pick<Ready, "codes">): boolean =>
  codes.some(({ challenge }) => challenge.kind === "magic_link")

/** Who has a code for somebody passes for them: a login page, or who may do all that they may. */
function mustBeTrusted(cx: Cx, userId: string): void {
  if (cx.holds?.("session.link") || cx.outranks?.(userId)) return
  throw new Fault(
    "permission_denied",
    "session.code_not_yours",
    "who may do more than you gets their code by a message; leave out return_code, or use a " +
      "login page's service user, which has session.link",
  )
}

/** Notes what is asked for, and sends the codes that shall be sent, as a part of a step. */
export function askFor(tx: Transaction, id: string, { userId, key, codes }: Ready): void {
  if (key) tx.append(session, id, [asking("session.webAuthN.challenged", key)])
  for (const { channel, plain, challenge, isReturned, urlTemplate } of codes) {
    const { expires, kind } = challenge
    const isLink = kind === "magic_link"
    if (!isLink) mustReach(tx, id, { userId, channel })
    tx.append(session, id, [asking(`session.otp.${channel}.challenged`, challenge)])
    if (isLink) {
      // Whoever it is said to be: nobody is told by this who is here.
      const isTold = requestMagicLink(tx, { account: userId, device: undefined })
      const link = { userId, code: plain, expires, urlTemplate: urlTemplate ?? "", sessionId: id }
      if (isTold) queueMagicLink(tx, link)
      continue
    }
    const otp = { userId, channel, code: plain, expires, sessionId: id, urlTemplate }
    if (!isReturned) queueOtp(tx, otp)
  }
}

type Asking = `session.${"webAuthN" | `otp.${OtpChannel}`}.challenged`

const asking = (type: Asking, challenge: Challenge): Draft<SessionEvent> => ({
  type,
  data: {},
  private: { challenge },
})

const factors = { email: "otp_email", sms: "otp_sms" } as const

/** Strangers, who know no more than a name, have nobody sent a code. */
function mustReach(
  tx: Transaction,
  id: string,
  { userId, channel }: { readonly userId: string; readonly channel: OtpChannel },
): void {
  if (tx.state(session, id).authTime === 0) {
    throw new Fault(
      "failed_precondition",
      "session.unproven",
      "a code is sent to who has proved who they are; check the password first",
    )
  }
  const has = secondFactorsOf(tx.state(user, userId)).includes(factors[channel])
  if (has && standingOf(tx, userId) === undefined) return
  throw new Fault(
    "failed_precondition",
    "session.factor_missing",
    "this user has no codes sent there; choose another of their factors",
  )
}
