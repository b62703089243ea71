import { boundedUntil } from "../../kernel/clock.ts"
import type { Call } from "../../kernel/context.ts"
import { deviceSeparator, directorySeparator } from "../../kernel/event/subject.ts"
import { Fault } from "../../kernel/fault.ts"
import { paceMs } from "../../kernel/limit.ts"
import { lru } from "../../kernel/lru.ts"
import { type Sender, senderOf } from "../../protocol/sender.ts"
import {
  type AttemptPermission,
  aggregate,
  type Cx,
  type Event,
  type QueuedAttempt,
  type Store,
  type Transaction,
} from "../../store/index.ts"
import { type Count, countAt, limits, untilSuccess, withAnother } from "./limits.ts"
import { eraseAfter, oldestSender, type Senders, senderFor, withoutSender } from "./sender.ts"

export type PasswordCheckEvent =
  /** The private part is null in events of earlier versions. */
  | Event<"user.human.password.check.failed", Record<never, never>, Sender>
  | Event<"user.human.password.check.succeeded">
  /** Written when the user is removed; erases the senders of failed attempts. */
  | Event<"user.human.password.check.erased">

/**
 * Failed attempts since the last successful one; `last` is the time of the last failure, ms UTC.
 */
export type Attempts = { readonly failures: number; readonly last: number }

/** How long failed password checks are listed. */
export const passwordListedMs = limits.listedPasswords.window.ms

/**
 * Longer than the listed period, because erasing removes the latest senders too and should not
 * happen daily during a long attack.
 */
const passwordSendersMs = 7 * passwordListedMs

/**
 * Attempts of one account, regardless of how its name was typed. Separate from the user's stream,
 * which is kept forever, so that these can expire.
 */
export const passwordCheck = aggregate<PasswordCheckEvent, Attempts & Senders>({
  stream: "password_check",
  retention: "transient",
  expires: ({ last }) => last + passwordListedMs,
  revision: 3,
  upcasters: { "user.human.password.check.failed": [withoutSender] },
  downcasters: { "user.human.password.check.failed": withoutSender },
  initial: { failures: 0, last: 0, oldest: 0 },
  evolve: {
    "user.human.password.check.failed": (state, event) => {
      const { at: last, count: failures } = withAnother(untilSuccess, countOf(state), event.time)
      return { failures, last, oldest: oldestSender(state, event) }
    },
    // A successful attempt does not shorten how long earlier failures are listed.
    "user.human.password.check.succeeded": (state) => ({ ...state, failures: 0 }),
    "user.human.password.check.erased": () => ({ failures: 0, last: 0, oldest: 0 }),
  },
})

const countOf = ({ failures, last }: Attempts): Count => ({ at: last, count: failures })

/** Prefix of stand-in accounts for unknown names. */
export const unknownAccountPrefix = "nobody:"

/** Whether an account is the stand-in for an unknown name; see `accountOf`. */
export const isStandIn = (account: string): boolean => account.startsWith(unknownAccountPrefix)

/**
 * The key that attempts are counted under. Known devices have their own key, so that attempts by
 * strangers don't delay them.
 */
export const throttleKeyOf = (account: string, device: string | undefined): string =>
  device === undefined ? account : `${account}${deviceSeparator}${device}`

/**
 * The throttle key for a directory password; `name` identifies the directory and the user there.
 */
export const directoryThrottleKey = (account: string, name: string): string =>
  `${account}${directorySeparator}${name}`

/**
 * The account of a throttle key, and whether it is for a known device; null for directory
 * passwords, which are not counted by device.
 */
export function parseThrottleKey(queue: string): {
  readonly userId: string | undefined
  readonly isKnown: boolean | null
} {
  const [ours = "", directory] = queue.split(directorySeparator)
  const [account = "", device] = ours.split(deviceSeparator)
  const userId = isStandIn(account) ? undefined : account
  return { userId, isKnown: directory === undefined ? device !== undefined : null }
}

