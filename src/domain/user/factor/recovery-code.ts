import { Fault } from "../../../kernel/fault.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../../store/index.ts"
import { factorsOf } from "../factors.ts"
import { type UserEvent, user } from "../model.ts"
import type { Check } from "./check.ts"
import { countRight, countWrong, mayTryFactor } from "./check-count.ts"
import { isPerson, keptSession, personIn } from "./ready.ts"

const standardCount = 10
const countMax = 50

/** Nothing that is taken for something else when it is read from paper; each is five bits. */
const alphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
const length = 10

/**
 * Makes codes with each of which a person gets in once, where their other factors are lost. Those
 * from before are worth nothing. They are shown this once: only keyed hashes are kept.
 */
export async function generateRecoveryCodes(
  cx: Cx,
  userId: string,
  count = standardCount,
): Promise<{ readonly codes: readonly string[]; readonly receipt: Receipt }> {
  if (count < 1 || count > countMax) {
    throw countError()
  }
  const plain = Array.from({ length: count }, () => draw(cx))
  const hashes = plain.map((code) => cx.secrets.hash(code, about(userId)))
  const receipt = await addCodes(cx, userId, hashes)
  return { codes: plain.map((code) => `${code.slice(0, 5)}-${code.slice(5)}`), receipt }
}

/** Takes over codes that somebody was given elsewhere, as a part of a step. */
export function importRecoveryCodes(
  tx: Transaction,
  userId: string,
  codes: readonly string[],
): void {
  if (codes.length > countMax) throw countError()
  const plain = codes.map((code) => code.replace(/[\s-]/g, "").toUpperCase())
  if (plain.some((code) => code.length < length)) {
    const message = `a recovery code must have at least ${length} letters`
    throw new Fault("invalid_argument", "user.recovery_code_short", message)
  }
  const hashes = plain.map((code) => tx.secrets.hash(code, about(userId)))
  addCodes.within(tx, userId, hashes)
}

const added = "user.human.mfa.recoverycode.added"

const addCodes = user.command<readonly string[]>((state, hashes) => {
  personIn(state)
  const count = hashes.length
  return [{ type: added, data: { count }, private: { hashes }, erase: { types: [added] } }]
})

const countError = () =>
  new Fault("invalid_argument", "user.recovery_code_count", `count must be 1 to ${countMax}`)

/** Takes all that are left away; refuses where there are none. */
export const removeRecoveryCodes = user.command((state, _: undefined, cx, id) => {
  if (factorsOf(personIn(state)).recoveryCodes.length === 0) {
    throw new Fault("not_found", "user.recovery_codes_missing", "there are no recovery codes")
  }
  const removed: Draft<UserEvent> = {
    type: "user.human.mfa.recoverycode.removed",
    data: keptSession(cx, id),
    erase: { types: [added] },
  }
  return [removed]
})

/** Verifies a recovery code, and uses it up. */
export const checkRecoveryCode: Check = async (cx, { userId, given }) => {
  const typed = given.replace(/[\s-]/g, "").toUpperCase()
  return (tx) => {
    mayTryFactor(tx, userId)
    const state = tx.state(user, userId)
    const hashes = isPerson(state) ? factorsOf(state).recoveryCodes : []
    // Looks at all of them, so that the time does not tell which it was.
    const [at] = hashes.flatMap((hash, index) =>
      cx.secrets.matches(hash, typed, about(userId)) ? [index] : [],
    )
    if (at === undefined) {
      countWrong(tx, userId, "recovery_code")
      return { isRight: false }
    }
    countRight(tx, userId, { kind: "recovery_code" })
    tx.append(user, userId, [{ type: "user.human.mfa.recoverycode.used", data: { at } }])
    return { isRight: true, methods: ["otp"], isUserVerified: false }
  }
}

const draw = ({ random }: Pick<Cx, "random">): string =>
  [...random.bytes(length)].map((byte) => alphabet[byte % alphabet.length]).join("")

const about = (userId: string): string => `user/${userId}/recovery_code`
