import type { MessageInitShape } from "@bufbuild/protobuf"
import type { FactorsSchema, SessionSchema } from "../../../gen/core/session/v2/session_pb.ts"
import { at } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { profile, shownNames } from "../../user-lookup/index.ts"
import { user } from "../../user-model/index.ts"
import { type Session, type SessionChecks, session } from "../model.ts"

/** A session as it is shown to whoever may look at it; never its token. */
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
      creationDate: at(receipt.created),
      changeDate: at(receipt.changed),
      sequence: BigInt(receipt.version),
    }),
    factors: factorsOf(cx, state),
    metadata: Object.fromEntries(noted),
    userAgent: { fingerprintId: agentId, ...userAgent, header: Object.fromEntries(header) },
    expirationDate: at(state.expires),
  }
}

/** What was checked, and when. */
function factorsOf(cx: Cx, state: Session): MessageInitShape<typeof FactorsSchema> {
  const { userId, checks, userVerified, authTime } = state
  const mailed = checks.otpEmail ?? checks.magicLink
  return {
    ...(userId !== "" && { user: { ...when(checks.user ?? authTime), ...personOf(cx, state) } }),
    // To whoever asks, a link that was mailed is the code in it.
    ...checkedOf({ ...checks, ...(mailed !== undefined && { otpEmail: mailed }) }),
    ...(checks.webAuthN !== undefined && { webAuthN: { ...when(checks.webAuthN), userVerified } }),
  }
}

const plain = ["password", "intent", "totp", "otpSms", "otpEmail", "recoveryCode"] as const

const checkedOf = (checks: SessionChecks) =>
  Object.fromEntries(
    plain.flatMap((kind) => {
      const time = checks[kind]
      return time === undefined ? [] : [[kind, when(time)]]
    }),
  )

const when = (time: number) => ({ verifiedAt: at(time) })

/** A name that is nobody's looks as it was typed. */
function personOf(cx: Cx, { userId: id, loginName }: Session) {
  const person = profile(cx, id)
  if (!person) return { loginName, displayName: loginName }
  const organizationId = cx.store.receipt(cx, user, id)?.owner ?? ""
  const { preferredLoginName } = shownNames(cx, { user_name: person.userName, org: organizationId })
  return { id, loginName: preferredLoginName, displayName: person.name, organizationId }
}
