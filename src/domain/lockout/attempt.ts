import { boundedUntil } from "../../kernel/clock.ts"
import type { Call } from "../../kernel/context.ts"
import { inDirectory, onDevice } from "../../kernel/event/subject.ts"
import { Fault } from "../../kernel/fault.ts"
import { paceMs } from "../../kernel/limit.ts"
import { lru } from "../../kernel/lru.ts"
import { type Sender, senderOf } from "../../protocol/sender.ts"
import {
  aggregate,
  type Cx,
  type Event,
  type Store,
  type Transaction,
  type Try,
  type Turn,
} from "../../store/index.ts"
import { type Count, countAt, limits, untilRight, withAnother } from "./limits.ts"
import { eraseAfter, oldestSender, type Senders, senderFor, withoutSender } from "./sender.ts"

export type PasswordCheckEvent =
  /** The private part is null in events of earlier versions. */
  | Event<"user.human.password.check.failed", Record<never, never>, Sender>
  | Event<"user.human.password.check.succeeded">
  /** The person is removed; it erases where failed tries came from. */
  | Event<"user.human.password.check.erased">

/** Failed tries since the last one that worked; `last` is when one last failed, ms UTC. */
export type Attempts = { readonly failures: number; readonly last: number }

/** Wrong passwords are listed for so long. */
export const passwordListedMs = limits.listedPasswords.window.ms

/**
 * Longer than they are listed: erasing takes along where the latest came from, so that it must not
 * happen on each day of a long attack.
 */
const passwordSendersMs = 7 * passwordListedMs

/**
 * Tries of one account, whatever the spelling it was asked for by, apart from the user's own
 * stream: that one is kept forever, these only as long as they say something.
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
      const { at: last, count: failures } = withAnother(untilRight, countOf(state), event.time)
      return { failures, last, oldest: oldestSender(state, event) }
    },
    // What failed before is shown to those concerned as long as what failed after.
    "user.human.password.check.succeeded": (state) => ({ ...state, failures: 0 }),
    "user.human.password.check.erased": () => ({ failures: 0, last: 0, oldest: 0 }),
  },
})

const countOf = ({ failures, last }: Attempts): Count => ({ at: last, count: failures })

/** What the streams of accounts that are nobody's begin with. */
export const nobody = "nobody:"

/** Whether an account is the stand-in of a name that is nobody's; see `accountOf`. */
export const isStandIn = (account: string): boolean => account.startsWith(nobody)

/** What tries are counted on: those from a device that is known don't stand behind strangers'. */
export const lineOf = (account: string, device: string | undefined): string =>
  device === undefined ? account : `${account}${onDevice}${device}`

/** The same for a password that a directory keeps; `name` says in which one, and whose. */
export const lineAt = (account: string, name: string): string => `${account}${inDirectory}${name}`

/**
 * Whose account a line is of, and whether it is that of a device they have signed in from: null for
 * the password of a directory, whose tries are not told apart by device.
 */
export function accountIn(line: string): {
  readonly userId: string | undefined
  readonly isKnown: boolean | null
} {
  const [ours = "", directory] = line.split(inDirectory)
  const [account = "", device] = ours.split(onDevice)
  const userId = isStandIn(account) ? undefined : account
  return { userId, isKnown: directory === undefined ? device !== undefined : null }
}

/** The failed tries of an account (see `accountOf`). */
export function attemptsOf(cx: Cx, account: string): Attempts {
  const { failures, last } = cx.store.state(cx, passwordCheck, account)
  // Those of directories are written also before the name has an account here.
  if (!isStandIn(account) || last > 0) return { failures, last }
  return strangerTries(cx.store, `${cx.instance}/${account}`)
}

/**
 * Failed tries of names that are nobody's. Anybody can make up any number of names, so nothing is
 * written of them; they slow down like all others, as long as this process remembers them.
 */
const strangersByStore = new WeakMap<Store, ReturnType<typeof lru<Attempts>>>()
const strangersMax = 10_000

function strangersOf(store: Store) {
  const strangers = strangersByStore.get(store) ?? lru<Attempts>(strangersMax)
  strangersByStore.set(store, strangers)
  return strangers
}

const strangerTries = (store: Store, line: string): Attempts =>
  strangersOf(store).get(line) ?? { failures: 0, last: 0 }

/** How many tries, or hashes, may wait. */
export const waitingMax = 256

/** Nobody is kept longer than this, until they are told; a connection would not last. */
const patienceMs = 15_000

/** As slow as it may get while one more can wait behind who has just had their turn. */
const slowestSeconds = Math.floor((patienceMs / 2 - paceMs) / 1000)

/**
 * How many tries of an account are looked at together as long as few have failed: no more, so that
 * those of one account with an imported hash leave the lane of these to others, and are through
 * before failures are told.
 */