/** Failed attempts of an account (see `accountOf`). */
export function attemptsOf(cx: Cx, account: string): Attempts {
  const { failures, last } = cx.store.state(cx, passwordCheck, account)
  // Failures with directory passwords are stored even before the name has an account.
  if (!isStandIn(account) || last > 0) return { failures, last }
  return strangerAttempts(cx.store, `${cx.instance}/${account}`)
}

/**
 * Failed attempts for unknown names. Nothing is stored, because anyone can make up names; they are
 * throttled from memory.
 */
const strangersByStore = new WeakMap<Store, ReturnType<typeof lru<Attempts>>>()
const strangersMax = 10_000

function strangersOf(store: Store) {
  const strangers = strangersByStore.get(store) ?? lru<Attempts>(strangersMax)
  strangersByStore.set(store, strangers)
  return strangers
}

const strangerAttempts = (store: Store, queue: string): Attempts =>
  strangersOf(store).get(queue) ?? { failures: 0, last: 0 }

/** Limit of waiting attempts, and of waiting hashes. */
export const waitingMax = 256

/** Maximum time until a response, after which connections would time out. */
const queueTimeMaxMs = 15_000

/** Maximum delay that still leaves time for one more waiting attempt. */
const delayMaxSeconds = Math.floor((queueTimeMaxMs / 2 - paceMs) / 1000)

/**
 * Attempts of one account that run concurrently while few have failed. Limited so that accounts
 * with imported hashes don't fill the lane for these.
 */
const concurrentMax = 2

/** A waiting attempt; resolves with its delay in seconds. */
type WaitingAttempt = PromiseWithResolvers<number> & {
  readonly source: string | undefined
  /** Number of attempts from the same address that run before it. */
  readonly priorAttempts: number
  /** Random order among attempts with the same number of prior ones. */
  readonly tieBreaker: number
  /** Arrival time, ms UTC. */
  readonly arrivedAt: number
}

/** Running and waiting attempts of one account. */
type AttemptQueue = {
  running: number
  failures: number
  /** When the last started attempt will have been answered, ms UTC. */
  busyUntil: number
  /** In the order in which they run. */
  waiting: readonly WaitingAttempt[]
  /** Number of started attempts per address. */
  readonly startedBySource: Map<string, number>
}

const queuesByStore = new WeakMap<Store, Map<string, AttemptQueue>>()

/** Context of the queues. */
type QueueContext = Pick<Call, "clock"> & { readonly store: Store }

/** Attempts that are counted together; those of strangers are kept in memory only. */
export type ThrottledAccount = { readonly line: string; readonly isStranger: boolean }

/**
 * Runs a password check after its delay, so that concurrent attempts can't bypass the throttling,
 * also across worker processes. `check` receives the number of recent failures and returns whether
 * the password was correct. Throws if too many attempts are waiting, without running the check.
 */
export async function runThrottled<T>(
  cx: Cx,
  { line: queue, isStranger }: ThrottledAccount,
  check: (
    delay: Promise<void>,
    failures: number,
  ) => Promise<{ readonly value: T; readonly isRight: boolean }>,
): Promise<T> {
  const attempt: QueuedAttempt = {
    line: `${cx.instance}/${queue}`,
    isStranger,
    failures: recentFailures(cx, queue),
    source: cx.allowance?.source(),
    lot: Buffer.from(cx.random.bytes(4)).readUInt32LE(),
  }
  const elsewhere = cx.store.worker?.writer
  const slot = await (elsewhere ? elsewhere.turn(attempt) : waitForSlot(cx, attempt))
  let isRight = false
  try {
    const checked = await check(waitSeconds(cx, slot.delaySeconds), slot.failures)
    isRight = checked.isRight
    return checked.value
  } finally {
    slot.over(isRight)
  }
}

