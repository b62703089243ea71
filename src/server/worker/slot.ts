import type { Logger } from "@logtape/logtape"
import { type Clock, type Timer, withTimeout } from "../../kernel/clock.ts"
import { errorText, Fault } from "../../kernel/fault.ts"
import type { Channel } from "../../store/index.ts"
import { startRepeating } from "../background/repeat.ts"
import type { WorkerProcess } from "./child.ts"
import type { WorkerStart } from "./start-message.ts"

/** A slot for one worker, which is restarted when it ends. */
export type WorkerSlot = {
  /** The channel to the running worker; undefined if there is none. */
  readonly channel: () => Channel | undefined
  /** Starts the first worker; resolves when it is serving or has failed. */
  readonly begin: () => Promise<void>
  /**
   * Sends a request to the running worker; undefined if there is none or it ends. A worker that
   * does not respond within the given seconds is replaced.
   */
  readonly request: <T>(name: string, seconds: number) => Promise<T | undefined>
  /** Makes the worker complete running requests and end. */
  readonly stop: () => Promise<void>
}

export type SlotParts = {
  readonly part: number
  readonly log: Logger
  readonly clock: Clock
  readonly start: () => WorkerProcess
  readonly createStartMessage: () => WorkerStart
}

/** A worker that takes longer to start has failed. */
const startMsMax = 30_000
/** The pause before a restart, which increases if workers end immediately. */
const restart = { firstMs: 100, lastMs: 10_000, calmMs: 60_000 }
/** Detects a worker that hangs, because it would still receive its share of connections. */
const ping = { everyMs: 2000, seconds: 8 }
/** Shorter than the limit for the whole stop, because the store must be closed afterwards. */
const stopSeconds = 7

export function createSlot(parts: SlotParts): WorkerSlot {
  const { part, log, clock, createStartMessage } = parts
  let running: WorkerProcess | undefined
  let child: WorkerProcess | undefined
  let timer: Timer | undefined
  let pinging: { readonly stop: () => Promise<void> } | undefined
  let isStopped = false
  let failures = 0
  const ended = (begun: number, exitStatus: string | number) => {
    running = undefined
    if (isStopped) return
    if (performance.now() - begun > restart.calmMs) failures = 0
    const ms = Math.min(restart.firstMs * 2 ** failures++, restart.lastMs)
    log.error("worker {part} has ended ({how}); another one is started in {ms} ms", {
      part,
      how: exitStatus,
      ms,
    })
    timer = clock.after(ms, () => void begin())
  }
  const begin = async () => {
    const begun = performance.now()
    let started: WorkerProcess
    try {
      started = parts.start()
    } catch (cause) {
      return ended(begun, errorText(cause))
    }
    child = started
    void started.exited.then((exitStatus) => ended(begun, exitStatus))
    try {
      const work = started.channel.ask("begin", createStartMessage())
      await withTimeout(clock, startMsMax, { work, timeoutError: startTimeoutError })
      running = started
    } catch (cause) {
      log.error("worker {part} did not begin: {cause}", { part, cause: errorText(cause) })
      started.kill()
    }
  }
  const requestWorker = async <T>(name: string, seconds: number): Promise<T | undefined> => {
    const pendingRequest = running
    if (!pendingRequest) return undefined
    const answer = await resultOf(pendingRequest.channel.ask<T>(name), { clock, seconds })
    if ("value" in answer) return answer.value
    const { cause = `no response for ${seconds} seconds` } = answer
    log.error("worker {part} is stopped: its request {name} failed: {cause}", { part, name, cause })
    if (running === pendingRequest) running = undefined
    pendingRequest.kill()
    return undefined
  }
  return {
    channel: () => running?.channel,
    begin: async () => {
      await begin()
      if (!isStopped)
        pinging = startRepeating(clock, ping.everyMs, () =>
          requestWorker<void>("ping", ping.seconds),
        )
    },
    request: requestWorker,
    stop: async () => {
      isStopped = true
      timer?.stop()
      if (running) await requestWorker("stop", stopSeconds)
      else child?.kill()
      await Promise.all([child?.exited, pinging?.stop()])
    },
  }
}

type Outcome<T> = { readonly value: T | undefined } | { readonly cause?: string }

/** The result of a request within the given seconds, or why the worker must be replaced. */
async function resultOf<T>(
  pendingRequest: Promise<T>,
  { clock, seconds }: { readonly clock: Clock; readonly seconds: number },
): Promise<Outcome<T>> {
  const silence = createSilenceTimer(clock, seconds)
  try {
    return await Promise.race([
      ignoreErrors(pendingRequest).then((value) => ({ value })),
      silence.whole.then(() => ({})),
    ])
  } catch (cause) {
    return { cause: errorText(cause) }
  } finally {
    silence.stop()
  }
}

/**
 * Counts only seconds in which this process ran: after a suspension of the machine, responses may
 * still be waiting to be read.
 */
function createSilenceTimer(clock: Clock, seconds: number) {
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

/** Ignores errors of a worker that has ended. */
export async function ignoreErrors<T>(pendingRequest: Promise<T>): Promise<T | undefined> {
  try {
    return await pendingRequest
  } catch (cause) {
    if (cause instanceof Fault) return undefined
    throw cause
  }
}

const startTimeoutError = () =>
  new Fault(
    "deadline_exceeded",
    "worker.late",
    `the start took more than ${startMsMax / 1000} seconds`,
  )