const together = 2

/** Somebody whose try waits for its turn, and for how long it is delayed then, in seconds. */
type Waiting = PromiseWithResolvers<number> & {
  readonly source: string | undefined
  /** How many tries from the same address have their turn before it. */
  readonly before: number
  /** Decides among those of whom `before` is the same. */
  readonly lot: number
  /** When it came, ms UTC. */
  readonly came: number
}

/** The tries of one account that are under way: those that are looked at, and those that wait. */
type Line = {
  inside: number
  failures: number
  /** When the last one that was let in will have been told, ms UTC. */
  until: number
  /** In the order in which they have their turn. */
  waiting: readonly Waiting[]
  /** How many tries were let in from each address. */
  readonly turns: Map<string, number>
}

const linesByStore = new WeakMap<Store, Map<string, Line>>()

/** What lines are kept with. */
type Keeper = Pick<Call, "clock"> & { readonly store: Store }

/** Tries that are counted together; those of strangers are remembered, not written. */
export type Tries = { readonly line: string; readonly isStranger: boolean }

/**
 * Lets a try of an account be made in its turn: tries that come at the same moment don't slip past
 * the delay that failed ones have earned, whichever process that shares the file they come to.
 * `check` is told how many have failed lately, and answers whether it was right. Faults where too
 * many wait already, without that the try is made.
 */
export async function inTurn<T>(
  cx: Cx,
  { line, isStranger }: Tries,
  check: (
    delay: Promise<void>,
    failures: number,
  ) => Promise<{ readonly value: T; readonly isRight: boolean }>,
): Promise<T> {
  const asked: Try = {
    line: `${cx.instance}/${line}`,
    isStranger,
    failures: recentFailures(cx, line),
    source: cx.allowance?.source(),
    lot: Buffer.from(cx.random.bytes(4)).readUInt32LE(),
  }
  const elsewhere = cx.store.worker?.writer
  const turn = await (elsewhere ? elsewhere.turn(asked) : turnHere(cx, asked))
  let isRight = false
  try {
    const checked = await check(after(cx, turn.delaySeconds), turn.failures)
    isRight = checked.isRight
    return checked.value
  } finally {
    turn.over(isRight)
  }
}

async function turnHere(keeper: Keeper, asked: Try): Promise<Turn> {
  const { line: key, isStranger } = asked
  const { store, clock } = keeper
  const failures = isStranger ? lately(strangerTries(store, key), clock.now()) : asked.failures
  const lines = linesByStore.get(keeper.store) ?? new Map<string, Line>()
  linesByStore.set(keeper.store, lines)
  const line = lines.get(key) ?? newLine(failures)
  lines.set(key, line)
  const entered = enter(keeper, line, asked)
  const delay = typeof entered === "number" ? entered : await entered.promise
  return {
    delaySeconds: delay,
    failures: line.failures,
    over: (isRight) => {
      line.failures = isRight ? 0 : line.failures + 1
      if (isStranger) {
        strangersOf(keeper.store).set(key, { failures: line.failures, last: keeper.clock.now() })
      }
      leave(keeper, line)
      if (line.inside === 0) lines.delete(key)
    },
  }
}

/** Gives turns to another process; those that it has are over when it is gone. */
export function turnsFor(keeper: Keeper) {
  const given = new Map<number, Turn>()
  let tickets = 0
  let isGone = false
  return {
    turn: async (asked: Try) => {
      const turn = await turnHere(keeper, asked)
      const ticket = ++tickets
      if (isGone) turn.over(false)
      else given.set(ticket, turn)
      return { ticket, delaySeconds: turn.delaySeconds, failures: turn.failures }
    },
    turned: ({ ticket, isRight }: { readonly ticket: number; readonly isRight: boolean }) => {
      given.get(ticket)?.over(isRight)
      given.delete(ticket)
    },
    gone: () => {
      isGone = true
      for (const turn of given.values()) turn.over(false)
      given.clear()
    },
  }
}

const newLine = (failures: number): Line => ({
  inside: 0,
  failures,
  until: 0,
  waiting: [],
  turns: new Map(),
})

/** How many tries in a row have failed lately, on an account or a line of it. */
export const recentFailures = (cx: Cx, account: string): number =>
  lately(attemptsOf(cx, account), cx.clock.now())

const lately = (attempts: Attempts, now: number): number =>
  countAt(limits.wrongPasswords, countOf(attempts), now)

/** Each further five (`limits.wrongPasswords`) make the next one wait a second longer. */
const delaySeconds = (failures: number): number =>
  Math.min(Math.floor(failures / limits.wrongPasswords.max), slowestSeconds)

/** How long a try takes, with the delay before it and until it may be told. */
const tryMs = (failures: number): number => delaySeconds(failures) * 1000 + paceMs

