import { Fault } from "../../../kernel/fault.ts"
import type { Cx, Draft, Transaction } from "../../../store/index.ts"
import { createMagicLink, requestMagicLink } from "../../credential/index.ts"
import {
  type Challenge,
  challengeKey,
  createCodeChallenge,
  type OtpChannel,
  secondFactorsOf,
  type UserVerification,
} from "../../factor/index.ts"
import { queueMagicLink, queueOtp } from "../../message/index.ts"
import { login, policyOf } from "../../policy/index.ts"
import { user } from "../../user-model/index.ts"
import { type SessionEvent, session } from "../model.ts"
import { findAccountObstacle } from "../sign-in-check.ts"

/** The challenges that a custom login page requests. */
export type ChallengeRequests = {
  readonly key?: { readonly domain: string; readonly userVerification: UserVerification }
  readonly codes: readonly CodeRequest[]
}

type CodeRequest = {
  readonly channel: OtpChannel
  /** Whether the login page receives the code and delivers it to the user itself. */
  readonly isReturned: boolean
  readonly urlTemplate?: string | undefined
}

/** The response for the login page: options for the browser, and codes that it asked to receive. */
export type ChallengeResponses = {
  readonly key?: Awaited<ReturnType<typeof challengeKey>>["options"]
  readonly codes: Readonly<Partial<Record<OtpChannel, string>>>
}

type CreatedCode = CodeRequest & {
  readonly plain: string
  readonly challenge: Exclude<Challenge, { kind: "key" }>
}

/** The user of a challenge. */
export type ChallengeSubject = {
  /** Empty until the user is identified. */
  readonly userId: string
  /** Whether the user is not authenticated yet, nor by this call. */
  readonly isUnproven: boolean
}

type PreparedChallenges = {
  readonly userId: string
  readonly key: Challenge | undefined
  readonly codes: readonly CreatedCode[]
  readonly responses: ChallengeResponses
}

/** Creates the requested challenges; without a user, for any passkey. */
export async function createChallenges(
  cx: Cx,
  { userId, isUnproven }: ChallengeSubject,
  { key: keyRequest, codes: codeRequests }: ChallengeRequests,
): Promise<PreparedChallenges> {
  const challengeUser = userId === "" ? undefined : userId
  const key = keyRequest && (await challengeKey(cx, { userId: challengeUser, ...keyRequest }))
  const codes = codeRequests.map((code) =>
    isUnproven && usesMagicLink(cx, userId, code)
      ? { ...code, ...createLink(cx, userId) }
      : { ...code, ...createCodeChallenge(cx, userId, code.channel) },
  )
  const returned = codes.filter(({ isReturned }) => isReturned)
  if (returned.length > 0) requireTrustedCaller(cx, userId)
  const plain = returned.map(({ channel, plain }) => [channel, plain])
  const responses = { ...(key && { key: key.options }), codes: Object.fromEntries(plain) }
  return { userId, key: key?.challenge, codes, responses }
}

/**
 * Whether the code is a magic link, which signs in without another factor: only by email, never
 * delivered by the login page, and only if the instance allows it. The policy of the user's
 * organization applies when the link is used.
 */
const usesMagicLink = (cx: Cx, userId: string, { channel, isReturned }: CodeRequest): boolean =>
  userId !== "" && channel === "email" && !isReturned && policyOf(cx, "", login).allowMagicLink

function createLink(cx: Cx, userId: string): Pick<CreatedCode, "plain" | "challenge"> {
  const { link, code } = createMagicLink(cx, { account: userId })
  return { plain: code, challenge: { kind: "magic_link", hash: link.hash, expires: link.expires } }
}

/** Whether a magic link is sent to a user who is not authenticated. */
export const hasLink = ({ codes }: Pick<PreparedChallenges, "codes">): boolean =>
  codes.some(({ challenge }) => challenge.kind === "magic_link")

/**
 * Receiving a user's code means being able to sign in as them: only for login pages, and callers
 * with all permissions of the user.
 */
function requireTrustedCaller(cx: Cx, userId: string): void {
  if (cx.holds?.("session.link") || cx.outranks?.(userId)) return
  throw new Fault(
    "permission_denied",
    "session.code_not_yours",
    "permission denied: the user has more permissions than you; omit return_code, or use " +
      "the service account of a login page with session.link",
  )
}

/** Records the challenges and queues the messages; part of a transaction. */
export function issueChallenges(
  tx: Transaction,
  id: string,
  { userId, key, codes }: PreparedChallenges,
): void {
  if (key) tx.append(session, id, [challengedEvent("session.webAuthN.challenged", key)])
  for (const { channel, plain, challenge, isReturned, urlTemplate } of codes) {
    const { expires, kind } = challenge
    const isLink = kind === "magic_link"
    if (!isLink) requireReachable(tx, id, { userId, channel })
    tx.append(session, id, [challengedEvent(`session.otp.${channel}.challenged`, challenge)])
    if (isLink) {
      // Also for an unknown user: the response must not reveal whether the account exists.
      const isQueued = requestMagicLink(tx, { account: userId, device: undefined })
      const link = { userId, code: plain, expires, urlTemplate: urlTemplate ?? "", sessionId: id }
      if (isQueued) queueMagicLink(tx, link)
      continue
    }
    const otp = { userId, channel, code: plain, expires, sessionId: id, urlTemplate }
    if (!isReturned) queueOtp(tx, otp)
  }
}

type ChallengeEventType = `session.${"webAuthN" | `otp.${OtpChannel}`}.challenged`

const challengedEvent = (type: ChallengeEventType, challenge: Challenge): Draft<SessionEvent> => ({
  type,
  data: {},
  private: { challenge },
})

const factorOfChannel = { email: "otp_email", sms: "otp_sms" } as const

/** Codes are not sent to users who are identified only by a name. */
function requireReachable(
  tx: Transaction,
  id: string,
  { userId, channel }: { readonly userId: string; readonly channel: OtpChannel },
): void {
  if (tx.state(session, id).authTime === 0) {
    throw new Fault(
      "failed_precondition",
      "session.unproven",
      "verify the password first: codes are sent only to authenticated users",
    )
  }
  const has = secondFactorsOf(tx.state(user, userId)).includes(factorOfChannel[channel])
  if (has && findAccountObstacle(tx, userId) === undefined) return
  throw new Fault(
    "failed_precondition",
    "session.factor_missing",
    "the user can't receive codes on this channel; use another factor",
  )
}
