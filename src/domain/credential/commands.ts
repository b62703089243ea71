import { Fault, reasonText } from "../../kernel/fault.ts"
import { type Cx, type Draft, fold, type Store, type Transaction } from "../../store/index.ts"
import {
  countFailedTry,
  countFailure,
  forgetFailedTries,
  inTurn,
  isStandIn,
  keepAhead,
  keepFailure,
  lineOf,
  passwordCheck,
} from "../lockout/index.ts"
import {
  type PasswordComplexity,
  passwordComplexity,
  policyFor,
  policyOf,
} from "../policy/index.ts"
import {
  byUser,
  type Human,
  hasLeft,
  homeOf,
  isProofMissing,
  type Password,
  type User,
  type UserEvent,
  user,
} from "../user-model/index.ts"
import { readArgon2 } from "./argon2.ts"
import { checkCode, codeOf, codeWrongError } from "./code-check.ts"
import { foreignHash } from "./foreign/list.ts"
import { failedTryMs, noteForeignTry } from "./foreign/try.ts"
import { isCommon } from "./guessed-first.ts"
import { hashPassword, isOwn, verifyNothing, verifyPassword } from "./password.ts"

/**
 * A password that is ready to be stored; `code` is the sealed one that was shown for it, and has to
 * be the last one still.
 */
export type NewPassword = {
  readonly hash: string
  readonly changeRequired: boolean
  readonly code?: string
  /** The current one that was shown for it, by the version of the stream when it was set. */
  readonly shown?: number
  /** How many that it replaces are kept to be told again; none where it is left out. */
  readonly keep?: number
}

/** What a password of this complexity lacks, in words. */
function missingIn(plain: string, wanted: PasswordComplexity): readonly string[] {
  const { minLength, hasLowercase, hasUppercase, hasNumber, hasSymbol } = wanted
  const rules = [
    [[...plain].length >= minLength, `at least ${minLength} characters`],
    [!hasLowercase || /\p{Ll}/u.test(plain), "a lower-case letter"],
    [!hasUppercase || /\p{Lu}/u.test(plain), "an upper-case letter"],
    [!hasNumber || /\p{Nd}/u.test(plain), "a digit"],
    [!hasSymbol || /[^\p{L}\p{N}]/u.test(plain), "a symbol"],
  ] as const
  return rules.flatMap(([isMet, rule]) => (isMet ? [] : [rule]))
}

type Wish = {
  readonly names: readonly string[]
  /** Hashes of those that the person has and had, the last first. */
  readonly known?: readonly string[]
  readonly changeRequired?: boolean
}

/** Prepares a new password for a user who exists, by the policy that applies to them. */
export const passwordFor = (cx: Cx, id: string, plain: string, requested: Wish) =>
  createPassword(plain, {
    ...requested,
    complexity: complexityFor(cx, id),
    line: queueOf(cx, homeOf(cx, id)),
  })

/** The same for somebody who has not had one yet. */
export const firstPasswordFor = (cx: Cx, id: string, person: Human, plain: string) =>
  passwordFor(cx, id, plain, { names: namesOf(person) })

/** The same for a user who is about to be created in an organization, and has no role yet. */
export const firstPasswordIn = (cx: Cx, orgId: string, plain: string, requested: Wish) =>
  createPassword(plain, {
    ...requested,
    complexity: policyOf(cx, orgId, passwordComplexity),
    line: queueOf(cx, orgId),
  })

/** However many users an organization gives a password, they hold up nobody else's. */
const queueOf = ({ instance }: Cx, orgId: string): string => `${instance}/${orgId}`

/**
 * Checks a new password and hashes it, before any decision. `names` are what it must not be: the
 * user's own; nor is it one that everybody tries, or that the policy says they had lately. Without
 * a word on its complexity the standard counts: nobody can have said more yet.
 */
export async function createPassword(
  plain: string,
  requested: Wish & { readonly complexity?: PasswordComplexity; readonly line?: string },
): Promise<NewPassword> {
  const { names, known = [], changeRequired = false, line = "" } = requested
  const { complexity = passwordComplexity.standard } = requested
  const missing = missingIn(plain, complexity)
  if (missing.length > 0) {
    throw refusedError("user.password_too_simple", `the password needs ${missing.join(", ")}`)
  }
  if (names.some((name) => fold(name) === fold(plain))) {
    throw refusedError("user.password_is_name", "the password must not be the user's name")
  }
  if (await isCommon(plain)) {
    throw refusedError(
      "user.password_common",
      "this password is among those that are tried first everywhere; choose another one",
    )
  }
  const { reuseCount } = complexity
  for (const hash of known.slice(0, reuseCount)) {
    if (await verifyPassword(hash, plain, { line })) throw reusedError(reuseCount)
  }
  const hash = await hashPassword(plain, line)
  return { hash, changeRequired, keep: Math.max(reuseCount - 1, 0) }
}

