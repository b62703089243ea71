import { Fault, fieldError } from "../../kernel/fault.ts"
import { loadOnce } from "../../kernel/lazy.ts"
import { withoutSeparators } from "../../kernel/text/typed-code.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../store/index.ts"
import {
  countFactorFailure,
  isStepUsed,
  recordFactorSuccess,
  requireFactorAllowed,
  stepWindow,
} from "../lockout/index.ts"
import { factorsOf, type UserEvent, user } from "../user-model/index.ts"
import type { FactorCheck, FactorDecision } from "./proof.ts"
import { isHuman, ownSession, requireHuman } from "./ready.ts"

const loadOtp = loadOnce(() => import("otpauth"))

/** RFC 4226 §4: at least 128 bits, 160 recommended. */
const secretBytes = 20
const periodSeconds = 30

/** A new secret for an authenticator app; returned only once. */
export type NewTotp = {
  /** Key URI, `otpauth://totp/…`, for a QR code. */
  readonly uri: string
  /** The secret in base32, for manual entry. */
  readonly secret: string
  readonly receipt: Receipt
}

/**
 * Creates a secret for an authenticator app. It becomes active after a code is verified, and
 * replaces a pending one. Rejects if an authenticator app is already verified.
 */
export async function registerTotp(
  cx: Cx,
  userId: string,
  { issuer, label }: { readonly issuer: string; readonly label: string },
): Promise<NewTotp> {
  const { TOTP, Secret } = await loadOtp()
  const secret = new Secret({ buffer: cx.random.bytes(secretBytes).slice().buffer })
  const receipt = await addTotp(
    cx,
    userId,
    cx.secrets.seal("seal", secret.base32, totpContext(userId)),
  )
  const uri = new TOTP({ issuer, label, secret, period: periodSeconds }).toString()
  return { uri, secret: secret.base32, receipt }
}

const addTotp = user.command<string>((state, sealed) => {
  const { totp } = factorsOf(requireHuman(state))
  if (totp?.verified) {
    throw new Fault(
      "already_exists",
      "user.totp_exists",
      "an authenticator app is already set up; remove it first",
    )
  }
  return [{ type: addedType, data: {}, private: { sealed }, erase: { types: [addedType] } }]
})

const addedType = "user.human.mfa.otp.added"

/** RFC 4648 §6, at least 80 bits, which other services use. */
const base32 = /^[A-Z2-7]{16,128}=*$/

/**
 * Imports the verified secret of an authenticator app within a transaction; it is active
 * immediately. Rejects text that is not base32.
 */
export function importTotp(tx: Transaction, userId: string, secret: string): void {
  const plain = secret.replace(/\s/g, "").toUpperCase()
  if (!base32.test(plain)) {
    throw fieldError(
      "user.totp_invalid",
      "otp_code",
      "totp_secret must be base32, 16 to 128 characters",
    )
  }
  addTotp.within(tx, userId, tx.secrets.seal("seal", plain, totpContext(userId)))
  tx.append(user, userId, [{ type: "user.human.mfa.otp.verified", data: {} }])
}

/** The base32 secret of the verified authenticator app, or undefined. */
export function totpSecret(cx: Cx, userId: string): string | undefined {
  const state = cx.store.state(cx, user, userId)
  const totp = isHuman(state) ? factorsOf(state).totp : undefined
  return totp?.verified ? cx.secrets.open("seal", totp.sealed, totpContext(userId)) : undefined
}

/** The base32 secret of an authenticator app that is being set up, or undefined. */
export function pendingTotp(cx: Cx, userId: string): string | undefined {
  const state = cx.store.state(cx, user, userId)
  const totp = isHuman(state) ? factorsOf(state).totp : undefined
  if (!totp || totp.verified) return undefined
  return cx.secrets.open("seal", totp.sealed, totpContext(userId))
}

/** The key URI of a secret. */
export async function totpUri(
  secret: string,
  { issuer, label }: { readonly issuer: string; readonly label: string },
): Promise<string> {
  const { TOTP } = await loadOtp()
  return new TOTP({ issuer, label, secret, period: periodSeconds }).toString()
}

