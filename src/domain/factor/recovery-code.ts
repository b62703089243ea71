import { Fault } from "../../kernel/fault.ts"
import type { Cx, DecisionContext, Draft, Receipt, Transaction } from "../../store/index.ts"
import { countFactorFailure, recordFactorSuccess, requireFactorAllowed } from "../lockout/index.ts"
import { login, policyFor } from "../policy/index.ts"
import { factorsOf, type Human, type UserEvent, user } from "../user-model/index.ts"
import type { FactorCheck } from "./proof.ts"
import { isAllowedFactor, isHuman, listFactorsSetUp, ownSession, requireHuman } from "./ready.ts"

const defaultCount = 10
const countMax = 50

/** 32 characters, five bits each, without ones that are easily confused on paper. */
const alphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
const length = 10

/**
 * Generates recovery codes, each of which replaces another factor once, and invalidates the
 * previous ones. The codes are returned only here; only keyed hashes are stored. Rejects if the
 * login policy would not ask the user for recovery codes.
 */
export async function generateRecoveryCodes(
  cx: Cx,
  userId: string,
  count = defaultCount,
): Promise<{ readonly codes: readonly string[]; readonly receipt: Receipt }> {
  if (count < 1 || count > countMax) {
    throw countError()
  }
  const plain = Array.from({ length: count }, () => generateCode(cx))
  const hashes = plain.map((code) => cx.secrets.hash(code, codeContext(userId)))
  const receipt = await addCodes(cx, userId, { hashes, mustBeUsable: true })
  return { codes: plain.map((code) => `${code.slice(0, 5)}-${code.slice(5)}`), receipt }
}

/** Imports recovery codes that another system issued, within a transaction. */
export function importRecoveryCodes(
  tx: Transaction,
  userId: string,
  codes: readonly string[],
): void {
  if (codes.length > countMax) throw countError()
  const plain = codes.map((code) => code.replace(/[\s-]/g, "").toUpperCase())
  if (plain.some((code) => code.length < length)) {
    const message = `a recovery code must contain at least ${length} letters`
    throw new Fault("invalid_argument", "user.recovery_code_short", message)
  }
  const hashes = plain.map((code) => tx.secrets.hash(code, codeContext(userId)))
  addCodes.within(tx, userId, { hashes, mustBeUsable: false })
}

const addedType = "user.human.mfa.recoverycode.added"

type NewCodes = { readonly hashes: readonly string[]; readonly mustBeUsable: boolean }

const addCodes = user.command<NewCodes>((state, { hashes, mustBeUsable }, cx, id) => {
  const person = requireHuman(state)
  if (mustBeUsable) requireUsable(cx, id, person)
  const count = hashes.length
  return [{ type: addedType, data: { count }, private: { hashes }, erase: { types: [addedType] } }]
})

/**
 * Rejects recovery codes that can't be used: the policy must allow them, and the user must have a
 * factor that they replace.
 */
function requireUsable(cx: DecisionContext, userId: string, person: Human): void {
  const policy = policyFor(cx, { userId, orgId: cx.owner(user, userId) }, login)
  const refuse = (id: string, message: string) => new Fault("failed_precondition", id, message)
  if (!isAllowedFactor(policy, "recovery_codes")) {
    throw refuse(
      "user.recovery_codes_not_allowed",
      "the login policy does not allow recovery codes; add them to its second_factors first",
    )
  }
  const others = listFactorsSetUp(person).filter((factor) => factor !== "recovery_codes")
  if (others.some((factor) => isAllowedFactor(policy, factor))) return
  throw refuse(
    "user.recovery_codes_alone",
    "recovery codes replace another second factor; set up a factor that the login policy " +
      "allows first",
  )
}

const countError = () =>
  new Fault(
    "invalid_argument",
    "user.recovery_code_count",
    `count must be between 1 and ${countMax}`,
  )

/** Removes all remaining codes. Rejects if there are none. */
export const removeRecoveryCodes = user.command((state, _: undefined, cx, id) => {
  if (factorsOf(requireHuman(state)).recoveryCodes.length === 0) {
    throw new Fault("not_found", "user.recovery_codes_missing", "recovery codes not found")
  }
  const removed: Draft<UserEvent> = {
    type: "user.human.mfa.recoverycode.removed",
    data: ownSession(cx, id),
    erase: { types: [addedType] },
  }
  return [removed]
})

/** Checks a recovery code and consumes it. */
export const checkRecoveryCode: FactorCheck = async (cx, { userId, given: typedCode }) => {
  const typed = typedCode.replace(/[\s-]/g, "").toUpperCase()
  return (tx) => {
    requireFactorAllowed(tx, userId)
    const state = tx.state(user, userId)
    const hashes = isHuman(state) ? factorsOf(state).recoveryCodes : []
    // Compares all hashes, to prevent timing attacks.
    const [at] = hashes.flatMap((hash, index) =>
      cx.secrets.matches(hash, typed, codeContext(userId)) ? [index] : [],
    )
    if (at === undefined) {
      countFactorFailure(tx, userId, "recovery_code")
      return { isRight: false }
    }
    recordFactorSuccess(tx, userId, { kind: "recovery_code" })
    tx.append(user, userId, [{ type: "user.human.mfa.recoverycode.used", data: { at } }])
    return { isRight: true, methods: ["otp"], isUserVerified: false }
  }
}

const generateCode = ({ random }: Pick<Cx, "random">): string =>
  [...random.bytes(length)].map((byte) => alphabet[byte % alphabet.length]).join("")

const codeContext = (userId: string): string => `user/${userId}/recovery_code`
