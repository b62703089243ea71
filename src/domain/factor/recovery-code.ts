import { Fault } from "../../kernel/fault.ts"
import type { Cx, Decision, Draft, Receipt, Transaction } from "../../store/index.ts"
import { countRight, countWrong, mayTryFactor } from "../lockout/index.ts"
import { login, policyFor } from "../policy/index.ts"
import { factorsOf, type Human, type UserEvent, user } from "../user-model/index.ts"
import type { Check } from "./proof.ts"
import { factorsSetUp, isAllowedFactor, isPerson, keptSession, personIn } from "./ready.ts"

const standardCount = 10
const countMax = 50

/** Nothing that is taken for something else when it is read from paper; each is five bits. */
const alphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
const length = 10

/**
 * Makes codes with each of which a person gets in once, where their other factors are lost. Those
 * from before are worth nothing. They are shown this once: only keyed hashes are kept. Refuses
 * where the login policy would not ask the person for them.
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
  const receipt = await addCodes(cx, userId, { hashes, mustBeUsable: true })
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
  addCodes.within(tx, userId, { hashes, mustBeUsable: false })
}

const added = "user.human.mfa.recoverycode.added"

type NewCodes = { readonly hashes: readonly string[]; readonly mustBeUsable: boolean }

const addCodes = user.command<NewCodes>((state, { hashes, mustBeUsable }, cx, id) => {
  const person = personIn(state)
  if (mustBeUsable) checkUsable(cx, id, person)
  const count = hashes.length
  return [{ type: added, data: { count }, private: { hashes }, erase: { types: [added] } }]
})

/** A code replaces another factor that the policy asks for, so it is of no use without one. */
function checkUsable(cx: Decision, userId: string, person: Human): void {
  const policy = policyFor(cx, { userId, orgId: cx.owner(user, userId) }, login)
  const refuse = (id: string, message: string) => new Fault("failed_precondition", id, message)
  if (!isAllowedFactor(policy, "recovery_codes")) {
    throw refuse(
      "user.recovery_codes_not_allowed",
      "the login policy does not allow recovery codes; add them to its second_factors first",
    )
  }
  const others = factorsSetUp(person).filter((factor) => factor !== "recovery_codes")
  if (others.some((factor) => isAllowedFactor(policy, factor))) return
  throw refuse(
    "user.recovery_codes_alone",
    "recovery codes replace another second factor; set up one that the login policy allows first",
  )
}

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
