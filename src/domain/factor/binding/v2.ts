import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf"
import { share } from "../../../api/method.ts"
import {
  type AuthFactorSchema,
  AuthFactorState,
  PasskeyAuthenticator,
} from "../../../gen/core/user/v2/user_pb.ts"
import {
  AuthenticationMethodType,
  AuthFactors,
  type CreatePasskeyRegistrationLinkRequest,
  type ListAuthenticationFactorsRequest,
  type ListAuthenticationMethodTypesRequest,
  type RegisterPasskeyRequest,
  UserService,
} from "../../../gen/core/user/v2/user_service_pb.ts"
import { at, details, meaning } from "../../../protocol/api/answer.ts"
import type { Cx, Receipt } from "../../../store/index.ts"
import { requireInstance } from "../../instance/index.ts"
import { hasLeft, linksOf, user } from "../../user-model/index.ts"
import { beginKey, finishKey, removeKey, renamePasskey } from "../key/key.ts"
import { createPasskeyLink } from "../key/link.ts"
import { addOtp, removeOtp } from "../otp.ts"
import {
  isPerson,
  keysOf,
  type ListedFactor,
  listedFactors,
  type OwnKey,
  recoveryCodesLeft,
  secondFactorsOf,
} from "../ready.ts"
import { generateRecoveryCodes, removeRecoveryCodes } from "../recovery-code.ts"
import { skipFactors } from "../skip.ts"
import { registerTotp, removeTotp, verifyTotp } from "../totp.ts"

/** What people prove themselves with beside their password. */
export const v2factor = share<Cx>()(UserService, {
  registerTOTP: async ({ userId }, cx) => {
    const { receipt, uri, secret } = await registerTotp(cx, userId, labelOf(cx, userId))
    return { details: details(receipt), uri, secret }
  },
  verifyTOTPRegistration: async ({ userId, code }, cx) =>
    changed(await verifyTotp(cx, userId, code)),
  removeTOTP: async ({ userId }, cx) => changed(await removeTotp(cx, userId)),
  addOTPEmail: async ({ userId }, cx) => changed(await addOtp(cx, userId, "email")),
  removeOTPEmail: async ({ userId }, cx) => changed(await removeOtp(cx, userId, "email")),
  addOTPSMS: async ({ userId }, cx) => changed(await addOtp(cx, userId, "sms")),
  removeOTPSMS: async ({ userId }, cx) => changed(await removeOtp(cx, userId, "sms")),
  generateRecoveryCodes: async ({ userId, count }, cx) => {
    const { receipt, codes } = await generateRecoveryCodes(cx, userId, count || undefined)
    return { details: details(receipt), recoveryCodes: [...codes] }
  },
  removeRecoveryCodes: async ({ userId }, cx) => changed(await removeRecoveryCodes(cx, userId)),
  registerU2F: async ({ userId, domain }, cx) => {
    const { receipt, tokenId, options } = await beginKey(cx, userId, { kind: "u2f", domain })
    return {
      details: details(receipt),
      u2fId: tokenId,
      publicKeyCredentialCreationOptions: toJson(options),
    }
  },
  verifyU2FRegistration: async ({ userId, u2fId, publicKeyCredential, tokenName }, cx) => {
    const given = { kind: "u2f", tokenId: u2fId, name: tokenName } as const
    return changed(await finishKey(cx, userId, { ...given, credential: publicKeyCredential }))
  },
  removeU2F: async ({ userId, u2fId: tokenId }, cx) =>
    changed(await removeKey(cx, userId, { kind: "u2f", tokenId })),
  registerPasskey: (req, cx) => registerPasskey(cx, req),
  verifyPasskeyRegistration: async (req, cx) => {
    const { userId, passkeyId: tokenId, passkeyName: name, publicKeyCredential: credential } = req
    return changed(await finishKey(cx, userId, { kind: "passkey", tokenId, name, credential }))
  },
  createPasskeyRegistrationLink: (req, cx) => createLink(cx, req),
  listPasskeys: ({ userId }, cx) => {
    const keys = keysOf(cx.store.state(cx, user, userId), "passkey")
    return { details: listDetails(cx, keys.length), result: keys.map(toKey) }
  },
  renamePasskey: async ({ userId, passkeyId: tokenId, name }, cx) =>
    changed(await renamePasskey(cx, userId, { tokenId, name })),
  removePasskey: async ({ userId, passkeyId: tokenId }, cx) =>
    changed(await removeKey(cx, userId, { kind: "passkey", tokenId })),
  listAuthenticationMethodTypes: (req, cx) => listMethods(cx, req),
  listAuthenticationFactors: (req, cx) => ({ result: listFactors(cx, req) }),
  humanMFAInitSkipped: async ({ userId }, cx) => changed(await skipFactors(cx, userId)),
})

const changed = (receipt: Receipt) => ({ details: details(receipt) })

/** What an authenticator app shows beside its codes. */
export function labelOf(cx: Cx, userId: string) {
  const state = cx.store.state(cx, user, userId)
  const label = hasLeft(state) ? "" : state.userName
  return { issuer: new URL(requireInstance(cx).publicUrl).hostname, label }
}

