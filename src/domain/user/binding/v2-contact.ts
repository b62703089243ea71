import { bindHandlers } from "../../../api/method.ts"
import type { SetHumanEmail, SetHumanPhone } from "../../../gen/core/user/v2/user_pb.ts"
import {
  type SetEmailRequest,
  type SetPhoneRequest,
  UserService,
} from "../../../gen/core/user/v2/user_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { toDetails } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { codeOf, createCode, requireSafeDelivery } from "../../credential/index.ts"
import type { ContactKind } from "../../lockout/index.ts"
import { user } from "../../user-model/index.ts"
import { changeUser, removePhone, requestCode, verifyContact } from "../contact.ts"
import type { NewContact } from "../create.ts"
import { requireHigherRank } from "../require-higher-rank.ts"

/** Operations on email addresses and phone numbers, and the codes that verify them. */
export const v2contact = bindHandlers<Cx>()(UserService, {
  setEmail: (req, cx) => setContact(cx, "email", req),
  setPhone: (req, cx) => setContact(cx, "phone", req),
  removePhone: async ({ userId }, cx) => ({ details: toDetails(await removePhone(cx, userId)) }),
  resendEmailCode: (req, cx) => requestNewCode(cx, "email", req),
  sendEmailCode: (req, cx) => requestNewCode(cx, "email", req),
  resendPhoneCode: (req, cx) => requestNewCode(cx, "phone", req),
  verifyEmail: (req, cx) => verifyWithCode(cx, "email", req),
  verifyPhone: (req, cx) => verifyWithCode(cx, "phone", req),
})

/** How an address is verified, according to the request. */
type Verification = SetHumanEmail["verification"] | SetHumanPhone["verification"]

async function setContact(cx: Cx, of: ContactKind, req: SetEmailRequest | SetPhoneRequest) {
  const { userId, verification } = req
  const value = "email" in req ? req.email : req.phone
  const contactValue = requireVerifiable(
    cx,
    userId,
    newContact(cx, userId, { of, value, verification }),
  )
  const step = await cx.store.transact(cx, (tx) => {
    changeUser(tx, userId, { human: { [of]: contactValue } })
    return codeOf(tx.state(user, userId), of)?.sealed === contactValue.code?.sealed
  })
  return {
    details: toDetails(step.receipt(user, userId)),
    ...(step.value && contactValue.code?.returned
      ? { verificationCode: contactValue.code.plain }
      : {}),
  }
}

async function requestNewCode(
  cx: Cx,
  of: ContactKind,
  { userId, verification }: { readonly userId: string; readonly verification: Verification },
) {
  const input = newContact(cx, userId, { of, value: "", verification })
  const { code } = requireVerifiable(cx, userId, input)
  if (!code)
    throw new Fault(
      "invalid_argument",
      "user.code_unwanted",
      "verification is required: send_code or return_code",
    )
  if (code.returned) requireHigherRank(cx, userId)
  const receipt = await requestCode(cx, userId, { of, code })
  return {
    details: toDetails(receipt),
    ...(code.returned ? { verificationCode: code.plain } : {}),
  }
}

async function verifyWithCode(
  cx: Cx,
  of: ContactKind,
  {
    userId,
    verificationCode: code,
  }: { readonly userId: string; readonly verificationCode: string },
) {
  return { details: toDetails(await verifyContact(cx, userId, { of, code })) }
}

type ContactInput = {
  readonly of: ContactKind
  /** Empty for the current address. */
  readonly value: string
  readonly verification: Verification
  /** Organization of a new user. */
  readonly orgId?: string
}

/** Sends a code by default. */
export function newContact(cx: Cx, id: string, input: ContactInput): NewContact {
  const { of, value, verification, orgId } = input
  if (verification.case === "isVerified") return { value, verified: verification.value }
  const returned = verification.case === "returnCode"
  const urlTemplate = urlTemplateOf(verification)
  const channel = of === "phone" ? "sms" : "email"
  const recipient = { channel, address: value, ...(orgId !== undefined && { orgId }) } as const
  const code = createCode(cx, id, { of, returned, urlTemplate, recipient })
  return { value, verified: false, code }
}

const urlTemplateOf = ({ case: verificationCase, value }: Verification): string =>
  verificationCase === "sendCode" && "urlTemplate" in value ? (value.urlTemplate ?? "") : ""

/** Rejects users who mark their own address as verified, regardless of their permissions. */
export function requireVerifiable(cx: Cx, id: string, contactValue: NewContact): NewContact {
  // A code that is returned to the user would prove as little.
  if (contactValue.verified) requireSafeDelivery(cx, id, { returned: true, urlTemplate: "" })
  if (contactValue.code) requireSafeDelivery(cx, id, contactValue.code)
  return contactValue
}
