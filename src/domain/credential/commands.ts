import { errorText, Fault } from "../../kernel/fault.ts"
import { type Cx, type Draft, fold, type Store, type Transaction } from "../../store/index.ts"
import {
  countFailedAttempt,
  countFailure,
  isStandIn,
  passwordCheck,
  recordBeforehand,
  recordFailure,
  resetFailedAttempts,
  runThrottled,
  throttleKeyOf,
} from "../lockout/index.ts"
import {
  type PasswordComplexity,
  passwordComplexity,
  policyFor,
  policyOf,
} from "../policy/index.ts"
import {
  addsUserProof,
  byUser,
  findHomeOrg,
  type Human,
  isAbsent,
  type Password,
  type User,
  type UserEvent,
  user,
} from "../user-model/index.ts"
import { checkCode, codeOf, invalidCodeError } from "./code-check.ts"
import { failedAttemptMs, recordForeignFailure } from "./foreign/failure-time.ts"
import { isCommonPassword } from "./guessable-password.ts"
import { importPassword, invalidError, type NewPassword } from "./new-password.ts"
import { hashPassword, isOwnHash, verifyNothing, verifyPassword } from "./password.ts"

/** The requirements that a password does not meet, as text. */
function findMissingRules(plain: string, desired: PasswordComplexity): readonly string[] {
  const { minLength, hasLowercase, hasUppercase, hasNumber, hasSymbol } = desired
  const rules = [
    [[...plain].length >= minLength, `at least ${minLength} characters`],
    [!hasLowercase || /\p{Ll}/u.test(plain), "a lowercase letter"],
    [!hasUppercase || /\p{Lu}/u.test(plain), "an uppercase letter"],
    [!hasNumber || /\p{Nd}/u.test(plain), "a digit"],
    [!hasSymbol || /[^\p{L}\p{N}]/u.test(plain), "a symbol"],
  ] as const
  return rules.flatMap(([isMet, rule]) => (isMet ? [] : [rule]))
}

type CreatePasswordOptions = {
  readonly names: readonly string[]
  /** Hashes of the current and previous passwords, newest first. */
  readonly previousHashes?: readonly string[]
  readonly changeRequired?: boolean
}

/**
 * Checks and hashes a new password for an existing user, by the policy that applies to the user.
 */
export const passwordFor = (cx: Cx, id: string, plain: string, requested: CreatePasswordOptions) =>
  createPassword(plain, {
    ...requested,
    complexity: complexityFor(cx, id),
    line: hashQueueKey(cx, findHomeOrg(cx, id)),
  })

/** Checks and hashes the first password of a user. */
export const firstPasswordFor = (cx: Cx, id: string, person: Human, plain: string) =>
  passwordFor(cx, id, plain, { names: forbiddenPasswordsOf(person) })

/**
 * Checks and hashes the password of a user who is about to be created in an organization and has no
 * role yet.
 */
export const firstPasswordIn = (
  cx: Cx,
  orgId: string,
  plain: string,
  requested: CreatePasswordOptions,
) =>
  createPassword(plain, {
    ...requested,
    complexity: policyOf(cx, orgId, passwordComplexity),
    line: hashQueueKey(cx, orgId),
  })

/**
 * Each organization has its own hashing queue, so bulk password changes in one don't delay others.
 */
const hashQueueKey = ({ instance }: Cx, orgId: string): string => `${instance}/${orgId}`

/**
 * Checks a new password against the policy and hashes it, before the transaction. Rejects names of
 * the user, common passwords and recently used ones. Uses the default complexity if none is given.
 */
export async function createPassword(
  plain: string,
  requested: CreatePasswordOptions & {
    readonly complexity?: PasswordComplexity
    readonly line?: string
  },
): Promise<NewPassword> {
  const { names, previousHashes = [], changeRequired = false, line: throttleKey = "" } = requested
  const { complexity = passwordComplexity.standard } = requested
  const missing = findMissingRules(plain, complexity)
  if (missing.length > 0) {
    throw invalidError(
      "user.password_too_simple",
      `the password must contain ${missing.join(", ")}`,
    )
  }
  if (names.some((name) => fold(name) === fold(plain))) {
    throw invalidError(
      "user.password_is_name",
      "the password must not be the login name or email address of the user",
    )
  }
  if (await isCommonPassword(plain)) {
    throw invalidError(
      "user.password_common",
      "this password is too common; choose another password",
    )
  }
  const { reuseCount } = complexity
  for (const hash of previousHashes.slice(0, reuseCount)) {
    if (await verifyPassword(hash, plain, { queueKey: throttleKey }))
      throw passwordReusedError(reuseCount)
  }
  const hash = await hashPassword(plain, throttleKey)
  return { hash, changeRequired, historyCount: Math.max(reuseCount - 1, 0) }
}

