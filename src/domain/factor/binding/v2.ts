import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf"
import { bindHandlers } from "../../../api/method.ts"
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
import { toDetails, toTimestamp, valueOfEnum } from "../../../protocol/api/response.ts"
import type { Cx, Receipt } from "../../../store/index.ts"
import { requireInstance } from "../../instance/index.ts"
import { isAbsent, linksOf, user } from "../../user-model/index.ts"
import { beginKey, finishKey, removeKey, renamePasskey } from "../key/key.ts"
import { createPasskeyLink } from "../key/link.ts"
import { addOtp, removeOtp } from "../otp.ts"
import {
  isHuman,
  keysOf,
  type ListedFactor,
  listedFactors,
  type OwnKey,
  remainingRecoveryCodes,
  secondFactorsOf,
} from "../ready.ts"
import { generateRecoveryCodes, removeRecoveryCodes } from "../recovery-code.ts"
import { skipFactors } from "../skip.ts"
import { registerTotp, removeTotp, verifyTotp } from "../totp.ts"

/** Operations on second factors and passkeys of users. */
export const v2factor = bindHandlers<Cx>()(UserService, {
  registerTOTP: async ({ userId }, cx) => {
    const { receipt, uri, secret } = await registerTotp(cx, userId, totpLabelOf(cx, userId))
    return { details: toDetails(receipt), uri, secret }
  },
  verifyTOTPRegistration: async ({ userId, code }, cx) =>
    changeResponse(await verifyTotp(cx, userId, code)),
  removeTOTP: async ({ userId }, cx) => changeResponse(await removeTotp(cx, userId)),
  addOTPEmail: async ({ userId }, cx) => changeResponse(await addOtp(cx, userId, "email")),
  removeOTPEmail: async ({ userId }, cx) => changeResponse(await removeOtp(cx, userId, "email")),
  addOTPSMS: async ({ userId }, cx) => changeResponse(await addOtp(cx, userId, "sms")),
  removeOTPSMS: async ({ userId }, cx) => changeResponse(await removeOtp(cx, userId, "sms")),
  generateRecoveryCodes: async ({ userId, count }, cx) => {
    const { receipt, codes } = await generateRecoveryCodes(cx, userId, count || undefined)
    return { details: toDetails(receipt), recoveryCodes: [...codes] }
  },
  removeRecoveryCodes: async ({ userId }, cx) =>
    changeResponse(await removeRecoveryCodes(cx, userId)),
  registerU2F: async ({ userId, domain }, cx) => {
    const { receipt, tokenId, options } = await beginKey(cx, userId, { kind: "u2f", domain })
    return {
      details: toDetails(receipt),
      u2fId: tokenId,
      publicKeyCredentialCreationOptions: toPublicKeyOptions(options),
    }
  },
  verifyU2FRegistration: async ({ userId, u2fId, publicKeyCredential, tokenName }, cx) => {
    const input = { kind: "u2f", tokenId: u2fId, name: tokenName } as const
    return changeResponse(
      await finishKey(cx, userId, { ...input, credential: publicKeyCredential }),
    )
  },
  removeU2F: async ({ userId, u2fId: tokenId }, cx) =>
    changeResponse(await removeKey(cx, userId, { kind: "u2f", tokenId })),
  registerPasskey: (req, cx) => registerPasskey(cx, req),
  verifyPasskeyRegistration: async (req, cx) => {
    const { userId, passkeyId: tokenId, passkeyName: name, publicKeyCredential: credential } = req
    return changeResponse(
      await finishKey(cx, userId, { kind: "passkey", tokenId, name, credential }),
    )
  },
  createPasskeyRegistrationLink: (req, cx) => createRegistrationLink(cx, req),
  listPasskeys: ({ userId }, cx) => {
    const keys = keysOf(cx.store.state(cx, user, userId), "passkey")
    return { details: listDetails(cx, keys.length), result: keys.map(toKey) }
  },
  renamePasskey: async ({ userId, passkeyId: tokenId, name }, cx) =>
    changeResponse(await renamePasskey(cx, userId, { tokenId, name })),
  removePasskey: async ({ userId, passkeyId: tokenId }, cx) =>
    changeResponse(await removeKey(cx, userId, { kind: "passkey", tokenId })),
  listAuthenticationMethodTypes: (req, cx) => listAuthenticationMethods(cx, req),
  listAuthenticationFactors: (req, cx) => ({ result: listFactors(cx, req) }),
  humanMFAInitSkipped: async ({ userId }, cx) => changeResponse(await skipFactors(cx, userId)),
})

const changeResponse = (receipt: Receipt) => ({ details: toDetails(receipt) })

/** The issuer and account name that an authenticator app shows. */
export function totpLabelOf(cx: Cx, userId: string) {
  const state = cx.store.state(cx, user, userId)
  const label = isAbsent(state) ? "" : state.userName
  return { issuer: new URL(requireInstance(cx).publicUrl).hostname, label }
}

