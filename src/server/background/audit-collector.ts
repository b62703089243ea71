import { createHash } from "node:crypto"
import { hashOfLine, parseSeal } from "../../boot/audit/chain.ts"
import {
  type CollectorProgress,
  collectorProgress,
  type ExportPart,
} from "../../boot/audit/part.ts"
import { instanceIds, removedInstances } from "../../domain/instance/index.ts"
import { errorText } from "../../kernel/fault.ts"
import { type Cx, readProgress, storeProgress } from "../../store/index.ts"
import { createPart } from "../operator/event-export.ts"
import type { ServerServices } from "../services.ts"
import { startRepeating } from "./repeat.ts"

const pollMs = 500
const timeoutMs = 15_000
/**
 * The first and the longest pause after a failure, in ms; each pause is twice as long as the
 * previous one.
 */
const backoff = { first: 1000, most: 60_000 } as const
/** Events that are not collected are kept for this long, in ms. */
const keepMsMax = 86_400_000
/**
 * Events from before the start of the process are kept at least this long, so that they can be
 * sent.
 */
const startupKeepMs = 3_600_000
/** The delay after which a slow collector is reported, even if it accepts parts. */
const lateAfterMs = 600_000
/** How often the other nodes are informed of collected events. */
const shareIntervalMs = 10_000

export type Collector = {
  readonly url: string
  /** The value of the Authorization header. */
  readonly authorization?: string | undefined
}

/** Why events of an instance are not collected, and since when, in ms since the epoch. */
export type UncollectedInstance = {
  readonly instance: string
  readonly why: string
  readonly since: number
}

export type CollectorHandle = {
  /** The current failures. */
  readonly uncollected: () => readonly UncollectedInstance[]
  /** The position up to which no events are left to send. */
  readonly collectedPosition: () => number
  readonly stop: () => Promise<void>
}

type LogFunction = (message: string, values: Readonly<Record<string, unknown>>) => void

type Services = Pick<ServerServices, "store" | "clock" | "call" | "lead" | "outbound"> & {
  readonly log: { readonly info: LogFunction; readonly warning: LogFunction }
}

/** The progress of one instance. */
type CollectProgress = {
  passed: number
  failures: number
  since: number
  why: string
  notBefore: number
  /** The time of the first uncollected event in ms since the epoch; undefined if there is none. */
  oldest: number | undefined
}

/**
 * Sends the events of each instance to a collector: the lines of an export in order, one part at a
 * time. A 2xx response completes a part. Until then, the same bytes are sent again, also by the
 * next process.
 */
export function startCollecting(services: Services, to: Collector): CollectorHandle {
  const { store, clock, lead } = services
  const { all, courseOf, toSend, passed } = createProgressMap(services, to)
  const stopping = Promise.withResolvers<undefined>()
  const runOnce = async (instance: string): Promise<boolean> => {
    const progress = courseOf(instance)
    const durable = store.log.durable()
    if (clock.now() < progress.notBefore || durable <= progress.passed) return false
    try {
      const sending = sendNext(services, to, { instance, course: progress })
      const sent = await Promise.race([sending, stopping.promise])
      if (sent === undefined) return false
      progress.passed = sent === "nothing" ? durable : sent
      progress.oldest = undefined
      if (sent !== "nothing") logRecovery(services, instance, progress)
      return sent !== "nothing"
    } catch (cause) {
      recordFailure(services, { instance, course: progress }, cause)
      return false
    }
  }
  const telling = createProgressSharer(services, { to, passed })
  const rounds = startRepeating(clock, pollMs, async (isStopped) => {
    for (let isMore = true; isMore; ) {
      isMore = false
      for (const instance of toSend()) {
        if (isStopped()) return
        // The state of this node is outdated when it becomes the leader again.
        if (!lead.holds()) return all.clear()
        isMore = (await runOnce(instance)) || isMore
      }
      if (lead.holds()) await telling()
    }
  })
  return {
    uncollected: () =>
      [...all].flatMap(([instance, progress]) => findLate(instance, progress, clock.now())),
    // While another node sends, the state of this node is outdated.
    collectedPosition: () =>
      lead.holds() ? passed() : readProgress(store, sharedProgressName(to)).position,
    stop: async () => {
      stopping.resolve(undefined)
      await rounds.stop()
    },
  }
}

/** The progress of each instance whose events must be sent, as known to this process. */
function createProgressMap({ store, clock }: Services, to: Collector) {
  const began = clock.now()
  const all = new Map<string, CollectProgress>()
  /** Removed instances without events to send. */
  const completed = new Set<string>()
  const courseOf = (instance: string): CollectProgress => {
    const known = all.get(instance)
    if (known) return known
    const progress = { ...noFailures, passed: 0, oldest: undefined }
    all.set(instance, progress)
    return progress
  }
  /**
   * Instances whose events must be sent, including removed instances until their removal was sent.
   */
  const toSend = (): readonly string[] => {
    const going = removedInstances(store).filter(({ instance, position }) => {
      if (completed.has(instance)) return false
      const taken = readProgress(store, progressName(to, instance)).position
      if (Math.max(taken, all.get(instance)?.passed ?? 0) < position) return true
      completed.add(instance)
      all.delete(instance)
      return false
    })
    return [...instanceIds(store), ...going.map(({ instance }) => instance)]
  }
  const passed = (): number =>
    Math.min(
      Number.MAX_SAFE_INTEGER,
      ...toSend().map((instance) =>
        droppablePosition(courseOf(instance), { now: clock.now(), began }),
      ),
    )
  return { all, courseOf, toSend, passed }
}

