import { createHash } from "node:crypto"
import { type CollectorNote, collectorNote, type ExportPart } from "../../boot/audit/part.ts"
import { instanceIds, removedInstances } from "../../domain/instance/index.ts"
import { hashOfLine, readSeal } from "../../kernel/crypto/chain.ts"
import { type Cx, keepProgress, progressOf } from "../../store/index.ts"
import { partOf } from "../operator/event-export.ts"
import type { ServerServices } from "../services.ts"
import { keepRounds } from "./round.ts"

const everyMs = 500
const timeoutMs = 15_000
/** How long it waits after a failure, in ms: twice as long each time. */
const backOff = { first: 1000, most: 60_000 } as const
/** So long nothing is dropped that a collector which stays away has not taken. */
const patienceMs = 86_400_000

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
type Course = { passed: number; failures: number; since: number; why: string; notBefore: number }

/**
 * Sends what happens on each instance to whoever collects it: the lines of an export, in order, a
 * part at a time, which is behind us once it was answered with 2xx. Until then the very same bytes
 * are sent again, also by the next process.
 */
export function keepCollecting(services: Services, to: Collector): Collecting {
  const { store, clock, lead } = services
  const courses = new Map<string, Course>()
  /** Those of the removed instances that there is nothing left to send of. */
  const over = new Set<string>()
  const courseOf = (instance: string): Course => {
    const known = courses.get(instance)
    if (known) return known
    const course = { passed: 0, failures: 0, since: 0, why: "", notBefore: 0 }
    courses.set(instance, course)
    return course
  }
  /** Whose events are to be sent: also a removed instance's, until it was told that it went. */
  const toSend = (): readonly string[] => {
    const going = removedInstances(store).filter(({ instance, position }) => {
      if (over.has(instance)) return false
      const taken = progressOf(store, progressName(to, instance)).position
      if (Math.max(taken, courses.get(instance)?.passed ?? 0) < position) return true
      over.add(instance)
      courses.delete(instance)
      return false
    })
    return [...instanceIds(store), ...going.map(({ instance }) => instance)]
  }
  const stopping = Promise.withResolvers<undefined>()
  const turn = async (instance: string): Promise<boolean> => {
    const course = courseOf(instance)
    const durable = store.log.durable()
    if (clock.now() < course.notBefore || durable <= course.passed) return false
    try {
      const sent = await Promise.race([sendNext(services, to, instance), stopping.promise])
      if (sent === undefined) return false
      course.passed = sent === "nothing" ? durable : sent
      if (sent !== "nothing") mended(services, instance, course)
      return sent !== "nothing"
    } catch (cause) {
      failed(services, { instance, course }, cause)
      return false
    }
  }
  const rounds = keepRounds(clock, everyMs, async (isStopped) => {
    for (let isMore = true; isMore; ) {
      isMore = false
      for (const instance of toSend()) {
        if (isStopped() || !lead.holds()) return
        isMore = (await turn(instance)) || isMore
      }
    }
  })
  return {
    untaken: () =>
      [...courses].flatMap(([instance, { failures, since, why }]) =>
        failures > 0 ? [{ instance, since, why }] : [],
      ),
    passed: () =>
      Math.min(
        Number.MAX_SAFE_INTEGER,
        ...toSend().map((instance) => passedBy(courseOf(instance), clock.now())),
      ),
    stop: async () => {
      stopping.resolve(undefined)
      await rounds.stop()
    },
  }
}

const passedBy = ({ passed, failures, since }: Course, now: number): number =>
  failures > 0 && now - since > patienceMs ? Number.MAX_SAFE_INTEGER : passed

function mended({ log }: Services, instance: string, course: Course): void {
  if (course.failures > 0) log.info("the events of {instance} are collected again", { instance })
  Object.assign(course, { failures: 0, since: 0, why: "", notBefore: 0 })
}

function failed(
  { clock, log }: Services,
  { instance, course }: { readonly instance: string; readonly course: Course },
  cause: unknown,
): void {
  const why = cause instanceof Error ? cause.message : String(cause)
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
  instance: string,
): Promise<number | "nothing"> {
  const { url, authorization } = to
  const name = progressName(to, instance)
  const { position, ...standing } = standingOf(progressOf(store, name))
  const { lines } = await nextPart(call(instance, "audit-collector"), standing)
  const seal = lines.at(-1)
  if (seal === undefined) return "nothing"
  // Before anybody has seen it, or a process that is killed here would send something else next.
  if (seal !== standing.pending) {
    await keepProgress(store, name, { position, note: noteOf({ ...standing, pending: seal }) })
  }
  const { status } = await outbound({
    ...{ url, method: "POST", timeoutMs },
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

const progressName = ({ url }: Collector, instance: string): string =>
  `collector/${createHash("sha256").update(url).digest("base64url")}/${instance}`

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
