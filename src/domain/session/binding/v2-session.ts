import type { MessageInitShape } from "@bufbuild/protobuf"
import type { FactorsSchema, SessionSchema } from "../../../gen/core/session/v2/session_pb.ts"
import { toTimestamp } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { displayNames, findProfile } from "../../user-lookup/index.ts"
import { user } from "../../user-model/index.ts"
import { type Session, type SessionChecks, session } from "../model.ts"

/** A session as an API message, without its token. */
export function toSession(cx: Cx, id: string): MessageInitShape<typeof SessionSchema> {
  const receipt = cx.store.receipt(cx, session, id)
  const state = cx.store.state(cx, session, id)
  const { agentId, userAgent, metadata } = state
  const noted = Object.entries(metadata).map(([key, value]) => [key, Buffer.from(value, "base64")])
  const header = Object.entries(userAgent.header ?? {}).map(([name, values]) => [
    name,
    { values: [...values] },
  ])
  return {
    id,
    ...(receipt && {
      creationDate: toTimestamp(receipt.created),
      changeDate: toTimestamp(receipt.changed),
      sequence: BigInt(receipt.version),
    }),
    factors: factorsOf(cx, state),
    metadata: Object.fromEntries(noted),
    userAgent: { fingerprintId: agentId, ...userAgent, header: Object.fromEntries(header) },
    expirationDate: toTimestamp(state.expires),
  }
}

/** The verified factors, with the time of each. */
function factorsOf(cx: Cx, state: Session): MessageInitShape<typeof FactorsSchema> {
  const { userId, checks, userVerified, authTime } = state
  const mailed = checks.otpEmail ?? checks.magicLink
  return {
    ...(userId !== "" && {
      user: { ...toVerifiedAt(checks.user ?? authTime), ...userFactorOf(cx, state) },
    }),
    // In the API, a link that was sent by email is the code that it contains.
    ...verifiedFactorsOf({ ...checks, ...(mailed !== undefined && { otpEmail: mailed }) }),
    ...(checks.webAuthN !== undefined && {
      webAuthN: { ...toVerifiedAt(checks.webAuthN), userVerified },
    }),
  }
}

const factorsWithoutDetails = [
  "password",
  "intent",
  "totp",
  "otpSms",
  "otpEmail",
  "recoveryCode",
] as const

const verifiedFactorsOf = (checks: SessionChecks) =>
  Object.fromEntries(
    factorsWithoutDetails.flatMap((kind) => {
      const time = checks[kind]
      return time === undefined ? [] : [[kind, toVerifiedAt(time)]]
    }),
  )

const toVerifiedAt = (time: number) => ({ verifiedAt: toTimestamp(time) })

/** For an unknown login name, the name as entered. */
function userFactorOf(cx: Cx, { userId: id, loginName }: Session) {
  const userProfile = findProfile(cx, id)
  if (!userProfile) return { loginName, displayName: loginName }
  const organizationId = cx.store.receipt(cx, user, id)?.owner ?? ""
  const { preferredLoginName } = displayNames(cx, {
    user_name: userProfile.userName,
    org: organizationId,
  })
  return { id, loginName: preferredLoginName, displayName: userProfile.name, organizationId }
}
