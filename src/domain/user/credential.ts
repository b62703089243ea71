import { Fault } from "../../kernel/fault.ts"
import { type Cx, fold, type Store, type Transaction } from "../../store/index.ts"
import { inTurn, passwordCheck } from "./attempt.ts"
import { type Human, hasLeft, type Password, type User, user } from "./model.ts"
import { hashPassword, isOwn, verifyNothing, verifyPassword } from "./password.ts"

/** A password that is ready to be stored. */
export type NewPassword = { readonly hash: string; readonly changeRequired: boolean }

/** What every new password must have; what is missing is named in the refusal. */
export const passwordRules: readonly { readonly rule: string; readonly test: RegExp }[] = [
  { rule: "at least 8 characters", test: /^.{8,}$/su },
  { rule: "a lower-case letter", test: /\p{Ll}/u },
  { rule: "an upper-case letter", test: /\p{Lu}/u },
  { rule: "a digit", test: /\p{Nd}/u },
  { rule: "a symbol", test: /[^\p{L}\p{N}]/u },
]

/**
 * Checks a new password against the rules and hashes it, before any decision. `names` are what it
 * must not be: the user's own.
 */
export async function createPassword(
  plain: string,
  { names, changeRequired = false }: { names: readonly string[]; changeRequired?: boolean },
): Promise<NewPassword> {
  const missing = passwordRules.filter(({ test }) => !test.test(plain)).map(({ rule }) => rule)
  if (missing.length > 0) {
    throw refused("user.password_too_simple", `the password needs ${missing.join(", ")}`)
  }
  if (names.some((name) => fold(name) === fold(plain))) {
    throw refused("user.password_is_name", "the password must not be the user's name")
  }
  return { hash: await hashPassword(plain), changeRequired }
}

/**
 * Takes over a hash that somebody else made; of the forms there are, argon2 is understood. What a
 * check of it costs, strangers can ask for, so there is a bound to that.
 */
export function importPassword(hash: string, changeRequired: boolean): NewPassword {
  const [, memory, passes, lanes] = (argon2.exec(hash) ?? []).map(Number)
  if (!memory || !passes || !lanes) {
    throw refused(
      "user.password_hash_unsupported",
      "the hash must be argon2 in PHC form, such as $argon2id$v=19$m=19456,t=2,p=1$…$…",
    )
  }
  if (memory * passes > importCostMax || lanes > importLanesMax) {
    throw refused(
      "user.password_hash_too_costly",
      `the hash costs too much to check: m times t may be at most ${importCostMax}, p at most ` +
        `${importLanesMax}; import the person without a password and invite them to choose one`,
    )
  }
  return { hash, changeRequired }
}

/**
 * In KiB that are gone through: RFC 9106 §4 recommends 64 MiB, three times, where 2 GiB are too
 * much, and others go through them four times. One of our own costs a seventh of that.
 */
const importCostMax = 262_144
const importLanesMax = 16

const argon2 = /^\$argon2(?:id|i|d)\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$[\w+/]{11,86}\$[\w+/]{16,86}$/

/** A wish for a new password, and what it is backed by. */
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
  if (proof && "code" in proof) {
    throw refused("user.password_code_wrong", "the code is wrong or no longer good")
  }
  if (proof && (await checkPassword(cx, id, proof.current)) !== "ok") {
    throw refused("user.password_wrong", "the current password is wrong")
  }
  const isOwn = cx.caller.kind === "user" && cx.caller.userId === id
  // user.write, which lets in to some of the ways here, is less than this.
  const mayUnasked = isOwn ? state.password === null : cx.holds?.("user.credential.write")
  if (!proof && !mayUnasked) {
    throw refused("user.current_password_missing", "say the current password to set a new one")
  }
  if ("hash" in wanted) return importPassword(wanted.hash, wanted.changeRequired)
  const { plain, changeRequired } = wanted
  return createPassword(plain, { names: namesOf(state), changeRequired })
}

/**
 * Who gives a user a credential, a name or an address can act as them from then on: nobody does so
 * for a user who may do more than they themself, be it elsewhere. Only for operations that do it by
 * some of their fields; of the others the book says it.
 */