function after(cx: Cx, seconds: number): Promise<void> {
  if (seconds === 0) return Promise.resolve()
  return new Promise((resolve) => cx.clock.after(seconds * 1000, resolve))
}

const isSlow = ({ failures }: Line): boolean => failures >= limits.wrongPasswords.max
const roomInside = (line: Line): number => (isSlow(line) ? 1 : together)

/**
 * Lets a try in and answers its delay, or else its place among those that wait. Addresses take
 * turns: who has had fewer than others comes before them, and chance decides among equals, so that
 * nobody keeps others out by being there first.
 */
function enter({ clock }: Keeper, line: Line, { source, lot }: Try): Waiting | number {
  const now = clock.now()
  const isFree = line.waiting.length === 0 && line.inside < roomInside(line)
  if (isFree) return letIn(line, source, now)
  const same = line.waiting.filter((other) => other.source === source).length
  // Where it is slow, whoever comes from one address leaves room for others.
  if (same > 0 && source !== undefined && isSlow(line)) throw tooManyError(line)
  const before = (line.turns.get(source ?? "") ?? 0) + same
  const place: Waiting = { ...Promise.withResolvers<number>(), source, before, lot, came: now }
  line.waiting = [...line.waiting, place].sort((a, b) => a.before - b.before || a.lot - b.lot)
  sendAway(line, now)
  return place
}

/** What has failed by now says how long it is delayed: others go by when it will be over. */
function letIn(line: Line, source: string | undefined, now: number): number {
  line.inside++
  line.until = now + tryMs(line.failures)
  line.turns.set(source ?? "", (line.turns.get(source ?? "") ?? 0) + 1)
  return delaySeconds(line.failures)
}

/** Lets the next ones in, as many as there is room for, and sends away who would wait too long. */
function leave({ clock }: Keeper, line: Line): void {
  const now = clock.now()
  line.inside--
  sendAway(line, now)
  while (line.inside < roomInside(line)) {
    const [next, ...others] = line.waiting
    if (!next) break
    line.waiting = others
    next.resolve(letIn(line, next.source, now))
  }
}

/**
 * Those go who would be kept too long if all before them fail: each that does slows down the next.
 * As long as few have failed, nobody is expected to.
 */
function sendAway(line: Line, now: number): void {
  let failures = line.failures + line.inside
  let until = line.inside === 0 ? now : boundedUntil(line.until, patienceMs, now)
  let staying = 0
  line.waiting = line.waiting.filter((each) => {
    const told = until + (isSlow(line) ? tryMs(failures) : 0)
    if (staying === waitingMax || told > each.came + patienceMs) {
      each.reject(tooManyError(line))
      return false
    }
    staying++
    failures++
    until = told
    return true
  })
}

function tooManyError(line: Line): Fault {
  const seconds = Math.max(delaySeconds(line.failures), 1)
  const retryAfterSeconds = (line.waiting.length + 1) * seconds
  return new Fault(
    "resource_exhausted",
    "password.too_many_tries",
    "too many tries wait for this account already; try again in a moment",
    { retryAfterSeconds },
  )
}

/**
 * Stores that could not keep a failed try, as with a full disk, and why: until one can be written
 * again, each is written before it is looked at, so that nobody guesses uncounted.
 */
const unkept = new WeakMap<Store, { readonly cause: unknown }>()

/** Writes a failed try ahead of looking at it, as long as none could be kept. */
export async function keepAhead(cx: Cx, tries: Tries): Promise<void> {
  if (unkept.has(cx.store)) await keepFailure(cx, tries)
}

export async function keepFailure(
  cx: Cx,
  { line, isStranger }: Tries,
  more?: (tx: Transaction) => void,
): Promise<void> {
  if (isStandIn(line) && cx.from) {
    const { address } = senderOf(cx.from)
    if (address !== "") cx.noteStranger?.(address)
  }
  if (isStranger) {
    // Nothing is written of it, and it must not differ from what is.
    const trouble = unkept.get(cx.store)
    if (trouble) throw trouble.cause
    return
  }
  try {
    await cx.store.transact(cx, (tx) => {
      countFailure(tx, line)
      more?.(tx)
    })
    unkept.delete(cx.store)
  } catch (cause) {
    unkept.set(cx.store, { cause })
    throw cause
  }
}

/** Counts a failed try, with where it came from if it is somebody's: it is erased with them. */
export function countFailure(tx: Transaction, line: string): void {
  const { userId } = accountIn(line)
  const type = "user.human.password.check.failed"
  const old = eraseAfter(tx.state(passwordCheck, line), { keptMs: passwordSendersMs, now: tx.now })
  tx.append(passwordCheck, line, [{ type, data: {}, private: senderFor(tx, userId), ...old }])
}