const reusedError = (count: number) =>
  refusedError(
    "user.password_reused",
    `this is one of the last ${count} passwords of this user; choose another one`,
  )

/**
 * Takes over a hash that somebody else made: argon2, or one of the forms of `foreignHash`. What a
 * check of it costs, strangers can ask for, so there is a bound to that.
 */
export function importPassword(hash: string, changeRequired: boolean): NewPassword {
  const foreign = foreignHash(hash)
  if (foreign?.isTooCostly) {
    throw refusedError(
      "user.password_hash_too_costly",
      "the hash costs too much to check: bcrypt may have a cost of 14, PBKDF2 1,300,000 rounds, " +
        "scrypt 128 MiB and 4 lanes, all others 200,000 rounds; import the person without a " +
        "password and invite them to choose one",
    )
  }
  if (foreign) return { hash, changeRequired }
  const cost = readArgon2(hash)
  if (!cost) {
    throw refusedError(
      "user.password_hash_unsupported",
      "the hash must be argon2 in PHC form, such as $argon2id$v=19$m=19456,t=2,p=1$…$…: m at " +
        "least 8 times p, salt (8 to 64 bytes) and output (12 to 64) in base64 without padding; " +
        "or one of bcrypt ($2b$), scrypt ($scrypt$ln=…), PBKDF2 ($pbkdf2-sha256$…), md5crypt " +
        "($1$), sha-crypt ($5$, $6$), phpass ($P$), Drupal 7 ($S$), or a salted sum such as " +
        "$sha256salted-suffix$salt$hex",
    )
  }
  const { memory, passes, lanes } = cost
  if (memory * passes > importCostMax || Math.max(passes, lanes) > importRepeatMax) {
    throw refusedError(
      "user.password_hash_too_costly",
      `the hash costs too much to check: m times t may be at most ${importCostMax}, t and p ` +
        `${importRepeatMax}; import the person without a password and invite them to choose one`,
    )
  }
  return { hash, changeRequired }
}

/**
 * In KiB that are gone through: what RFC 9106 §4 recommends where 2 GiB are too much, 64 MiB three
 * times. That is five times one of our own, and a failed try is told so late (`paceMs`) that
 * nobody sees which it was. Each pass begins each lane anew, which costs time without any memory.
 */
const importCostMax = 3 * 65_536
const importRepeatMax = 16

/** A request for a new password, and what it is backed by. */
export type PasswordChange = {
  readonly wanted:
    | { readonly plain: string; readonly changeRequired: boolean }
    | { readonly hash: string; readonly changeRequired: boolean }
  readonly proof?: { readonly current: string } | { readonly code: string } | undefined
}

/**
 * Prepares a new password for a person. Their own they change with the current one only; others'
 * need the permission, or the current one.
 */
export async function changedPassword(
  cx: Cx,
  id: string,
  { wanted, proof }: PasswordChange,
): Promise<NewPassword> {
  const state = personOf(cx.store.state(cx, user, id))
  const code = await proven(cx, id, proof)
  const isChanged = (cx.authors ?? []).length > 0
  const isOwn = cx.caller.kind === "user" && cx.caller.userId === id && !isChanged
  // user.write, which lets in to some of the ways here, is less than this.
  const mayUnasked = isOwn ? state.password === null : cx.holds?.("user.credential.write")
  if (!proof && !mayUnasked) {
    throw refusedError("user.current_password_missing", "say the current password to set a new one")
  }
  const { changeRequired } = wanted
  const password =
    "hash" in wanted
      ? importPassword(wanted.hash, changeRequired)
      : await passwordFor(cx, id, wanted.plain, {
          ...historyOf(state),
          changeRequired,
        })
  if (code !== undefined) return { ...password, code }
  const shown = proof && state.password?.version
  return shown === undefined ? password : { ...password, shown }
}

/** Refuses a proof that is none; answers the code, as it is kept, where it was one. */
async function proven(
  cx: Cx,
  id: string,
  proof: PasswordChange["proof"],
): Promise<string | undefined> {
  if (!proof) return undefined
  if ("code" in proof) return provenCode(cx, id, proof)
  if ((await checkPassword(cx, id, proof.current)) === "ok") return undefined
  throw refusedError("user.password_wrong", "the current password is wrong")
}

/** The code for a new password, as it is kept, of whoever knows it; any other is counted. */
export async function provenCode(
  cx: Cx,
  id: string,
  given: { readonly code: string; readonly key?: string | undefined },
): Promise<string> {
  const check = await checkCode(cx, id, { of: "password", given: given.code, key: given.key })
  const code = codeOf(cx.store.state(cx, user, id), "password")
  if (check === "wrong" || !code) throw codeWrongError()
  if (check === "ok") return code.sealed
  throw new Fault("failed_precondition", `user.${check}`, `the user is ${check}; nobody signs in`)
}

