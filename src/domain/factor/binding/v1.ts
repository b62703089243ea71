import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../../api/method.ts"
import { AuthService } from "../../../gen/core/auth/v1/auth_service_pb.ts"
import { AuthFactorState, type WebAuthNVerification } from "../../../gen/core/user/v1/user_pb.ts"
import { requireUserId } from "../../../kernel/context.ts"
import { Fault } from "../../../kernel/fault.ts"
import { toDetails } from "../../../protocol/api/response.ts"
import type { Cx, Receipt } from "../../../store/index.ts"
import { requireInstance } from "../../instance/index.ts"
import { findHomeOrg, type KeyKind, user } from "../../user-model/index.ts"
import { beginKey, finishKey, removeKey } from "../key/key.ts"
import { createPasskeyLink } from "../key/link.ts"
import { addOtp, removeOtp } from "../otp.ts"
import { findPendingKey, keysOf, listedFactors } from "../ready.ts"
import { registerTotp, removeTotp, verifyTotp } from "../totp.ts"
import { factorType, keyDates, toPublicKeyOptions, totpLabelOf } from "./v2.ts"

/** Operations of callers on their own authentication factors. */
export const selfFactors = bindHandlers<Cx>()(AuthService, {
  listMyAuthFactors: (_, cx) => ({
    result: listedFactors(ownUser(cx)).map((each) => ({
      state: each.isReady ? AuthFactorState.READY : AuthFactorState.NOT_READY,
      type: factorType(each),
    })),
  }),
  addMyAuthFactorOTP: async (_, cx) => {
    const userId = requireUserId(cx)
    const { uri: url, secret, receipt } = await registerTotp(cx, userId, totpLabelOf(cx, userId))
    return { url, secret, details: toDetails(receipt) }
  },
  verifyMyAuthFactorOTP: async ({ code }, cx) =>
    changeResponse(await verifyTotp(cx, requireUserId(cx), code)),
  removeMyAuthFactorOTP: async (_, cx) => changeResponse(await removeTotp(cx, requireUserId(cx))),
  addMyAuthFactorOTPSMS: async (_, cx) =>
    changeResponse(await addOtp(cx, requireUserId(cx), "sms")),
  removeMyAuthFactorOTPSMS: async (_, cx) =>
    changeResponse(await removeOtp(cx, requireUserId(cx), "sms")),
  addMyAuthFactorOTPEmail: async (_, cx) =>
    changeResponse(await addOtp(cx, requireUserId(cx), "email")),
  removeMyAuthFactorOTPEmail: async (_, cx) =>
    changeResponse(await removeOtp(cx, requireUserId(cx), "email")),
  addMyAuthFactorU2F: (_, cx) => beginKeyRegistration(cx, "u2f"),
  verifyMyAuthFactorU2F: ({ verification }, cx) => finishKeyRegistration(cx, "u2f", verification),
  removeMyAuthFactorU2F: ({ tokenId }, cx) => removeOwnKey(cx, "u2f", tokenId),
  listMyPasswordless: (_, cx) => ({
    result: keysOf(ownUser(cx), "passkey").map(({ id, name, ...key }) => ({
      id,
      name,
      ...keyDates(key),
      state: AuthFactorState.READY,
    })),
  }),
  addMyPasswordless: (_, cx) => beginKeyRegistration(cx, "passkey"),
  addMyPasswordlessLink: async (_, cx) => {
    const userId = requireUserId(cx)
    const { codeId, code, expires, receipt } = await createPasskeyLink(cx, userId, {
      returned: true,
    })
    const organization = findHomeOrg(cx, userId)
    const named = new URLSearchParams({ userId, organization, codeId })
    // The code is in the URL fragment, which servers don't log.
    const link = `${requireInstance(cx).publicUrl}/ui/login/passkey/set?${named}#${code}`
    const expiration = durationFromMs(expires - cx.clock.now())
    return { details: toDetails(receipt), link, expiration }
  },
  sendMyPasswordlessLink: async (_, cx) =>
    changeResponse((await createPasskeyLink(cx, requireUserId(cx), { returned: false })).receipt),
  verifyMyPasswordless: ({ verification }, cx) =>
    finishKeyRegistration(cx, "passkey", verification),
  removeMyPasswordless: ({ tokenId }, cx) => removeOwnKey(cx, "passkey", tokenId),
})

const changeResponse = (receipt: Receipt) => ({ details: toDetails(receipt) })

const ownUser = (cx: Cx) => cx.store.state(cx, user, requireUserId(cx))

async function beginKeyRegistration(cx: Cx, kind: KeyKind) {
  const { options, receipt } = await beginKey(cx, requireUserId(cx), { kind })
  const publicKey = Buffer.from(JSON.stringify(toPublicKeyOptions(options)))
  return { key: { publicKey }, details: toDetails(receipt) }
}

/** The request contains only the browser's response; it completes the latest registration. */
async function finishKeyRegistration(
  cx: Cx,
  kind: KeyKind,
  verification: WebAuthNVerification | undefined,
) {
  const tokenId = findPendingKey(ownUser(cx), kind) ?? ""
  const { publicKeyCredential = new Uint8Array(), tokenName: name = "" } = verification ?? {}
  const credential = parseCredential(Buffer.from(publicKeyCredential).toString())
  return changeResponse(await finishKey(cx, requireUserId(cx), { kind, tokenId, name, credential }))
}

const removeOwnKey = async (cx: Cx, kind: KeyKind, tokenId: string) =>
  changeResponse(await removeKey(cx, requireUserId(cx), { kind, tokenId }))

function parseCredential(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Fault(
      "invalid_argument",
      "user.key_wrong",
      "public_key_credential must be the JSON response of the browser",
    )
  }
}