async function waitForSlot(
  keeper: QueueContext,
  attempt: QueuedAttempt,
): Promise<AttemptPermission> {
  const { line: key, isStranger } = attempt
  const { store, clock } = keeper
  const failures = isStranger
    ? recentCount(strangerAttempts(store, key), clock.now())
    : attempt.failures
  const lines = queuesByStore.get(keeper.store) ?? new Map<string, AttemptQueue>()
  queuesByStore.set(keeper.store, lines)
  const queue = lines.get(key) ?? createQueue(failures)
  lines.set(key, queue)
  const queued = enterQueue(keeper, queue, attempt)
  const delay = typeof queued === "number" ? queued : await queued.promise
  return {
    delaySeconds: delay,
    failures: queue.failures,
    over: (isRight) => {
      queue.failures = isRight ? 0 : queue.failures + 1
      if (isStranger) {
        strangersOf(keeper.store).set(key, { failures: queue.failures, last: keeper.clock.now() })
      }
      finishAttempt(keeper, queue)
      if (queue.running === 0) lines.delete(key)
    },
  }
}

/** Provides slots to another process; its open slots end when it exits. */
export function createSlotServer(keeper: QueueContext) {
  const slots = new Map<number, AttemptPermission>()
  let lastTicket = 0
  let isClosed = false
  return {
    turn: async (attempt: QueuedAttempt) => {
      const slot = await waitForSlot(keeper, attempt)
      const ticket = ++lastTicket
      if (isClosed) slot.over(false)
      else slots.set(ticket, slot)
      return { ticket, delaySeconds: slot.delaySeconds, failures: slot.failures }
    },
    turned: ({ ticket, isRight }: { readonly ticket: number; readonly isRight: boolean }) => {
      slots.get(ticket)?.over(isRight)
      slots.delete(ticket)
    },
    gone: () => {
      isClosed = true
      for (const slot of slots.values()) slot.over(false)
      slots.clear()
    },
  }
}

const createQueue = (failures: number): AttemptQueue => ({
  running: 0,
  failures,
  busyUntil: 0,
  waiting: [],
  startedBySource: new Map(),
})

/** Recent consecutive failures of an account or throttle key. */
export const recentFailures = (cx: Cx, account: string): number =>
  recentCount(attemptsOf(cx, account), cx.clock.now())

const recentCount = (attempts: Attempts, now: number): number =>
  countAt(limits.wrongPasswords, countOf(attempts), now)

/** Every five failures (`limits.wrongPasswords`) delay the next attempt by another second. */
const delaySeconds = (failures: number): number =>
  Math.min(Math.floor(failures / limits.wrongPasswords.max), delayMaxSeconds)

/** Duration of an attempt, from its delay until the response. */
const attemptMs = (failures: number): number => delaySeconds(failures) * 1000 + paceMs

function waitSeconds(cx: Cx, seconds: number): Promise<void> {
  if (seconds === 0) return Promise.resolve()
  return new Promise((resolve) => cx.clock.after(seconds * 1000, resolve))
}

const isSlow = ({ failures }: AttemptQueue): boolean => failures >= limits.wrongPasswords.max
const concurrencyOf = (queue: AttemptQueue): number => (isSlow(queue) ? 1 : concurrentMax)

/**
 * Starts an attempt and returns its delay, or adds it to the queue. Addresses with fewer prior
 * attempts go first, with random order among equals, so that no caller can block others by arriving
 * first.
 */
function enterQueue(
  { clock }: QueueContext,
  queue: AttemptQueue,
  { source, lot: tieBreaker }: QueuedAttempt,
): WaitingAttempt | number {
  const now = clock.now()
  const isFree = queue.waiting.length === 0 && queue.running < concurrencyOf(queue)
  if (isFree) return startAttempt(queue, source, now)
  const same = queue.waiting.filter((other) => other.source === source).length
  // While the account is throttled, each address can have only one waiting attempt.
  if (same > 0 && source !== undefined && isSlow(queue)) throw tooManyError(queue)
  const before = (queue.startedBySource.get(source ?? "") ?? 0) + same
  const waitingAttempt: WaitingAttempt = {
    ...Promise.withResolvers<number>(),
    source,
    priorAttempts: before,
    tieBreaker,
    arrivedAt: now,
  }
  queue.waiting = [...queue.waiting, waitingAttempt].sort(
    (a, b) => a.priorAttempts - b.priorAttempts || a.tieBreaker - b.tieBreaker,
  )
  rejectOverdue(queue, now)
  return waitingAttempt
}