/**
 * Verifies a code and activates the authenticator app, within a transaction; a wrong code is
 * counted. Rejects if no app is being set up.
 */
export async function prepareTotpVerification(
  cx: Cx,
  userId: string,
  code: string,
): Promise<FactorDecision> {
  const step = findTimeStep(cx, userId, code, await loadOtp())
  return (tx) => {
    const { totp } = factorsOf(requireHuman(tx.state(user, userId)))
    if (!totp) throw totpNotFoundError()
    if (totp.verified) throw totpVerifiedError()
    requireFactorAllowed(tx, userId)
    const acceptedStep = step(tx, totp.sealed)
    if (acceptedStep === undefined) {
      countFactorFailure(tx, userId, "totp")
      return { isRight: false }
    }
    recordFactorSuccess(tx, userId, { kind: "totp", ...acceptedStep })
    tx.append(user, userId, [{ type: "user.human.mfa.otp.verified", data: {} }])
    return { isRight: true, methods: ["otp"], isUserVerified: false }
  }
}

/** Activates the authenticator app in its own transaction. Rejects a wrong code. */
export async function verifyTotp(cx: Cx, userId: string, code: string): Promise<Receipt> {
  const done = await cx.store.transact(cx, await prepareTotpVerification(cx, userId, code))
  if (done.value.isRight) return done.receipt(user, userId)
  throw new Fault("invalid_argument", "user.code_wrong", "the code is incorrect; try the next code")
}

/** Removes the authenticator app. Rejects if there is none. */
export const removeTotp = user.command((state, _: undefined, cx, id) => {
  if (!factorsOf(requireHuman(state)).totp) throw totpNotFoundError()
  const removed: Draft<UserEvent> = {
    type: "user.human.mfa.otp.removed",
    data: ownSession(cx, id),
    erase: { types: [addedType] },
  }
  return [removed]
})

/**
 * Checks a code of an authenticator app. Tolerates one step before and after; each step can be used
 * once.
 */
export const checkTotp: FactorCheck = async (cx, { userId, given: typed }) => {
  const step = findTimeStep(cx, userId, typed, await loadOtp())
  return (tx) => {
    requireFactorAllowed(tx, userId)
    const state = tx.state(user, userId)
    const totp = isHuman(state) ? factorsOf(state).totp : undefined
    const acceptedStep = totp?.verified ? step(tx, totp.sealed) : undefined
    if (acceptedStep === undefined) {
      countFactorFailure(tx, userId, "totp")
      return { isRight: false }
    }
    recordFactorSuccess(tx, userId, { kind: "totp", ...acceptedStep })
    return { isRight: true, methods: ["otp"], isUserVerified: false }
  }
}

/**
 * Finds the time step of a code. RFC 6238 §5.2: tolerates one step of delay, and rejects used and
 * earlier steps.
 */
const findTimeStep =
  (cx: Pick<Cx, "secrets">, userId: string, code: string, { TOTP }: OtpLibrary) =>
  (tx: Transaction, sealed: string) => {
    const plain = cx.secrets.open("seal", sealed, totpContext(userId))
    const token = withoutSeparators(code)
    if (plain === undefined || !/^\d{6}$/.test(token)) return undefined
    const delta = new TOTP({ secret: plain, period: periodSeconds }).validate({
      token,
      timestamp: tx.now,
      window: stepWindow,
    })
    if (delta === null) return undefined
    const now = Math.floor(tx.now / 1000 / periodSeconds)
    const secret = cx.secrets.hash(plain, "totp_step")
    const step = now + delta
    return isStepUsed(tx, userId, { step, secret, now }) ? undefined : { step, secret }
  }

type OtpLibrary = Awaited<ReturnType<typeof loadOtp>>

const totpContext = (userId: string): string => `user/${userId}/totp`

const totpNotFoundError = () =>
  new Fault("not_found", "user.totp_missing", "authenticator app not found")

const totpVerifiedError = () =>
  new Fault("failed_precondition", "user.totp_ready", "the authenticator app is already verified")