export function mustOutrank(cx: Cx, id: string): void {
  if (cx.caller.kind === "system" || cx.outranks?.(id)) return
  throw new Fault(
    "permission_denied",
    "user.outranks_you",
    "this user has roles elsewhere that you lack, and whoever does this can act with them; " +
      "take these roles from them first, or ask somebody who may do as much",
  )
}

/** Gives a person a password that was prepared before; the old hash is erased. */
export const setPassword = user.command<NewPassword>((state, password) => {
  personOf(state)
  return [passwordChanged(password)]
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
    throw refused("user.password_unchanged", "the new password must be another one")
  }
  return createPassword(plain, { names: namesOf(person) })
}

type Replacement = { readonly version: number; readonly password: NewPassword }

/** Gives a person a new password, in the place of the one of this version. */
export const replacePassword = user.command<Replacement>((state, { version, password }) => {
  mustStillHave(state, version)
  return [passwordChanged(password)]
})

/** What a password must not be. */
export const namesOf = ({ loginNames, email }: Human) => [...loginNames, email.address]

function personOf(state: User): Human {
  if (hasLeft(state)) throw new Fault("not_found", "user.missing", "there is no such user")
  if (state.kind === "human") return state
  throw new Fault(
    "failed_precondition",
    "user.not_human",
    "only people have a password; give a service user a key",
  )
}

/** The event of a new password; what it replaces is forgotten. */
export const passwordChanged = ({ hash, changeRequired }: NewPassword) =>
  ({
    type: "user.human.password.changed",
    data: { changeRequired },
    private: { hash },
    erase: { types: hashes },
  }) as const

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

/** What tries are counted on: those from a device that is known don't stand behind strangers'. */
const lineOf = ({ account, device }: Try): string =>
  device === undefined ? account : `${account} device:${device}`

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
  const { account, plain } = tried
  const line = lineOf(tried)
  return inTurn<T | "wrong" | "none">(cx, line, async (delay) => {
    await delay
    const paced = cx.allowance?.pace()
    if (unkept.has(cx.store)) await keepFailure(cx, line)
    const password = passwordOf(cx.store.state(cx, user, account))
    if (!password) await verifyNothing(plain)
    if (!password || !(await verifyPassword(password.hash, plain))) {
      // Tries that are under way are counted by the line that they stand in.
      await keepFailure(cx, line)
      await paced?.()
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

/**
 * Stores that could not keep a failed try, as with a full disk: until one can be written again,
 * each is written before it is looked at, so that nobody guesses uncounted.
 */
const unkept = new WeakSet<Store>()

async function keepFailure(cx: Cx, line: string): Promise<void> {
  try {
    await cx.store.transact(cx, (tx) => fail(tx, line))
    unkept.delete(cx.store)
  } catch (cause) {
    unkept.add(cx.store)
    throw cause
  }
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
    fail(tx, line)
    return refusal
  }
  if (own !== undefined) keepOwn.within(tx, account, own)
  // Where nothing has failed there is nothing to forget; the session tells who signed in.
  if (tx.state(passwordCheck, line).failures > 0) {
    tx.append(passwordCheck, line, [{ type: "user.human.password.check.succeeded", data: {} }])
  }
  return "ok"
}

/** Replaces an imported hash by our own of the same password. Twice is once. */
const keepOwn = user.command<string>((state, hash) => {
  const password = passwordOf(state)
  if (!password || isOwn(password.hash)) return []
  const { changeRequired, changed, version } = password
  const data = { changeRequired, changed, version }
  const type = "user.human.password.hash.updated"
  return [{ type, data, private: { hash }, erase: { types: hashes } }]
})

function refusalOf(state: User, version: number): Exclude<PasswordCheck, "ok"> | undefined {
  if (hasLeft(state)) return "none"
  if (passwordOf(state)?.version !== version) return "wrong"
  return state.status === "active" ? undefined : state.status
}

const fail = (tx: Transaction, line: string): void =>
  tx.append(passwordCheck, line, [{ type: "user.human.password.check.failed", data: {} }])

/** What a person's password is known by; null for who has none. */
export const passwordOf = (state: User): Password | null =>
  "kind" in state && state.kind === "human" ? state.password : null

const refused = (id: string, message: string) => new Fault("invalid_argument", id, message)