const passwordReusedError = (count: number) =>
  invalidError(
    "user.password_reused",
    `this is one of the last ${count} passwords of the user; choose another password`,
  )

/** A requested password change and its proof. */
export type PasswordChange = {
  readonly password:
    | { readonly plain: string; readonly changeRequired: boolean }
    | { readonly hash: string; readonly changeRequired: boolean }
  readonly proof?: { readonly current: string } | { readonly code: string } | undefined
}

/**
 * Checks and hashes a new password. Users must prove their own current password; changing another
 * user's password requires the permission or the current password.
 */
export async function preparePasswordChange(
  cx: Cx,
  id: string,
  { password: desired, proof }: PasswordChange,
): Promise<NewPassword> {
  const state = requireHumanUser(cx.store.state(cx, user, id))
  const code = await verifyProof(cx, id, proof)
  const isChanged = (cx.authors ?? []).length > 0
  const isOwn = cx.caller.kind === "user" && cx.caller.userId === id && !isChanged
  // user.write, which permits some operations that call this, is not sufficient.
  const isProofOptional = isOwn ? state.password === null : cx.holds?.("user.credential.write")
  if (!proof && !isProofOptional) {
    throw invalidError(
      "user.current_password_missing",
      "the current password is required to set a new password",
    )
  }
  const { changeRequired } = desired
  const password =
    "hash" in desired
      ? importPassword(desired.hash, changeRequired)
      : await passwordFor(cx, id, desired.plain, {
          ...passwordRulesOf(state),
          changeRequired,
        })
  if (code !== undefined) return { ...password, code }
  const shown = proof && state.password?.version
  return shown === undefined ? password : { ...password, currentVersion: shown }
}

/** Rejects an invalid proof. Returns the sealed code if the proof was a code. */
async function verifyProof(
  cx: Cx,
  id: string,
  proof: PasswordChange["proof"],
): Promise<string | undefined> {
  if (!proof) return undefined
  if ("code" in proof) return requirePasswordCode(cx, id, proof)
  if ((await checkPassword(cx, id, proof.current)) === "ok") return undefined
  throw invalidError("user.password_wrong", "the current password is incorrect")
}

/** Returns the sealed password code if the submitted code is correct; counts a wrong code. */
export async function requirePasswordCode(
  cx: Cx,
  id: string,
  submitted: { readonly code: string; readonly key?: string | undefined },
): Promise<string> {
  const check = await checkCode(cx, id, {
    of: "password",
    given: submitted.code,
    key: submitted.key,
  })
  const code = codeOf(cx.store.state(cx, user, id), "password")
  if (check === "wrong" || !code) throw invalidCodeError()
  if (check === "ok") return code.sealed
  throw new Fault("failed_precondition", `user.${check}`, `the user is ${check} and cannot sign in`)
}

/** Sets a prepared password and erases the old hash. */
export const setPassword = user.command<NewPassword>((state, password) => {
  return passwordSetEvents(requireHumanUser(state), password)
})

/**
 * Returns the user if the password still has this version (see `passwordVersion`); throws
 * otherwise.
 */
function requirePasswordVersion(state: User, version: number): Human & { password: Password } {
  const person = requireHumanUser(state)
  const { password } = person
  if (password?.version === version) return { ...person, password }
  throw new Fault(
    "failed_precondition",
    "user.password_replaced",
    "the password was changed in the meantime; sign in with the new password",
  )
}

/**
 * Checks and hashes the replacement of a password that must be changed. Rejects the current
 * password.
 */
export async function prepareReplacement(
  cx: Cx,
  id: string,
  { plain, version }: { readonly plain: string; readonly version: number },
): Promise<NewPassword> {
  const person = requirePasswordVersion(cx.store.state(cx, user, id), version)
  if (await verifyPassword(person.password.hash, plain)) {
    throw invalidError(
      "user.password_unchanged",
      "the new password must differ from the current one",
    )
  }
  return passwordFor(cx, id, plain, passwordRulesOf(person))
}

