import type { Logger } from "@logtape/logtape"
import { type Clock, type Timer, within } from "../../kernel/clock.ts"
import { Fault, reasonText } from "../../kernel/fault.ts"
import type { Channel } from "../../store/index.ts"
import { keepRounds } from "../background/round.ts"
import type { Beginning } from "./beginning.ts"
import type { Child } from "./child.ts"

/** The place of one worker, in which another one follows it when it ends. */
export type Slot = {
  /** To the one that answers; undefined where there is none now. */
  readonly line: () => Channel | undefined
  /** Starts the first one; resolves when it answers, or did not begin. */
  readonly begin: () => Promise<void>
  /**
   * What the one that answers says to this; undefined where there is none, or where it ends
   * meanwhile. One that says nothing for so many seconds is ended, for another one to follow.
   */
  readonly ask: <T>(name: string, seconds: number) => Promise<T | undefined>
  /** Has it answer what is in flight, and end. */
  readonly stop: () => Promise<void>
}

export type SlotParts = {
  readonly part: number
  readonly log: Logger
  readonly clock: Clock
  readonly start: () => Child
  readonly beginning: () => Beginning
}

/** One that is slower than this has come to nothing. */
const beginMsMax = 30_000
/** Whoever ends at once is started less and less often. */
const again = { firstMs: 100, lastMs: 10_000, calmMs: 60_000 }
/** Nobody else would notice one that hangs: it goes on being given its share of the connections. */
const ping = { everyMs: 2000, seconds: 8 }
/** Less than a stop may take in all: what the others wrote is to be closed, too. */
const stopSeconds = 7

export function slotOf(parts: SlotParts): Slot {
  const { part, log, clock, beginning } = parts
  let running: Child | undefined
  let child: Child | undefined
  let timer: Timer | undefined
  let pinging: { readonly stop: () => Promise<void> } | undefined
  let isStopped = false
  let failures = 0
  const ended = (begun: number, how: string | number) => {
    running = undefined
    if (isStopped) return
    if (performance.now() - begun > again.calmMs) failures = 0
    const ms = Math.min(again.firstMs * 2 ** failures++, again.lastMs)
    log.error("worker {part} has ended ({how}); another one is started in {ms} ms", {
      part,
      how,
      ms,
    })
    timer = clock.after(ms, () => void begin())
  }
  const begin = async () => {
    const begun = performance.now()
    let started: Child
    try {
      started = parts.start()
    } catch (cause) {
      return ended(begun, reasonText(cause))
    }
    child = started
    void started.exited.then((how) => ended(begun, how))
    try {
      const work = started.line.ask("begin", beginning())
      await within(clock, beginMsMax, { work, late: lateError })
      running = started
    } catch (cause) {
      log.error("worker {part} did not begin: {cause}", { part, cause: reasonText(cause) })
      started.kill()
    }
  }
  const ask = async <T>(name: string, seconds: number): Promise<T | undefined> => {
    const asked = running
    if (!asked) return undefined
    const answer = await outcomeOf(asked.line.ask<T>(name), { clock, seconds })
    if ("value" in answer) return answer.value
    const { cause = `nothing for ${seconds} seconds` } = answer
    log.error("worker {part} is ended: asked for {name} it said {cause}", { part, name, cause })
    if (running === asked) running = undefined
    asked.kill()
    return undefined
  }
  return {
    line: () => running?.line,
    begin: async () => {
      await begin()
      if (!isStopped)
        pinging = keepRounds(clock, ping.everyMs, () => ask<void>("ping", ping.seconds))
    },
    ask,
    stop: async () => {
      isStopped = true
      timer?.stop()
      if (running) await ask("stop", stopSeconds)
      else child?.kill()
      await Promise.all([child?.exited, pinging?.stop()])
    },
  }
}

type Outcome<T> = { readonly value: T | undefined } | { readonly cause?: string }

/** What is said within so many seconds, or why whoever was asked is no good any more. */
async function outcomeOf<T>(
  asked: Promise<T>,
  { clock, seconds }: { readonly clock: Clock; readonly seconds: number },
): Promise<Outcome<T>> {
  const silence = silenceOf(clock, seconds)
  try {
    return await Promise.race([
      quietly(asked).then((value) => ({ value })),
      silence.whole.then(() => ({})),
    ])
  } catch (cause) {
    return { cause: reasonText(cause) }
  } finally {
    silence.stop()
  }
}

/**
 * So many seconds in which this process ran: where it did not, the machine had stopped, say, what
 * was answered meanwhile is only about to be heard.
 */
function silenceOf(clock: Clock, seconds: number) {
  const { promise, resolve } = Promise.withResolvers<void>()
  let left = seconds
  let timer: Timer | undefined
  const tick = () => {
    if (left-- > 0) timer = clock.after(1000, tick)
    else resolve()
  }
  tick()
  return { whole: promise, stop: () => timer?.stop() }
}

/** Whoever is gone reads nothing, and has nothing to tell. */
export async function quietly<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked
  } catch (cause) {
    if (cause instanceof Fault) return undefined
    throw cause
  }
}

const lateError = () =>
  new Fault("deadline_exceeded", "worker.late", `it took more than ${beginMsMax / 1000} seconds`)
