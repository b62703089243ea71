import { createHash } from "node:crypto"
import { hashOfLine, readSeal } from "../../boot/audit/chain.ts"
import { type CollectorNote, collectorNote, type ExportPart } from "../../boot/audit/part.ts"
import { instanceIds, removedInstances } from "../../domain/instance/index.ts"
import { reasonText } from "../../kernel/fault.ts"
import { type Cx, keepProgress, progressOf } from "../../store/index.ts"
import { partOf } from "../operator/event-export.ts"
import type { ServerServices } from "../services.ts"
import { keepRounds } from "./round.ts"

const everyMs = 500
const timeoutMs = 15_000
/** How long it waits after a failure, in ms: twice as long each time. */
const backOff = { first: 1000, most: 60_000 } as const
/** So long after it happened nothing is dropped that was not taken, however slowly others are. */
const patienceMs = 86_400_000
/** What happened before a process began is kept so long that it can be sent at all. */
const graceMs = 3_600_000
/** What waits longer is worth telling of, though a part is taken now and then. */
const lateMs = 600_000
/** How often the other nodes are told what they need not keep. */
const toldEveryMs = 10_000

export type Collector = {
  readonly url: string
  /** The value of the header. */
  readonly authorization?: string | undefined
}

/** Why the events of an instance are not taken, and since when, ms UTC. */
export type Untaken = { readonly instance: string; readonly why: string; readonly since: number }

export type Collecting = {
  /** What fails at the moment. */
  readonly untaken: () => readonly Untaken[]
  /** The position up to which nothing is to be sent any more. */
  readonly passed: () => number
  readonly stop: () => Promise<void>
}

type Told = (words: string, values: Readonly<Record<string, unknown>>) => void

type Services = Pick<ServerServices, "store" | "clock" | "call" | "lead" | "outbound"> & {
  readonly log: { readonly info: Told; readonly warning: Told }
}

/** How it goes with one instance. */
type Course = {
  passed: number
  failures: number
  since: number
  why: string
  notBefore: number
  /** When the first happened that is not taken yet, ms UTC; undefined where all is. */
  oldest: number | undefined
}

/**
 * Sends what happens on each instance to whoever collects it: the lines of an export, in order, a
 * part at a time, which is behind us once it was answered with 2xx. Until then the very same bytes
 * are sent again, also by the next process.
 */
export function keepCollecting(services: Services, to: Collector): Collecting {
  const { store, clock, lead } = services
  const { all, courseOf, toSend, passed } = coursesOf(services, to)
  const stopping = Promise.withResolvers<undefined>()
  const turn = async (instance: string): Promise<boolean> => {
    const course = courseOf(instance)
    const durable = store.log.durable()
    if (clock.now() < course.notBefore || durable <= course.passed) return false
    try {
      const sending = sendNext(services, to, { instance, course })
      const sent = await Promise.race([sending, stopping.promise])
      if (sent === undefined) return false
      course.passed = sent === "nothing" ? durable : sent
      course.oldest = undefined
      if (sent !== "nothing") mended(services, instance, course)
      return sent !== "nothing"
    } catch (cause) {
      failed(services, { instance, course }, cause)
      return false
    }
  }
  const telling = tellingOf(services, { to, passed })
  const rounds = keepRounds(clock, everyMs, async (isStopped) => {
    for (let isMore = true; isMore; ) {
      isMore = false
      for (const instance of toSend()) {
        if (isStopped()) return
        // Whoever sends next is heard of; what this one knew of its own is old when it is back.
        if (!lead.holds()) return all.clear()
        isMore = (await turn(instance)) || isMore
      }
      if (lead.holds()) await telling()
    }
  })
  return {
    untaken: () => [...all].flatMap(([instance, course]) => lateIn(instance, course, clock.now())),
    // What this node knows of its own is of no worth while another one sends.
    passed: () => (lead.holds() ? passed() : progressOf(store, toldName(to)).position),
    stop: async () => {
      stopping.resolve(undefined)
      await rounds.stop()
    },
  }
}

/** How it goes with each instance whose events are to be sent, as far as this process knows. */
function coursesOf({ store, clock }: Services, to: Collector) {
  const began = clock.now()
  const all = new Map<string, Course>()
  /** Those of the removed instances that there is nothing left to send of. */
  const over = new Set<string>()
  const courseOf = (instance: string): Course => {
    const known = all.get(instance)
    if (known) return known
    const course = { ...untroubled, passed: 0, oldest: undefined }
    all.set(instance, course)
    return course
  }
  /** Whose events are to be sent: also a removed instance's, until it was told that it went. */
  const toSend = (): readonly string[] => {
    const going = removedInstances(store).filter(({ instance, position }) => {
      if (over.has(instance)) return false
      const taken = progressOf(store, progressName(to, instance)).position
      if (Math.max(taken, all.get(instance)?.passed ?? 0) < position) return true
      over.add(instance)
      all.delete(instance)
      return false
    })
    return [...instanceIds(store), ...going.map(({ instance }) => instance)]
  }
  const passed = (): number =>
    Math.min(
      Number.MAX_SAFE_INTEGER,
      ...toSend().map((instance) => passedBy(courseOf(instance), { now: clock.now(), began })),
    )
  return { all, courseOf, toSend, passed }
}