type ReplacePasswordInput = { readonly version: number; readonly password: NewPassword }

/** Replaces the password of the given version. */
export const replacePassword = user.command<ReplacePasswordInput>(
  (state, { version, password }) => {
    const before = requirePasswordVersion(state, version)
    return [passwordChangedEvent(password, before.password)]
  },
)

/** Complexity rules for the next password of a user. */
export const complexityFor = (cx: Cx, id: string): PasswordComplexity =>
  policyFor(cx, { userId: id, orgId: findHomeOrg(cx, id) }, passwordComplexity)

/** Texts that a password must not equal. */
const forbiddenPasswordsOf = ({ loginNames, email }: Human) => [...loginNames, email.address]

/** Names and previous hashes that the next password of a user is checked against. */
export const passwordRulesOf = (
  person: Human,
): Pick<CreatePasswordOptions, "names" | "previousHashes"> => ({
  names: forbiddenPasswordsOf(person),
  previousHashes: passwordHashesOf(person.password),
})

/** Hashes of the current and previous passwords, newest first. */
const passwordHashesOf = (password: Password | null): readonly string[] =>
  password ? [password.hash, ...(password.earlier ?? [])] : []

export function requireHumanUser(state: User): Human {
  if (isAbsent(state)) throw new Fault("not_found", "user.missing", "user not found")
  if (state.kind === "human") return state
  throw new Fault(
    "failed_precondition",
    "user.not_human",
    "only human users have a password; create a key for the service account instead",
  )
}

/**
 * The events of a new password. The code that proved the change can be used only once. A code
 * delivered by email also verifies the address.
 */
export function passwordSetEvents(
  state: Human,
  password: NewPassword,
): readonly Draft<UserEvent>[] {
  const { passwordCode, email } = state
  if (password.code === undefined) {
    const isCurrent =
      password.currentVersion !== undefined && password.currentVersion === state.password?.version
    return [passwordChangedEvent(password, state.password, isCurrent ? "current" : undefined)]
  }
  const changed = passwordChangedEvent(password, state.password, "code")
  if (passwordCode?.sealed !== password.code) throw invalidCodeError()
  const { channel, returned, verifier = byUser } = passwordCode
  const hasArrived = channel === "email" && !returned && verifier.by === "user"
  const isKnown = email.verified && !addsUserProof(byUser, email.verifier)
  if (isKnown || !hasArrived) return [changed]
  const types = ["user.human.email.code.added"] as const
  const data = { verifier: byUser }
  return [{ type: "user.human.email.verified", data, erase: { types } }, changed]
}

/**
 * The event of a new password. It erases replaced hashes beyond those kept for the reuse check, and
 * pending password codes.
 */
export function passwordChangedEvent(
  password: NewPassword,
  before: Password | null,
  proof?: Extract<UserEvent, { readonly type: "user.human.password.changed" }>["data"]["proof"],
) {
  const { hash, changeRequired, historyCount: keep = 0 } = password
  const earlier = passwordHashesOf(before).slice(0, keep)
  return {
    type: "user.human.password.changed",
    data: { changeRequired, ...(before === null && { isFirst: true }), ...(proof && { proof }) },
    private: { hash, ...(earlier.length > 0 && { earlier }) },
    erase: { types: [...hashEventTypes, "user.human.password.code.added"] },
  } as const
}

/** Types of the events that contain a hash. */
const hashEventTypes = ["user.human.password.changed", "user.human.password.hash.updated"] as const

/**
 * `none` means that the account does not exist or has no password; never disclose this to the
 * caller.
 */
export type PasswordCheckResult = "ok" | "wrong" | "locked" | "inactive" | "none"

/**
 * Checks a password. Failed attempts slow down the next ones. An unknown account takes the same
 * work and time. The account status is returned only if the password is correct. Throws if too many
 * attempts are waiting.
 */
export const checkPassword = (
  cx: Cx,
  account: string,
  plain: string,
): Promise<PasswordCheckResult> =>
  authenticateWithPassword(
    cx,
    { account, plain },
    async (admit) => (await cx.store.transact(cx, admit)).value,
  )

/** An attempt to sign in with a password. */
export type PasswordAttempt = {
  readonly account: string
  readonly plain: string
  /** Identifies a device that has signed in to this account before. */
  readonly device?: string | undefined
}

/** Decides in the transaction whether a correct password still gives access to its account. */
export type PasswordDecision = (tx: Transaction) => PasswordCheckResult

