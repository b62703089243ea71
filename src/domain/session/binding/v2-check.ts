import type { JsonObject } from "@bufbuild/protobuf"
import type { Duration } from "@bufbuild/protobuf/wkt"
import {
  type RequestChallenges,
  type RequestChallenges_WebAuthN,
  UserVerificationRequirement,
} from "../../../gen/core/session/v2/challenge_pb.ts"
import type { UserAgent as UserAgentMessage } from "../../../gen/core/session/v2/session_pb.ts"
import type {
  Checks,
  CreateSessionRequest,
  SetSessionRequest,
} from "../../../gen/core/session/v2/session_service_pb.ts"
import { fieldError } from "../../../kernel/fault.ts"
import { toDetails } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import type { UserVerification } from "../../factor/index.ts"
import { checkIntent } from "../../federation/index.ts"
import { user } from "../../user-model/index.ts"
import {
  type ChangedSession,
  createSession,
  type SessionChanges,
  type UserReference,
  updateSession,
} from "../check/change.ts"
import { parseLifetime, parseMetadata, parseUserAgent } from "../check/input.ts"
import { session, type UserAgent } from "../model.ts"

/** The session operations of custom login pages. */
export const check = {
  create: async (cx: Cx, req: CreateSessionRequest) => {
    const userAgent = userAgentOf(req.userAgent)
    const changed = await createSession(cx, { ...changesOf(cx, "", req), userAgent })
    return { ...toResponse(cx, changed), sessionId: changed.id }
  },
  set: async (cx: Cx, req: SetSessionRequest) => {
    const changed = await updateSession(cx, req.sessionId, changesOf(cx, req.sessionId, req))
    return toResponse(cx, changed)
  },
}

function toResponse(
  cx: Cx,
  { id, token, receipt, challenges: challengeResponses }: ChangedSession,
) {
  const { userId } = cx.store.state(cx, session, id)
  const owner = cx.store.receipt(cx, user, userId)?.owner ?? receipt.owner
  const { key, codes } = challengeResponses
  const options = key && { publicKeyCredentialRequestOptions: jsonOf({ publicKey: key }) }
  return {
    details: toDetails({ ...receipt, owner }),
    sessionToken: token,
    challenges: {
      ...(options && { webAuthN: options }),
      ...(codes.sms !== undefined && { otpSms: codes.sms }),
      ...(codes.email !== undefined && { otpEmail: codes.email }),
    },
  }
}

/** The JSON of a value, without undefined members. */
const jsonOf = (value: object): JsonObject => JSON.parse(JSON.stringify(value))

type SessionRequest = Pick<CreateSessionRequest, "checks" | "challenges" | "metadata" | "lifetime">

function changesOf(cx: Cx, id: string, req: SessionRequest): SessionChanges {
  const { checks, challenges, metadata, lifetime } = req
  const { metadata: before } = cx.store.state(cx, session, id)
  return {
    ...(checks ? checksOf(cx, checks) : { proofs: [] }),
    challenges: challengesOf(challenges),
    metadata: parseMetadata(before, metadata),
    lifetimeSeconds: lifetime && parseLifetime(secondsOf(lifetime)),
  }
}

function checksOf(
  cx: Cx,
  checks: Checks,
): Pick<SessionChanges, "user" | "password" | "proofs" | "intent"> {
  const { user: userReference, password } = checks
  if (password?.password === "")
    throw fieldError("request.field_invalid", "password", "is required")
  const { webAuthN, totp, otpSms, otpEmail, recoveryCode } = checks
  const assertion = webAuthN && JSON.stringify(webAuthN.credentialAssertionData ?? {})
  const proofs = [
    { kind: "totp", given: totp?.code },
    { kind: "otp_sms", given: otpSms?.code },
    { kind: "otp_email", given: otpEmail?.code },
    { kind: "recovery_code", given: recoveryCode?.code },
    { kind: "webauthn", given: assertion },
  ] as const
  const { idpIntent } = checks
  return {
    ...(idpIntent && {
      intent: checkIntent(cx, idpIntent.idpIntentId, idpIntent.idpIntentToken),
    }),
    user: userReference && userReferenceOf(userReference.search),
    password: password?.password,
    proofs: proofs.flatMap(({ kind, given }) => (given === undefined ? [] : [{ kind, given }])),
  }
}

function challengesOf(requested: RequestChallenges | undefined): SessionChanges["challenges"] {
  const { webAuthN, otpSms, otpEmail } = requested ?? {}
  const delivery = otpEmail?.deliveryType
  const urlTemplate = delivery?.case === "sendCode" ? delivery.value.urlTemplate : undefined
  const email = { isReturned: delivery?.case === "returnCode", urlTemplate }
  return {
    ...(webAuthN && { key: keyChallengeOf(webAuthN) }),
    codes: [
      ...(otpSms ? [{ channel: "sms", isReturned: otpSms.returnCode } as const] : []),
      ...(otpEmail ? [{ channel: "email", ...email } as const] : []),
    ],
  }
}

function keyChallengeOf({ domain, userVerificationRequirement }: RequestChallenges_WebAuthN) {
  const userVerification = verifications[userVerificationRequirement]
  if (userVerification) return { domain, userVerification }
  throw fieldError("request.field_invalid", "user_verification_requirement", "is required")
}

const verifications: Readonly<Record<number, UserVerification>> = {
  [UserVerificationRequirement.REQUIRED]: "required",
  [UserVerificationRequirement.PREFERRED]: "preferred",
  [UserVerificationRequirement.DISCOURAGED]: "discouraged",
}

function userReferenceOf({
  case: searchCase,
  value,
}: NonNullable<Checks["user"]>["search"]): UserReference {
  const text = value?.trim() ?? ""
  if (text === "" || text.length > 200) {
    throw fieldError("request.field_invalid", searchCase ?? "user", "must have 1 to 200 characters")
  }
  return searchCase === "userId" ? { userId: text } : { loginName: text }
}

const userAgentOf = (message: UserAgentMessage | undefined): UserAgent => {
  const { fingerprintId, ip, description, header = {} } = message ?? {}
  const values = Object.entries(header).map(([name, each]) => [name, each.values] as const)
  return parseUserAgent({
    ...(fingerprintId !== undefined && { fingerprintId }),
    ...(ip && { ip }),
    ...(description !== undefined && { description }),
    header: Object.fromEntries(values),
  })
}

const secondsOf = ({ seconds, nanos }: Duration): number => Number(seconds) + nanos / 1e9