/**
 * Starts an attempt. The delay depends on failures so far; waiting attempts use its end to estimate
 * theirs.
 */
function startAttempt(queue: AttemptQueue, source: string | undefined, now: number): number {
  queue.running++
  queue.busyUntil = now + attemptMs(queue.failures)
  queue.startedBySource.set(source ?? "", (queue.startedBySource.get(source ?? "") ?? 0) + 1)
  return delaySeconds(queue.failures)
}

/** Starts as many waiting attempts as possible, and rejects those that would wait too long. */
function finishAttempt({ clock }: QueueContext, queue: AttemptQueue): void {
  const now = clock.now()
  queue.running--
  rejectOverdue(queue, now)
  while (queue.running < concurrencyOf(queue)) {
    const [next, ...others] = queue.waiting
    if (!next) break
    queue.waiting = others
    next.resolve(startAttempt(queue, next.source, now))
  }
}

/**
 * Rejects attempts that would wait too long if all attempts before them fail, since each failure
 * adds delay. While few have failed, no failures are assumed.
 */
function rejectOverdue(queue: AttemptQueue, now: number): void {
  let failures = queue.failures + queue.running
  let until = queue.running === 0 ? now : boundedUntil(queue.busyUntil, queueTimeMaxMs, now)
  let staying = 0
  queue.waiting = queue.waiting.filter((each) => {
    const responseAt = until + (isSlow(queue) ? attemptMs(failures) : 0)
    if (staying === waitingMax || responseAt > each.arrivedAt + queueTimeMaxMs) {
      each.reject(tooManyError(queue))
      return false
    }
    staying++
    failures++
    until = responseAt
    return true
  })
}

function tooManyError(queue: AttemptQueue): Fault {
  const seconds = Math.max(delaySeconds(queue.failures), 1)
  const retryAfterSeconds = (queue.waiting.length + 1) * seconds
  return new Fault(
    "resource_exhausted",
    "password.too_many_tries",
    "too many sign-in attempts are waiting for this account; try again shortly",
    { retryAfterSeconds },
  )
}

/**
 * Stores that could not record a failed attempt, for example because the disk is full, with the
 * cause. Until a write succeeds, each attempt is recorded before it is checked, so that no attempt
 * is uncounted.
 */
const failedStores = new WeakMap<Store, { readonly cause: unknown }>()

/** Records a failed attempt before the check while failures can't be recorded afterwards. */
export async function recordBeforehand(cx: Cx, tries: ThrottledAccount): Promise<void> {
  if (failedStores.has(cx.store)) await recordFailure(cx, tries)
}

export async function recordFailure(
  cx: Cx,
  { line: queue, isStranger }: ThrottledAccount,
  more?: (tx: Transaction) => void,
): Promise<void> {
  if (isStandIn(queue) && cx.from) {
    const { address } = senderOf(cx.from)
    if (address !== "") cx.noteStranger?.(address)
  }
  if (isStranger) {
    // Nothing is stored for strangers, but the response must be the same.
    const trouble = failedStores.get(cx.store)
    if (trouble) throw trouble.cause
    return
  }
  try {
    await cx.store.transact(cx, (tx) => {
      countFailure(tx, queue)
      more?.(tx)
    })
    failedStores.delete(cx.store)
  } catch (cause) {
    failedStores.set(cx.store, { cause })
    throw cause
  }
}

/**
 * Counts a failed attempt, with its sender if the account exists; the sender is erased with the
 * user.
 */
export function countFailure(tx: Transaction, queue: string): void {
  const { userId } = parseThrottleKey(queue)
  const type = "user.human.password.check.failed"
  const old = eraseAfter(tx.state(passwordCheck, queue), { keptMs: passwordSendersMs, now: tx.now })
  tx.append(passwordCheck, queue, [{ type, data: {}, private: senderFor(tx, userId), ...old }])
}