/** Gives a person a password that was prepared before; the old hash is erased. */
export const setPassword = user.command<NewPassword>((state, password) => {
  return passwordSet(personOf(state), password)
})

/** Answers the person whose password is still the one of this version; see `passwordVersion`. */
function mustStillHave(state: User, version: number): Human & { password: Password } {
  const person = personOf(state)
  const { password } = person
  if (password?.version === version) return { ...person, password }
  throw new Fault(
    "failed_precondition",
    "user.password_replaced",
    "the password has been replaced meanwhile; sign in with the new one",
  )
}

/** Prepares what comes in the place of a password that must be changed; not the same again. */
export async function replacementOf(
  cx: Cx,
  id: string,
  { plain, version }: { readonly plain: string; readonly version: number },
): Promise<NewPassword> {
  const person = mustStillHave(cx.store.state(cx, user, id), version)
  if (await verifyPassword(person.password.hash, plain)) {
    throw refusedError("user.password_unchanged", "the new password must be another one")
  }
  return passwordFor(cx, id, plain, historyOf(person))
}

type Replacement = { readonly version: number; readonly password: NewPassword }

/** Gives a person a new password, in the place of the one of this version. */
export const replacePassword = user.command<Replacement>((state, { version, password }) => {
  const before = mustStillHave(state, version)
  return [passwordChanged(password, before.password)]
})

/** What the next password of a user must have. */
export const complexityFor = (cx: Cx, id: string): PasswordComplexity =>
  policyFor(cx, { userId: id, orgId: homeOf(cx, id) }, passwordComplexity)

/** What a password must not be. */
const namesOf = ({ loginNames, email }: Human) => [...loginNames, email.address]

/** What the next password of a person must not be. */
export const historyOf = (person: Human): Pick<Wish, "names" | "known"> => ({
  names: namesOf(person),
  known: hashesOf(person.password),
})

/** Hashes of a password and of those before it, the last first. */
const hashesOf = (password: Password | null): readonly string[] =>
  password ? [password.hash, ...(password.earlier ?? [])] : []

export function personOf(state: User): Human {
  if (hasLeft(state)) throw new Fault("not_found", "user.missing", "there is no such user")
  if (state.kind === "human") return state
  throw new Fault(
    "failed_precondition",
    "user.not_human",
    "only people have a password; give a service user a key",
  )
}

/**
 * The events of a new password, of which whoever showed a code for it is the first to use that. A
 * code that came by mail has also shown whose the address is.
 */
export function passwordSet(state: Human, password: NewPassword): readonly Draft<UserEvent>[] {
  const { passwordCode, email } = state
  if (password.code === undefined) {
    const isCurrent = password.shown !== undefined && password.shown === state.password?.version
    return [passwordChanged(password, state.password, isCurrent ? "current" : undefined)]
  }
  const changed = passwordChanged(password, state.password, "code")
  if (passwordCode?.sealed !== password.code) throw codeWrongError()
  const { channel, returned, verifier = byUser } = passwordCode
  const hasArrived = channel === "email" && !returned && verifier.by === "user"
  const isKnown = email.verified && !isProofMissing(byUser, email.verifier)
  if (isKnown || !hasArrived) return [changed]
  const types = ["user.human.email.code.added"] as const
  const data = { verifier: byUser }
  return [{ type: "user.human.email.verified", data, erase: { types } }, changed]
}

/**
 * The event of a new password; what it replaces is forgotten, but for as many as are to be told
 * again, and so are codes that asked for one.
 */
export function passwordChanged(
  password: NewPassword,
  before: Password | null,
  proof?: Extract<UserEvent, { readonly type: "user.human.password.changed" }>["data"]["proof"],
) {
  const { hash, changeRequired, keep = 0 } = password
  const earlier = hashesOf(before).slice(0, keep)
  return {
    type: "user.human.password.changed",
    data: { changeRequired, ...(before === null && { isFirst: true }), ...(proof && { proof }) },
    private: { hash, ...(earlier.length > 0 && { earlier }) },
    erase: { types: [...hashes, "user.human.password.code.added"] },
  } as const
}

/** The events that a hash stands in. */
const hashes = ["user.human.password.changed", "user.human.password.hash.updated"] as const

/** `none`: no such account, or one without a password; never say so to whoever is asking. */
export type PasswordCheck = "ok" | "wrong" | "locked" | "inactive" | "none"

