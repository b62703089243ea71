import { share } from "../../../api/method.ts"
import type { SetHumanEmail, SetHumanPhone } from "../../../gen/core/user/v2/user_pb.ts"
import {
  type SetEmailRequest,
  type SetPhoneRequest,
  UserService,
} from "../../../gen/core/user/v2/user_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { details } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { codeOf, createCode, mustBeModest } from "../../credential/index.ts"
import type { CodeOf } from "../../lockout/index.ts"
import { user } from "../../user-model/index.ts"
import { changeUser, removePhone, requestCode, verifyContact } from "../contact.ts"
import type { NewContact } from "../create.ts"
import { mustOutrank } from "../outrank.ts"

/** The addresses of people, and the codes that prove whose they are. */
export const v2contact = share<Cx>()(UserService, {
  setEmail: (req, cx) => set(cx, "email", req),
  setPhone: (req, cx) => set(cx, "phone", req),
  removePhone: async ({ userId }, cx) => ({ details: details(await removePhone(cx, userId)) }),
  resendEmailCode: (req, cx) => request(cx, "email", req),
  sendEmailCode: (req, cx) => request(cx, "email", req),
  resendPhoneCode: (req, cx) => request(cx, "phone", req),
  verifyEmail: (req, cx) => verify(cx, "email", req),
  verifyPhone: (req, cx) => verify(cx, "phone", req),
})

/** How an address is to be verified, as any request says it. */
type Verification = SetHumanEmail["verification"] | SetHumanPhone["verification"]

async function set(cx: Cx, of: CodeOf, req: SetEmailRequest | SetPhoneRequest) {
  const { userId, verification } = req
  const value = "email" in req ? req.email : req.phone
  const given = notOneself(cx, userId, contact(cx, userId, { of, value, verification }))
  const step = await cx.store.transact(cx, (tx) => {
    changeUser(tx, userId, { human: { [of]: given } })
    return codeOf(tx.state(user, userId), of)?.sealed === given.code?.sealed
  })
  return {
    details: details(step.receipt(user, userId)),
    ...(step.value && given.code?.returned ? { verificationCode: given.code.plain } : {}),
  }
}

async function request(
  cx: Cx,
  of: CodeOf,
  { userId, verification }: { readonly userId: string; readonly verification: Verification },
) {
  const asked = contact(cx, userId, { of, value: "", verification })
  const { code } = notOneself(cx, userId, asked)
  if (!code) throw new Fault("invalid_argument", "user.code_unwanted", "say where the code goes")
  if (code.returned) mustOutrank(cx, userId)
  const receipt = await requestCode(cx, userId, { of, code })
  return {
    details: details(receipt),
    ...(code.returned ? { verificationCode: code.plain } : {}),
  }
}

async function verify(
  cx: Cx,
  of: CodeOf,
  {
    userId,
    verificationCode: code,
  }: { readonly userId: string; readonly verificationCode: string },
) {
  return { details: details(await verifyContact(cx, userId, { of, code })) }
}

type Contact = {
  readonly of: CodeOf
  /** Empty for what the user has. */
  readonly value: string
  readonly verification: Verification
  /** Of somebody new. */
  readonly orgId?: string
}

/** Without a word a code is sent. */
export function contact(cx: Cx, id: string, asked: Contact): NewContact {
  const { of, value, verification, orgId } = asked
  if (verification.case === "isVerified") return { value, verified: verification.value }
  const returned = verification.case === "returnCode"
  const urlTemplate = urlTemplateIn(verification)
  const channel = of === "phone" ? "sms" : "email"
  const recipient = { channel, address: value, ...(orgId !== undefined && { orgId }) } as const
  const code = createCode(cx, id, { of, returned, urlTemplate, recipient })
  return { value, verified: false, code }
}

const urlTemplateIn = ({ case: how, value }: Verification): string =>
  how === "sendCode" && "urlTemplate" in value ? (value.urlTemplate ?? "") : ""

/** Nobody vouches for their own address, whatever they may do to others'. */
export function notOneself(cx: Cx, id: string, given: NewContact): NewContact {
  // A code in one's own hands, which is refused, too, would prove as little.
  if (given.verified) mustBeModest(cx, id, { returned: true, urlTemplate: "" })
  if (given.code) mustBeModest(cx, id, given.code)
  return given
}
