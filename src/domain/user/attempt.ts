import { Fault } from "../../kernel/fault.ts"
import { aggregate, type Cx, type Event, type Store } from "../../store/index.ts"
import { waitingMax } from "./password.ts"

export type PasswordCheckEvent =
  | Event<"user.human.password.check.failed">
  | Event<"user.human.password.check.succeeded">

/** Failed tries since the last one that worked; `last` is ms UTC, 0 where there are none. */
export type Attempts = { readonly failures: number; readonly last: number }

/**
 * Tries of one account, whatever the spelling it was asked for by, apart from the user's own
 * stream: that one is kept forever, these only as long as they say something.
 */
export const passwordCheck = aggregate<PasswordCheckEvent, Attempts>({
  stream: "password_check",
  retention: "transient",
  expires: ({ last }) => last + 86_400_000,
  initial: { failures: 0, last: 0 },
  evolve: {
    "user.human.password.check.failed": ({ failures }, { time }) => ({
      failures: failures + 1,
      last: time,
    }),
    "user.human.password.check.succeeded": () => ({ failures: 0, last: 0 }),
  },
})

/** The failed tries of an account (see `accountOf`). */
export const attemptsOf = (cx: Cx, account: string): Attempts =>
  cx.store.state(cx, passwordCheck, account)

/** From so many failed tries on, the next ones come one by one, and slower with each further so. */
const triesUntilSlow = 5
const slowestSeconds = 10
const remembered = 15 * 60_000

/** How many tries of an account are looked at together as long as few have failed. */
const together = 8

/** Nobody is left waiting longer than this; a connection would not last. */
const patienceSeconds = 15

/** Somebody whose try waits for its turn. */
type Waiting = PromiseWithResolvers<void> & {
  readonly source: string | undefined
  /** How many tries from the same address have their turn before it. */
  readonly before: number
}

/** The tries of one account that are under way: those that are looked at, and those that wait. */
type Line = {
  inside: number
  failures: number
  /** In the order in which they came. */
  readonly waiting: Waiting[]
  /** How many tries were let in from each address. */
  readonly turns: Map<string, number>
}

const linesByStore = new WeakMap<Store, Map<string, Line>>()

/**
 * Lets a try of an account be made in its turn: tries that come at the same moment don't slip past
 * the delay that failed ones have earned. `check` answers whether it was right. Faults where too
 * many wait already, without that the try is made.
 */
export async function inTurn<T>(
  cx: Cx,
  account: string,
  check: (delay: Promise<void>) => Promise<{ readonly value: T; readonly isRight: boolean }>,
): Promise<T> {
  const lines = linesByStore.get(cx.store) ?? new Map<string, Line>()
  linesByStore.set(cx.store, lines)
  const key = `${cx.instance}/${account}`
  const line = lines.get(key) ?? newLine(recentFailures(cx, account))
  lines.set(key, line)

  const place = enter(line, cx.allowance?.source())
  if (place) await place.promise
  let isRight = false
  try {
    const checked = await check(after(cx, delaySeconds(line)))
    isRight = checked.isRight
    return checked.value
  } finally {
    line.failures = isRight ? 0 : line.failures + 1
    leave(line)
    if (line.inside === 0) lines.delete(key)
  }
}

const newLine = (failures: number): Line => ({
  inside: 0,
  failures,
  waiting: [],
  turns: new Map(),
})

function recentFailures(cx: Cx, account: string): number {
  const { failures, last } = attemptsOf(cx, account)
  return cx.clock.now() - last < remembered ? failures : 0
}

/** Each further five failed tries make the next one wait a second longer. */
const delaySeconds = ({ failures }: Line): number =>
  Math.min(Math.floor(failures / triesUntilSlow), slowestSeconds)

function after(cx: Cx, seconds: number): Promise<void> {
  if (seconds === 0) return Promise.resolve()
  return new Promise((resolve) => cx.clock.after(seconds * 1000, resolve))
}

const roomInside = ({ failures }: Line): number => (failures < triesUntilSlow ? together : 1)

function roomToWait(line: Line): number {
  const seconds = delaySeconds(line)
  return seconds === 0 ? waitingMax : Math.floor(patienceSeconds / seconds)
}

/**
 * Lets a try in, or answers its place among those that wait. Addresses take turns: who has had
 * fewer than others comes before them, and takes the place of the last of them where all are taken.
 */
function enter(line: Line, source: string | undefined): Waiting | undefined {
  if (line.waiting.length === 0 && line.inside < roomInside(line)) {
    letIn(line, source)
    return undefined
  }
  const same = line.waiting.filter((other) => other.source === source).length
  // Where it is slow, whoever comes from one address leaves room for others.
  if (same > 0 && source !== undefined && delaySeconds(line) > 0) throw tooMany(line)
  const before = (line.turns.get(source ?? "") ?? 0) + same
  const place: Waiting = { ...Promise.withResolvers<void>(), source, before }
  line.waiting.push(place)
  sendAway(line)
  return place
}

function letIn(line: Line, source: string | undefined): void {
  line.inside++
  line.turns.set(source ?? "", (line.turns.get(source ?? "") ?? 0) + 1)
}

/** Lets the next ones in, as many as there is room for, and sends away who would wait too long. */
function leave(line: Line): void {
  line.inside--
  while (line.inside < roomInside(line)) {
    const next = line.waiting.reduce<Waiting | undefined>(
      (first, each) => (first && first.before <= each.before ? first : each),
      undefined,
    )
    if (!next) break
    line.waiting.splice(line.waiting.indexOf(next), 1)
    letIn(line, next.source)
    next.resolve()
  }
  sendAway(line)
}

/** Those go for whom there is no room, the last ones first. */
function sendAway(line: Line): void {
  while (line.waiting.length > roomToWait(line)) {
    const last = line.waiting.reduce((one, each) => (one.before > each.before ? one : each))
    line.waiting.splice(line.waiting.indexOf(last), 1)
    last.reject(tooMany(line))
  }
}

function tooMany(line: Line): Fault {
  const retryAfterSeconds = (line.waiting.length + 1) * Math.max(delaySeconds(line), 1)
  return new Fault(
    "resource_exhausted",
    "password.too_many_tries",
    "too many tries wait for this account already; try again in a moment",
    { retryAfterSeconds },
  )
}