/**
 * Checks a password like `checkPassword`. If it is correct, `enter` must run one transaction that
 * begins with `admit`.
 */
export function authenticateWithPassword<T>(
  cx: Cx,
  attempt: PasswordAttempt,
  enter: (admit: PasswordDecision) => Promise<T>,
): Promise<T | "wrong" | "none"> {
  const { account, plain, device } = attempt
  const throttleKey = throttleKeyOf(account, device)
  const tries = { line: throttleKey, isStranger: isStandIn(account) }
  return runThrottled<T | "wrong" | "none">(cx, tries, async (delay, failures) => {
    await delay
    const paced = cx.allowance?.pace()
    const startedAt = cx.clock.now()
    await recordBeforehand(cx, tries)
    const password = passwordOf(cx.store.state(cx, user, account))
    if (!password) await verifyNothing(plain, failures)
    const refused = (cause: unknown) => warnOfHash(cx, account, cause)
    if (
      !password ||
      !(await verifyPassword(password.hash, plain, { onUnsupported: refused, failures }))
    ) {
      if (password && !isOwnHash(password.hash))
        recordForeignFailure(cx, cx.clock.now() - startedAt)
      // Concurrent attempts are counted per throttle key.
      await recordFailure(cx, tries, (tx) => countFailedAttempt(tx, account))
      await paced?.(failedAttemptMs(cx))
      return { value: password ? "wrong" : "none", isRight: false }
    }
    const { version, hash } = password
    // Rehash an imported password with the cost of this server.
    const own = isOwnHash(hash) ? undefined : await hashPassword(plain)
    let isRight = false
    const value = await enter((tx) => {
      const decision = decidePassword(tx, { account, line: throttleKey, version, newHash: own })
      isRight = decision === "ok"
      return decision
    })
    return { value, isRight }
  })
}

/** Accounts that a warning was logged for, by store. */
const warnedAccounts = new WeakMap<Store, Set<string>>()

/** Logs once per account that its hash can't be checked; the caller receives "wrong". */
function warnOfHash(cx: Cx, account: string, cause: unknown): void {
  const warned = warnedAccounts.get(cx.store) ?? new Set<string>()
  warnedAccounts.set(cx.store, warned)
  const key = `${cx.instance}/${account}`
  if (warned.has(key)) return
  warned.add(key)
  cx.warn(
    `the password of user ${account} can't be checked; set a new password: ${errorText(cause)}`,
  )
}

type VerifiedPassword = {
  readonly account: string
  readonly line: string
  /** Version of the verified password, and a new hash if the old one was imported. */
  readonly version: number
  readonly newHash: string | undefined
}

/** Decides by the current state of the account, after the password was found correct. */
function decidePassword(
  tx: Transaction,
  { account, line: throttleKey, version, newHash: own }: VerifiedPassword,
): PasswordCheckResult {
  const refusal = passwordRejection(tx.state(user, account), version)
  if (refusal) {
    countFailure(tx, throttleKey)
    return refusal
  }
  if (own !== undefined) replaceImportedHash.within(tx, account, own)
  // Without failures there is nothing to reset; the session records the sign-in.
  if (tx.state(passwordCheck, throttleKey).failures > 0) {
    tx.append(passwordCheck, throttleKey, [
      { type: "user.human.password.check.succeeded", data: {} },
    ])
  }
  resetFailedAttempts(tx, account)
  return "ok"
}

/** Replaces an imported hash with a hash of the same password made by this server. Idempotent. */
const replaceImportedHash = user.command<string>((state, hash) => {
  const password = passwordOf(state)
  if (!password || isOwnHash(password.hash)) return []
  const { changeRequired, changed, version, earlier } = password
  const data = { changeRequired, changed, version }
  const secret = { hash, ...(earlier && { earlier }) }
  const type = "user.human.password.hash.updated"
  return [{ type, data, private: secret, erase: { types: hashEventTypes } }]
})

function passwordRejection(
  state: User,
  version: number,
): Exclude<PasswordCheckResult, "ok"> | undefined {
  if (isAbsent(state)) return "none"
  if (passwordOf(state)?.version !== version) return "wrong"
  return state.status === "active" ? undefined : state.status
}

/** The stored password of a user, or null if there is none. */
export const passwordOf = (state: User): Password | null =>
  "kind" in state && state.kind === "human" ? state.password : null