/**
 * Informs the other nodes at intervals of the events they need not keep, through the stored
 * progress.
 */
function createProgressSharer(
  { store, clock }: Services,
  { to, passed }: { readonly to: Collector; readonly passed: () => number },
): () => Promise<void> {
  let lastSharedAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (clock.now() - lastSharedAt < shareIntervalMs) return
    lastSharedAt = clock.now()
    const position = Math.min(passed(), store.log.durable())
    if (position <= readProgress(store, sharedProgressName(to)).position) return
    await storeProgress(store, sharedProgressName(to), { position, note: "" })
  }
}

const noFailures = { failures: 0, since: 0, why: "", notBefore: 0 }

/**
 * The position up to which events need not be kept: after the waiting time, uncollected events are
 * dropped, too.
 */
function droppablePosition(
  { passed, failures, since, oldest }: CollectProgress,
  { now, began }: { readonly now: number; readonly began: number },
): number {
  const waits = oldest ?? (failures > 0 ? since : now)
  const isOver = now - waits > keepMsMax && now - began > startupKeepMs
  return isOver ? Number.MAX_SAFE_INTEGER : passed
}

function findLate(
  instance: string,
  { failures, since, why: reason, oldest }: CollectProgress,
  now: number,
): readonly UncollectedInstance[] {
  if (failures > 0) return [{ instance, since, why: reason }]
  const isLate = oldest !== undefined && now - oldest > lateAfterMs
  return isLate
    ? [{ instance, since: oldest, why: "the collector is slower than new events arrive" }]
    : []
}

function logRecovery({ log }: Services, instance: string, progress: CollectProgress): void {
  if (progress.failures > 0) log.info("the events of {instance} are collected again", { instance })
  Object.assign(progress, noFailures)
}

function recordFailure(
  { clock, log }: Services,
  { instance, course: progress }: { readonly instance: string; readonly course: CollectProgress },
  cause: unknown,
): void {
  const reason = errorText(cause)
  const now = clock.now()
  if (progress.why !== reason) {
    log.warning("the events of {instance} could not be collected: {why}", { instance, why: reason })
  }
  if (progress.failures === 0) progress.since = now
  const wait = Math.min(backoff.most, backoff.first * 2 ** Math.min(progress.failures, 10))
  Object.assign(progress, { why: reason, failures: progress.failures + 1, notBefore: now + wait })
}

/** Sends the next part; returns its last position, or "nothing". */
async function sendNext(
  { store, call, outbound }: Services,
  to: Collector,
  { instance, course: progress }: { readonly instance: string; readonly course: CollectProgress },
): Promise<number | "nothing"> {
  const { url, authorization } = to
  const name = progressName(to, instance)
  const { position, ...chainEnd } = parseProgress(readProgress(store, name))
  const { lines } = await nextPart(call(instance, "audit-collector"), chainEnd)
  const seal = lines.at(-1)
  if (seal === undefined) return "nothing"
  progress.oldest = timeOfFirst(lines)
  // Stored before it is sent, because after a crash the next process must send the same part.
  if (seal !== chainEnd.pending) {
    await storeProgress(store, name, {
      position,
      note: formatProgress({ ...chainEnd, pending: seal }),
    })
  }
  const { status } = await outbound({
    url,
    method: "POST",
    timeoutMs,
    headers: {
      "content-type": "application/x-ndjson",
      "idempotency-key": `"${hashOfLine(seal)}"`,
      "latchkey-instance": instance,
      ...(authorization !== undefined && { authorization }),
    },
    body: lines.map((line) => `${line}\n`).join(""),
  })
  if (status < 200 || status > 299) throw new Error(`the collector returned status ${status}`)
  const upTo = parseSeal(seal)?.seal.position ?? position
  await storeProgress(store, name, { position: upTo, note: formatProgress({ seal }) })
  return upTo
}

const collectorName = ({ url }: Collector): string =>
  `collector/${createHash("sha256").update(url).digest("base64url")}`

/** The position up to which no events of any instance are left to send. */
const sharedProgressName = collectorName

/** The time of the first line; undefined if there is none. */
function timeOfFirst(lines: readonly string[]): number | undefined {
  const first = lines.find((line) => line.startsWith('{"previous":'))
  if (first === undefined) return undefined
  const { time }: { readonly time: number } = JSON.parse(first)
  return time
}

const progressName = (to: Collector, instance: string): string => `${collectorName(to)}/${instance}`

const formatProgress = (progressNote: CollectorProgress): string => JSON.stringify(progressNote)

/** If another node has continued in the meantime, the state of this node is outdated. */
function parseProgress({ position, note: text }: ReturnType<typeof readProgress>) {
  const progressNote: CollectorProgress =
    text === "" ? {} : collectorProgress.parse(JSON.parse(text))
  const at =
    progressNote.seal === undefined
      ? progressNote.after
      : parseSeal(progressNote.seal)?.seal.position
  return at === position ? { ...progressNote, position } : { position, after: position }
}

/** The part that was being sent, if its events still exist; otherwise the next one. */
async function nextPart(cx: Cx, { seal, after, pending }: CollectorProgress): Promise<ExportPart> {
  const from = { ...(seal !== undefined && { seal }), ...(after !== undefined && { after }) }
  const previousSeal = pending === undefined ? undefined : parseSeal(pending)?.seal
  const before = previousSeal && (await createPart(cx, { ...from, previousSeal }))
  return before?.lines.at(-1) === pending && before ? before : createPart(cx, from)
}
