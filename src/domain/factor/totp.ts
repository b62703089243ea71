import { Fault, fieldError } from "../../kernel/fault.ts"
import { lazily } from "../../kernel/lazy.ts"
import { typedDigits } from "../../kernel/text/typed-code.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../store/index.ts"
import { countRight, countWrong, isStepTaken, mayTryFactor, stepWindow } from "../lockout/index.ts"
import { factorsOf, type UserEvent, user } from "../user-model/index.ts"
import type { AdmitFactor, Check } from "./proof.ts"
import { isPerson, keptSession, personIn } from "./ready.ts"

const loadOtp = lazily(() => import("otpauth"))

/** RFC 4226 §4: at least 128 bits, 160 recommended. */
const secretBytes = 20
const periodSeconds = 30

/** What an authenticator app is given, once. */
export type NewTotp = {
  /** Key URI, `otpauth://totp/…`, to be shown as a QR code. */
  readonly uri: string
  /** The same secret in base32, to be typed. */
  readonly secret: string
  readonly receipt: Receipt
}

/**
 * Gives a person a new secret for an authenticator app. It counts once a code of it was shown; the
 * one before counts until then no more than this one does. Refuses where one counts already.
 */
export async function registerTotp(
  cx: Cx,
  userId: string,
  { issuer, label }: { readonly issuer: string; readonly label: string },
): Promise<NewTotp> {
  const { TOTP, Secret } = await loadOtp()
  const secret = new Secret({ buffer: cx.random.bytes(secretBytes).slice().buffer })
  const receipt = await addTotp(cx, userId, cx.secrets.seal("seal", secret.base32, about(userId)))
  const uri = new TOTP({ issuer, label, secret, period: periodSeconds }).toString()
  return { uri, secret: secret.base32, receipt }
}

const addTotp = user.command<string>((state, sealed) => {
  const { totp } = factorsOf(personIn(state))
  if (totp?.verified) {
    throw new Fault(
      "already_exists",
      "user.totp_exists",
      "an authenticator app is set up already; remove it first",
    )
  }
  return [{ type: added, data: {}, private: { sealed }, erase: { types: [added] } }]
})

const added = "user.human.mfa.otp.added"

/** RFC 4648 §6, of at least 80 bits: what authenticator apps of other services were given. */
const base32 = /^[A-Z2-7]{16,128}=*$/

/**
 * Takes over the secret of an authenticator app that was proven elsewhere, as a part of a step: it
 * counts at once. Refuses what is no base32.
 */
export function importTotp(tx: Transaction, userId: string, secret: string): void {
  const plain = secret.replace(/\s/g, "").toUpperCase()
  if (!base32.test(plain)) {
    throw fieldError(
      "user.totp_invalid",
      "otp_code",
      "must be a secret in base32, 16 to 128 letters",
    )
  }
  addTotp.within(tx, userId, tx.secrets.seal("seal", plain, about(userId)))
  tx.append(user, userId, [{ type: "user.human.mfa.otp.verified", data: {} }])
}

/** The secret in base32 of an authenticator app that counts; undefined where there is none. */
export function totpSecret(cx: Cx, userId: string): string | undefined {
  const state = cx.store.state(cx, user, userId)
  const totp = isPerson(state) ? factorsOf(state).totp : undefined
  return totp?.verified ? cx.secrets.open("seal", totp.sealed, about(userId)) : undefined
}

/** The secret in base32 that somebody is about to set up; undefined where nobody is. */
export function pendingTotp(cx: Cx, userId: string): string | undefined {
  const state = cx.store.state(cx, user, userId)
  const totp = isPerson(state) ? factorsOf(state).totp : undefined
  if (!totp || totp.verified) return undefined
  return cx.secrets.open("seal", totp.sealed, about(userId))
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
 * Makes an authenticator app count, by a code of it, as a part of a step; a wrong one is counted
 * there. Refuses where nothing is to be set up.
 */
export async function admitTotp(cx: Cx, userId: string, code: string): Promise<AdmitFactor> {
  const step = stepOf(cx, userId, code, await loadOtp())
  return (tx) => {
    const { totp } = factorsOf(personIn(tx.state(user, userId)))
    if (!totp) throw missingError()
    if (totp.verified) throw readyError()
    mayTryFactor(tx, userId)
    const taken = step(tx, totp.sealed)
    if (taken === undefined) {
      countWrong(tx, userId, "totp")
      return { isRight: false }
    }
    countRight(tx, userId, { kind: "totp", ...taken })
    tx.append(user, userId, [{ type: "user.human.mfa.otp.verified", data: {} }])
    return { isRight: true, methods: ["otp"], isUserVerified: false }
  }
}

/** The same in a step of its own; refuses a wrong code. */
export async function verifyTotp(cx: Cx, userId: string, code: string): Promise<Receipt> {
  const done = await cx.store.transact(cx, await admitTotp(cx, userId, code))
  if (done.value.isRight) return done.receipt(user, userId)
  throw new Fault("invalid_argument", "user.code_wrong", "the code is wrong; try the next one")
}

/** Takes an authenticator app away; refuses where there is none. */
export const removeTotp = user.command((state, _: undefined, cx, id) => {
  if (!factorsOf(personIn(state)).totp) throw missingError()
  const removed: Draft<UserEvent> = {
    type: "user.human.mfa.otp.removed",
    data: keptSession(cx, id),
    erase: { types: [added] },
  }
  return [removed]
})

/** Verifies a code of an authenticator app: one step early or late, and each step once. */
export const checkTotp: Check = async (cx, { userId, given }) => {
  const step = stepOf(cx, userId, given, await loadOtp())
  return (tx) => {
    mayTryFactor(tx, userId)
    const state = tx.state(user, userId)
    const totp = isPerson(state) ? factorsOf(state).totp : undefined
    const taken = totp?.verified ? step(tx, totp.sealed) : undefined
    if (taken === undefined) {
      countWrong(tx, userId, "totp")
      return { isRight: false }
    }
    countRight(tx, userId, { kind: "totp", ...taken })
    return { isRight: true, methods: ["otp"], isUserVerified: false }
  }
}

/**
 * Finds the time step that a code is of. RFC 6238 §5.2: one step of delay is allowed for, and no
 * step is taken a second time, nor one before it.
 */
const stepOf =
  (cx: Pick<Cx, "secrets">, userId: string, code: string, { TOTP }: Library) =>
  (tx: Transaction, sealed: string) => {
    const plain = cx.secrets.open("seal", sealed, about(userId))
    const token = typedDigits(code)
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
    return isStepTaken(tx, userId, { step, secret, now }) ? undefined : { step, secret }
  }

type Library = Awaited<ReturnType<typeof loadOtp>>

const about = (userId: string): string => `user/${userId}/totp`

const missingError = () =>
  new Fault("not_found", "user.totp_missing", "no authenticator app is set up")

const readyError = () =>
  new Fault("failed_precondition", "user.totp_ready", "the authenticator app counts already")