/**
 * Checks a password. Failed tries slow the next ones down; an account that doesn't exist makes the
 * same work, and waits as long. Whether an account is locked is told only to who knows its
 * password. Faults where too many tries wait already.
 */
export const checkPassword = (cx: Cx, account: string, plain: string): Promise<PasswordCheck> =>
  provePassword(cx, { account, plain }, async (admit) => (await cx.store.transact(cx, admit)).value)

/** A try with a password. */
export type Try = {
  readonly account: string
  readonly plain: string
  /** Names a device from which somebody has signed in to this account before. */
  readonly device?: string | undefined
}

/** Decides, as a part of a step, whether a right password still opens its account. */
export type Admit = (tx: Transaction) => PasswordCheck

/**
 * Checks a password as `checkPassword` does. Whatever a right one is for happens in `enter`, in one
 * step that begins with `admit`.
 */
export function provePassword<T>(
  cx: Cx,
  tried: Try,
  enter: (admit: Admit) => Promise<T>,
): Promise<T | "wrong" | "none"> {
  const { account, plain, device } = tried
  const line = lineOf(account, device)
  const tries = { line, isStranger: isStandIn(account) }
  return inTurn<T | "wrong" | "none">(cx, tries, async (delay, failures) => {
    await delay
    const paced = cx.allowance?.pace()
    const begun = cx.clock.now()
    await keepAhead(cx, tries)
    const password = passwordOf(cx.store.state(cx, user, account))
    if (!password) await verifyNothing(plain, failures)
    const refused = (cause: unknown) => warnOfHash(cx, account, cause)
    if (!password || !(await verifyPassword(password.hash, plain, { refused, failures }))) {
      if (password && !isOwn(password.hash)) noteForeignTry(cx, cx.clock.now() - begun)
      // Tries that are under way are counted by the line that they stand in.
      await keepFailure(cx, tries, (tx) => countFailedTry(tx, account))
      await paced?.(failedTryMs(cx))
      return { value: password ? "wrong" : "none", isRight: false }
    }
    const { version, hash } = password
    // What was imported is worth what it costs to break: from now on that is what ours costs.
    const own = isOwn(hash) ? undefined : await hashPassword(plain)
    let isRight = false
    const value = await enter((tx) => {
      const admitted = admit(tx, { account, line, version, own })
      isRight = admitted === "ok"
      return admitted
    })
    return { value, isRight }
  })
}

/** Whose hash was told of. */
const toldOf = new WeakMap<Store, Set<string>>()

/** Tells once of each account that its hash can't be checked; whoever tries it hears "wrong". */
function warnOfHash(cx: Cx, account: string, cause: unknown): void {
  const told = toldOf.get(cx.store) ?? new Set<string>()
  toldOf.set(cx.store, told)
  const key = `${cx.instance}/${account}`
  if (told.has(key)) return
  told.add(key)
  cx.warn(
    `the password of user ${account} can't be checked, give them a new one: ${reasonText(cause)}`,
  )
}

type Right = {
  readonly account: string
  readonly line: string
  /** Of the password that was right, and our own hash of it where it was imported. */
  readonly version: number
  readonly own: string | undefined
}

/** The password was right; what else has become of the account meanwhile decides. */
function admit(tx: Transaction, { account, line, version, own }: Right): PasswordCheck {
  const refusal = refusalOf(tx.state(user, account), version)
  if (refusal) {
    countFailure(tx, line)
    return refusal
  }
  if (own !== undefined) keepOwn.within(tx, account, own)
  // Where nothing has failed there is nothing to forget; the session tells who signed in.
  if (tx.state(passwordCheck, line).failures > 0) {
    tx.append(passwordCheck, line, [{ type: "user.human.password.check.succeeded", data: {} }])
  }
  forgetFailedTries(tx, account)
  return "ok"
}

/** Replaces an imported hash by our own of the same password. Twice is once. */
const keepOwn = user.command<string>((state, hash) => {
  const password = passwordOf(state)
  if (!password || isOwn(password.hash)) return []
  const { changeRequired, changed, version, earlier } = password
  const data = { changeRequired, changed, version }
  const secret = { hash, ...(earlier && { earlier }) }
  const type = "user.human.password.hash.updated"
  return [{ type, data, private: secret, erase: { types: hashes } }]
})

function refusalOf(state: User, version: number): Exclude<PasswordCheck, "ok"> | undefined {
  if (hasLeft(state)) return "none"
  if (passwordOf(state)?.version !== version) return "wrong"
  return state.status === "active" ? undefined : state.status
}

/** What a person's password is known by; null for who has none. */
export const passwordOf = (state: User): Password | null =>
  "kind" in state && state.kind === "human" ? state.password : null

const refusedError = (id: string, message: string) => new Fault("invalid_argument", id, message)