/** Wraps the options for the browser in a Struct message (WebAuthn §5.1). */
export const toPublicKeyOptions = (options: object): JsonObject =>
  JSON.parse(JSON.stringify({ publicKey: options }))

async function registerPasskey(cx: Cx, req: RegisterPasskeyRequest) {
  const { userId, domain, code, authenticator } = req
  const attachment = valueOfEnum(attachments, authenticator)
  const link = code && { codeId: code.id, code: code.code }
  const registration = await beginKey(cx, userId, {
    kind: "passkey",
    domain,
    link,
    attachment: attachment === "any" ? undefined : attachment,
  })
  return {
    details: toDetails(registration.receipt),
    passkeyId: registration.tokenId,
    publicKeyCredentialCreationOptions: toPublicKeyOptions(registration.options),
  }
}

const attachments: Readonly<Record<number, "any" | "platform" | "cross-platform">> = {
  [PasskeyAuthenticator.UNSPECIFIED]: "any",
  [PasskeyAuthenticator.PLATFORM]: "platform",
  [PasskeyAuthenticator.CROSS_PLATFORM]: "cross-platform",
}

async function createRegistrationLink(
  cx: Cx,
  { userId, medium }: CreatePasskeyRegistrationLinkRequest,
) {
  const returned = medium.case === "returnCode"
  const urlTemplate = (medium.case === "sendLink" && medium.value.urlTemplate) || ""
  const {
    codeId: id,
    code,
    receipt,
  } = await createPasskeyLink(cx, userId, { returned, urlTemplate })
  return { details: toDetails(receipt), ...(returned && { code: { id, code } }) }
}

const listDetails = (cx: Cx, total: number) => ({
  totalResult: BigInt(total),
  processedSequence: BigInt(cx.store.log.durable()),
  timestamp: toTimestamp(cx.clock.now()),
})

const toKey = ({ id, name, ...key }: OwnKey) => ({
  id,
  name,
  ...keyDates(key),
  state: AuthFactorState.READY,
})

/** When a key was registered and last used, in the format of both versions. */
export const keyDates = ({ created, used }: Pick<OwnKey, "created" | "used">) => ({
  creationDate: toTimestamp(created),
  ...(used !== undefined && { lastUsedDate: toTimestamp(used) }),
})

function listAuthenticationMethods(
  cx: Cx,
  { userId, domainQuery }: ListAuthenticationMethodTypesRequest,
) {
  const state = cx.store.state(cx, user, userId)
  const { domain = "" } = domainQuery ?? {}
  const hasKey = (kind: "passkey" | "u2f") =>
    keysOf(state, kind).some(({ rpId }) => domain === "" || rpId === domain)
  const has = secondFactorsOf(state)
  const methods = [
    [isHuman(state) && state.password !== null, AuthenticationMethodType.PASSWORD],
    [hasKey("passkey"), AuthenticationMethodType.PASSKEY],
    [linksOf(state).length > 0, AuthenticationMethodType.IDP],
    [has.includes("otp"), AuthenticationMethodType.TOTP],
    [hasKey("u2f"), AuthenticationMethodType.U2F],
    [has.includes("otp_sms"), AuthenticationMethodType.OTP_SMS],
    [has.includes("otp_email"), AuthenticationMethodType.OTP_EMAIL],
    [has.includes("recovery_codes"), AuthenticationMethodType.RECOVERY_CODE],
  ] as const
  const authMethodTypes = methods.flatMap(([isSetUp, type]) => (isSetUp ? [type] : []))
  const left = remainingRecoveryCodes(state)
  return {
    details: listDetails(cx, authMethodTypes.length),
    authMethodTypes,
    ...(left !== undefined && { recoveryCodesLeft: left }),
  }
}

/** Lists ready factors of every kind by default. */
function listFactors(
  cx: Cx,
  { userId, states, authFactors }: ListAuthenticationFactorsRequest,
): MessageInitShape<typeof AuthFactorSchema>[] {
  const { READY, NOT_READY } = AuthFactorState
  const includedStates = states.length > 0 ? states : [READY]
  return listedFactors(cx.store.state(cx, user, userId))
    .filter(({ kind }) => authFactors.length === 0 || authFactors.includes(kinds[kind]))
    .map((each) => ({ state: each.isReady ? READY : NOT_READY, type: factorType(each) }))
    .filter(({ state }) => includedStates.includes(state))
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

/** The factor in the format of both versions. */
export function factorType({ kind, id, name, key }: ListedFactor): FactorType {
  if (kind !== "u2f") return { case: kind, value: {} }
  return { case: kind, value: { id, name, ...(key && keyDates(key)) } }
}
