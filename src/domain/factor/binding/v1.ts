import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../../api/method.ts"
import { AuthService } from "../../../gen/core/auth/v1/auth_service_pb.ts"
import { AuthFactorState, type WebAuthNVerification } from "../../../gen/core/user/v1/user_pb.ts"
import { callerOf } from "../../../kernel/context.ts"
import { Fault } from "../../../kernel/fault.ts"
import { details } from "../../../protocol/api/answer.ts"
import type { Cx, Receipt } from "../../../store/index.ts"
import { requireInstance } from "../../instance/index.ts"
import { homeOf, type KeyKind, user } from "../../user-model/index.ts"
import { beginKey, finishKey, removeKey } from "../key/key.ts"
import { createPasskeyLink } from "../key/link.ts"
import { addOtp, removeOtp } from "../otp.ts"
import { keysOf, listedFactors, pendingKey } from "../ready.ts"
import { registerTotp, removeTotp, verifyTotp } from "../totp.ts"
import { factorType, keyDates, labelOf, toJson } from "./v2.ts"

/** What callers prove themselves with. */
export const selfFactors = share<Cx>()(AuthService, {
  listMyAuthFactors: (_, cx) => ({
    result: listedFactors(me(cx)).map((each) => ({
      state: each.isReady ? AuthFactorState.READY : AuthFactorState.NOT_READY,
      type: factorType(each),
    })),
  }),
  addMyAuthFactorOTP: async (_, cx) => {
    const userId = callerOf(cx)
    const { uri: url, secret, receipt } = await registerTotp(cx, userId, labelOf(cx, userId))
    return { url, secret, details: details(receipt) }
  },
  verifyMyAuthFactorOTP: async ({ code }, cx) => changed(await verifyTotp(cx, callerOf(cx), code)),
  removeMyAuthFactorOTP: async (_, cx) => changed(await removeTotp(cx, callerOf(cx))),
  addMyAuthFactorOTPSMS: async (_, cx) => changed(await addOtp(cx, callerOf(cx), "sms")),
  removeMyAuthFactorOTPSMS: async (_, cx) => changed(await removeOtp(cx, callerOf(cx), "sms")),
  addMyAuthFactorOTPEmail: async (_, cx) => changed(await addOtp(cx, callerOf(cx), "email")),
  removeMyAuthFactorOTPEmail: async (_, cx) => changed(await removeOtp(cx, callerOf(cx), "email")),
  addMyAuthFactorU2F: (_, cx) => begin(cx, "u2f"),
  verifyMyAuthFactorU2F: ({ verification }, cx) => finish(cx, "u2f", verification),
  removeMyAuthFactorU2F: ({ tokenId }, cx) => remove(cx, "u2f", tokenId),
  listMyPasswordless: (_, cx) => ({
    result: keysOf(me(cx), "passkey").map(({ id, name, ...key }) => ({
      id,
      name,
      ...keyDates(key),
      state: AuthFactorState.READY,
    })),
  }),
  addMyPasswordless: (_, cx) => begin(cx, "passkey"),
  addMyPasswordlessLink: async (_, cx) => {
    const userId = callerOf(cx)
    const { codeId, code, expires, receipt } = await createPasskeyLink(cx, userId, {
      returned: true,
    })
    const organization = homeOf(cx, userId)
    const named = new URLSearchParams({ userId, organization, codeId })
    // The code stands behind the #, which no log keeps.
    const link = `${requireInstance(cx).publicUrl}/ui/login/passkey/set?${named}#${code}`
    const expiration = durationFromMs(expires - cx.clock.now())
    return { details: details(receipt), link, expiration }
  },
  sendMyPasswordlessLink: async (_, cx) =>
    changed((await createPasskeyLink(cx, callerOf(cx), { returned: false })).receipt),
  verifyMyPasswordless: ({ verification }, cx) => finish(cx, "passkey", verification),
  removeMyPasswordless: ({ tokenId }, cx) => remove(cx, "passkey", tokenId),
})

const changed = (receipt: Receipt) => ({ details: details(receipt) })

const me = (cx: Cx) => cx.store.state(cx, user, callerOf(cx))

async function begin(cx: Cx, kind: KeyKind) {
  const { options, receipt } = await beginKey(cx, callerOf(cx), { kind })
  const publicKey = Buffer.from(JSON.stringify(toJson(options)))
  return { key: { publicKey }, details: details(receipt) }
}

/** It says no more than what the browser has answered: what was begun last is meant. */
async function finish(cx: Cx, kind: KeyKind, verification: WebAuthNVerification | undefined) {
  const tokenId = pendingKey(me(cx), kind) ?? ""
  const { publicKeyCredential = new Uint8Array(), tokenName: name = "" } = verification ?? {}
  const credential = jsonOf(Buffer.from(publicKeyCredential).toString())
  return changed(await finishKey(cx, callerOf(cx), { kind, tokenId, name, credential }))
}

const remove = async (cx: Cx, kind: KeyKind, tokenId: string) =>
  changed(await removeKey(cx, callerOf(cx), { kind, tokenId }))

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Fault(
      "invalid_argument",
      "user.key_wrong",
      "public_key_credential is the JSON that the browser has answered",
    )
  }
}