/** As a message of any structure; what browsers are handed has this form (WebAuthn §5.1). */
export const toJson = (options: object): JsonObject =>
  JSON.parse(JSON.stringify({ publicKey: options }))

async function registerPasskey(cx: Cx, req: RegisterPasskeyRequest) {
  const { userId, domain, code, authenticator } = req
  const attachment = meaning(attachments, authenticator)
  const link = code && { codeId: code.id, code: code.code }
  const begun = await beginKey(cx, userId, {
    kind: "passkey",
    domain,
    link,
    attachment: attachment === "any" ? undefined : attachment,
  })
  return {
    details: details(begun.receipt),
    passkeyId: begun.tokenId,
    publicKeyCredentialCreationOptions: toJson(begun.options),
  }
}

const attachments: Readonly<Record<number, "any" | "platform" | "cross-platform">> = {
  [PasskeyAuthenticator.UNSPECIFIED]: "any",
  [PasskeyAuthenticator.PLATFORM]: "platform",
  [PasskeyAuthenticator.CROSS_PLATFORM]: "cross-platform",
}

async function createLink(cx: Cx, { userId, medium }: CreatePasskeyRegistrationLinkRequest) {
  const returned = medium.case === "returnCode"
  const urlTemplate = (medium.case === "sendLink" && medium.value.urlTemplate) || ""
  const {
    codeId: id,
    code,
    receipt,
  } = await createPasskeyLink(cx, userId, { returned, urlTemplate })
  return { details: details(receipt), ...(returned && { code: { id, code } }) }
}

const listDetails = (cx: Cx, total: number) => ({
  totalResult: BigInt(total),
  processedSequence: BigInt(cx.store.log.durable()),
  timestamp: at(cx.clock.now()),
})

const toKey = ({ id, name, ...key }: OwnKey) => ({
  id,
  name,
  ...keyDates(key),
  state: AuthFactorState.READY,
})

/** When a key was registered and last used; both versions return it in the same form. */
export const keyDates = ({ created, used }: Pick<OwnKey, "created" | "used">) => ({
  creationDate: at(created),
  ...(used !== undefined && { lastUsedDate: at(used) }),
})

function listMethods(cx: Cx, { userId, domainQuery }: ListAuthenticationMethodTypesRequest) {
  const state = cx.store.state(cx, user, userId)
  const { domain = "" } = domainQuery ?? {}
  const isThere = (kind: "passkey" | "u2f") =>
    keysOf(state, kind).some(({ rpId }) => domain === "" || rpId === domain)
  const has = secondFactorsOf(state)
  const methods = [
    [isPerson(state) && state.password !== null, AuthenticationMethodType.PASSWORD],
    [isThere("passkey"), AuthenticationMethodType.PASSKEY],
    [linksOf(state).length > 0, AuthenticationMethodType.IDP],
    [has.includes("otp"), AuthenticationMethodType.TOTP],
    [isThere("u2f"), AuthenticationMethodType.U2F],
    [has.includes("otp_sms"), AuthenticationMethodType.OTP_SMS],
    [has.includes("otp_email"), AuthenticationMethodType.OTP_EMAIL],
    [has.includes("recovery_codes"), AuthenticationMethodType.RECOVERY_CODE],
  ] as const
  const authMethodTypes = methods.flatMap(([isSetUp, type]) => (isSetUp ? [type] : []))
  const left = recoveryCodesLeft(state)
  return {
    details: listDetails(cx, authMethodTypes.length),
    authMethodTypes,
    ...(left !== undefined && { recoveryCodesLeft: left }),
  }
}

/** Without a word those that count, of every kind. */
function listFactors(
  cx: Cx,
  { userId, states, authFactors }: ListAuthenticationFactorsRequest,
): MessageInitShape<typeof AuthFactorSchema>[] {
  const { READY, NOT_READY } = AuthFactorState
  const wanted = states.length > 0 ? states : [READY]
  return listedFactors(cx.store.state(cx, user, userId))
    .filter(({ kind }) => authFactors.length === 0 || authFactors.includes(kinds[kind]))
    .map((each) => ({ state: each.isReady ? READY : NOT_READY, type: factorType(each) }))
    .filter(({ state }) => wanted.includes(state))
}

const kinds: Readonly<Record<ListedFactor["kind"], AuthFactors>> = {
  otp: AuthFactors.OTP,
  otpSms: AuthFactors.OTP_SMS,
  otpEmail: AuthFactors.OTP_EMAIL,
  u2f: AuthFactors.U2F,
}

type Nothing = Record<never, never>
type KeyWithDates = { readonly id: string; readonly name: string } & Partial<
  ReturnType<typeof keyDates>
>
type FactorType =
  | { readonly case: "u2f"; readonly value: KeyWithDates }
  | { readonly case: "otp"; readonly value: Nothing }
  | { readonly case: "otpSms"; readonly value: Nothing }
  | { readonly case: "otpEmail"; readonly value: Nothing }

/** Both versions say it in the same form. */
export function factorType({ kind, id, name, key }: ListedFactor): FactorType {
  if (kind !== "u2f") return { case: kind, value: {} }
  return { case: kind, value: { id, name, ...(key && keyDates(key)) } }
}
