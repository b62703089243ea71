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
import { details } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import type { UserVerification } from "../../factor/index.ts"
import { intentChecked } from "../../federation/index.ts"
import { user } from "../../user-model/index.ts"
import { type Asked, type Changed, createSession, type Named, setSession } from "../check/change.ts"
import { givenLifetime, givenMetadata, givenUserAgent } from "../check/given.ts"
import { session, type UserAgent } from "../model.ts"

/** What a login page of one's own asks. */
export const check = {
  create: async (cx: Cx, req: CreateSessionRequest) => {
    const userAgent = userAgentOf(req.userAgent)
    const changed = await createSession(cx, { ...askedOf(cx, "", req), userAgent })
    return { ...answerOf(cx, changed), sessionId: changed.id }
  },
  set: async (cx: Cx, req: SetSessionRequest) => {
    const changed = await setSession(cx, req.sessionId, askedOf(cx, req.sessionId, req))
    return answerOf(cx, changed)
  },
}

function answerOf(cx: Cx, { id, token, receipt, told }: Changed) {
  const { userId } = cx.store.state(cx, session, id)
  const owner = cx.store.receipt(cx, user, userId)?.owner ?? receipt.owner
  const { key, codes } = told
  const options = key && { publicKeyCredentialRequestOptions: jsonOf({ publicKey: key }) }
  return {
    details: details({ ...receipt, owner }),
    sessionToken: token,
    challenges: {
      ...(options && { webAuthN: options }),
      ...(codes.sms !== undefined && { otpSms: codes.sms }),
      ...(codes.email !== undefined && { otpEmail: codes.email }),
    },
  }
}

/** As a message carries it: without what is not there. */
const jsonOf = (value: object): JsonObject => JSON.parse(JSON.stringify(value))

type Request = Pick<CreateSessionRequest, "checks" | "challenges" | "metadata" | "lifetime">

function askedOf(cx: Cx, id: string, req: Request): Asked {
  const { checks, challenges, metadata, lifetime } = req
  const { metadata: before } = cx.store.state(cx, session, id)
  return {
    ...(checks ? checksOf(cx, checks) : { proofs: [] }),
    challenges: challengesOf(challenges),
    metadata: givenMetadata(before, metadata),
    lifetimeSeconds: lifetime && givenLifetime(secondsOf(lifetime)),
  }
}

function checksOf(cx: Cx, checks: Checks): Pick<Asked, "user" | "password" | "proofs" | "intent"> {
  const { user: named, password } = checks
  if (password?.password === "") throw fieldError("request.field_invalid", "password", "is missing")
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
      intent: intentChecked(cx, idpIntent.idpIntentId, idpIntent.idpIntentToken),
    }),
    user: named && namedBy(named.search),
    password: password?.password,
    proofs: proofs.flatMap(({ kind, given }) => (given === undefined ? [] : [{ kind, given }])),
  }
}

function challengesOf(wanted: RequestChallenges | undefined): Asked["challenges"] {
  const { webAuthN, otpSms, otpEmail } = wanted ?? {}
  const delivery = otpEmail?.deliveryType
  const urlTemplate = delivery?.case === "sendCode" ? delivery.value.urlTemplate : undefined
  const email = { isReturned: delivery?.case === "returnCode", urlTemplate }
  return {
    ...(webAuthN && { key: keyAsked(webAuthN) }),
    codes: [
      ...(otpSms ? [{ channel: "sms", isReturned: otpSms.returnCode } as const] : []),
      ...(otpEmail ? [{ channel: "email", ...email } as const] : []),
    ],
  }
}

function keyAsked({ domain, userVerificationRequirement }: RequestChallenges_WebAuthN) {
  const userVerification = verifications[userVerificationRequirement]
  if (userVerification) return { domain, userVerification }
  throw fieldError("request.field_invalid", "user_verification_requirement", "is missing")
}

const verifications: Readonly<Record<number, UserVerification>> = {
  [UserVerificationRequirement.REQUIRED]: "required",
  [UserVerificationRequirement.PREFERRED]: "preferred",
  [UserVerificationRequirement.DISCOURAGED]: "discouraged",
}

function namedBy({ case: how, value }: NonNullable<Checks["user"]>["search"]): Named {
  const text = value?.trim() ?? ""
  if (text === "" || text.length > 200) {
    throw fieldError("request.field_invalid", how ?? "user", "must have 1 to 200 characters")
  }
  return how === "userId" ? { userId: text } : { loginName: text }
}

const userAgentOf = (given: UserAgentMessage | undefined): UserAgent => {
  const { fingerprintId, ip, description, header = {} } = given ?? {}
  const values = Object.entries(header).map(([name, each]) => [name, each.values] as const)
  return givenUserAgent({
    ...(fingerprintId !== undefined && { fingerprintId }),
    ...(ip && { ip }),
    ...(description !== undefined && { description }),
    header: Object.fromEntries(values),
  })
}

const secondsOf = ({ seconds, nanos }: Duration): number => Number(seconds) + nanos / 1e9