/** Tells the other nodes now and then what they need not keep; they learn it like all progress. */
function tellingOf(
  { store, clock }: Services,
  { to, passed }: { readonly to: Collector; readonly passed: () => number },
): () => Promise<void> {
  let told = Number.NEGATIVE_INFINITY
  return async () => {
    if (clock.now() - told < toldEveryMs) return
    told = clock.now()
    const position = Math.min(passed(), store.log.durable())
    if (position <= progressOf(store, toldName(to)).position) return
    await keepProgress(store, toldName(to), { position, note: "" })
  }
}

const untroubled = { failures: 0, since: 0, why: "", notBefore: 0 }

/** Whether it is refused or taken too slowly: what waits for long is waited for no more. */
function passedBy(
  { passed, failures, since, oldest }: Course,
  { now, began }: { readonly now: number; readonly began: number },
): number {
  const waits = oldest ?? (failures > 0 ? since : now)
  const isOver = now - waits > patienceMs && now - began > graceMs
  return isOver ? Number.MAX_SAFE_INTEGER : passed
}

function lateIn(
  instance: string,
  { failures, since, why, oldest }: Course,
  now: number,
): readonly Untaken[] {
  if (failures > 0) return [{ instance, since, why }]
  const isLate = oldest !== undefined && now - oldest > lateMs
  return isLate ? [{ instance, since: oldest, why: "it takes less than happens" }] : []
}

function mended({ log }: Services, instance: string, course: Course): void {
  if (course.failures > 0) log.info("the events of {instance} are collected again", { instance })
  Object.assign(course, untroubled)
}

function failed(
  { clock, log }: Services,
  { instance, course }: { readonly instance: string; readonly course: Course },
  cause: unknown,
): void {
  const why = reasonText(cause)
  const now = clock.now()
  if (course.why !== why) {
    log.warning("the events of {instance} are not collected: {why}", { instance, why })
  }
  if (course.failures === 0) course.since = now
  const wait = Math.min(backOff.most, backOff.first * 2 ** Math.min(course.failures, 10))
  Object.assign(course, { why, failures: course.failures + 1, notBefore: now + wait })
}

/** Sends what comes next, and answers its last position, or that there is nothing. */
async function sendNext(
  { store, call, outbound }: Services,
  to: Collector,
  { instance, course }: { readonly instance: string; readonly course: Course },
): Promise<number | "nothing"> {
  const { url, authorization } = to
  const name = progressName(to, instance)
  const { position, ...standing } = standingOf(progressOf(store, name))
  const { lines } = await nextPart(call(instance, "audit-collector"), standing)
  const seal = lines.at(-1)
  if (seal === undefined) return "nothing"
  course.oldest = timeOfFirst(lines)
  // Before anybody has seen it, or a process that is killed here would send something else next.
  if (seal !== standing.pending) {
    await keepProgress(store, name, { position, note: noteOf({ ...standing, pending: seal }) })
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
  if (status < 200 || status > 299) throw new Error(`it was answered with ${status}`)
  const upTo = readSeal(seal)?.seal.position ?? position
  await keepProgress(store, name, { position: upTo, note: noteOf({ seal }) })
  return upTo
}

const collectorName = ({ url }: Collector): string =>
  `collector/${createHash("sha256").update(url).digest("base64url")}`

/** Up to where nothing of any instance is to be sent any more. */
const toldName = collectorName

/** When the first of them happened; undefined where nothing did. */
function timeOfFirst(lines: readonly string[]): number | undefined {
  const first = lines.find((line) => line.startsWith('{"previous":'))
  if (first === undefined) return undefined
  const { time }: { readonly time: number } = JSON.parse(first)
  return time
}

const progressName = (to: Collector, instance: string): string => `${collectorName(to)}/${instance}`

const noteOf = (noted: CollectorNote): string => JSON.stringify(noted)

/** Where another node has gone on meanwhile, what this one has noted leads nowhere. */
function standingOf({ position, note: text }: ReturnType<typeof progressOf>) {
  const noted: CollectorNote = text === "" ? {} : collectorNote.parse(JSON.parse(text))
  const at = noted.seal === undefined ? noted.after : readSeal(noted.seal)?.seal.position
  return at === position ? { ...noted, position } : { position, after: position }
}

/** What was being sent already, if it is still to be had: of what expired, nothing is. */
async function nextPart(cx: Cx, { seal, after, pending }: CollectorNote): Promise<ExportPart> {
  const from = { ...(seal !== undefined && { seal }), ...(after !== undefined && { after }) }
  const again = pending === undefined ? undefined : readSeal(pending)?.seal
  const before = again && (await partOf(cx, { ...from, again }))
  return before?.lines.at(-1) === pending && before ? before : partOf(cx, from)
}
