import {
  create,
  type DescField,
  type DescMethod,
  isMessage,
  type Message,
} from "@bufbuild/protobuf"
import { FileSchema } from "../gen/core/asset/v1/asset_service_pb.ts"
import { UserService } from "../gen/core/user/v2/user_service_pb.ts"
import type { Clock } from "../kernel/clock.ts"
import type { Call, Operate } from "../kernel/context.ts"
import { type Code, Fault, lateError, staleError } from "../kernel/fault.ts"
import type { Ids } from "../kernel/id.ts"
import { type Access, type Authority, accessOf, authorise } from "./access.ts"
import { mayAnswer, permitAuthors } from "./author.ts"
import { noticeOf } from "./deprecation.ts"
import { expectedVersionReader, versionedCall } from "./edit/expected.ts"
import { maskCheckOf } from "./edit/mask.ts"
import { permittedChange, type ReadUser } from "./edit/stale.ts"
import { explain, type Rules } from "./explain.ts"
import { tokenMissingError } from "./faults.ts"
import { bodyBytesMax, fileBytesMax, strangerBytesMax } from "./input/bounds.ts"
import { checkRules } from "./input/rules.ts"
import { checkValues } from "./input/values.ts"
import { nameOf, type Operation } from "./method.ts"
import { redacted } from "./redact.ts"
import { formOf, type Say } from "./say.ts"

export type Encoding = "rest" | "connect" | "grpc" | "grpc-web"

/** What every encoding knows about a call before its message is read. */
export type Arrival = {
  readonly headers: Headers
  /** Of the peer; the server has already looked through the proxies that it trusts. */
  readonly address: string
  readonly encoding: Encoding
  /** What was asked for: a proof of possession names both. The path is without its query. */
  readonly target: { readonly method: string; readonly path: string }
  /** After this time the caller no longer waits. */
  readonly timeoutMs?: number | undefined
}

/** How one encoding reads its request and writes its answer. */
export type Codec<T> = {
  /** Reads the message; a body above the limit is refused, and read no further. */
  readonly decode: (bytesMax: number) => Message | Promise<Message>
  readonly encode: (answer: Message) => T
}

export type Answer<T> = {
  /**
   * x-request-id, what is said of deprecated operations; x-core-position, up to which the answer
   * has all that happened, or where in the log the call wrote;
   * x-core-targets-passed-over, ids of targets, where some did not have their say.
   */
  readonly headers: Readonly<Record<string, string>>
  readonly result:
    | { readonly ok: true; readonly value: T }
    | { readonly ok: false; readonly fault: Fault }
}

/** What the hooks learn about a call that has ended. */
export type CallEnd = {
  readonly method: string
  readonly encoding: Encoding
  readonly address: string
  readonly requestId: string
  readonly code: Code | "ok"
  readonly durationMs: number
  readonly userId: string | undefined
  readonly fault: Fault | undefined
  /** The request with its secrets hidden; undefined if it could not be read. */
  readonly request: () => unknown
}

/** Logs, metrics and traces hang here: at the dispatcher, and nowhere else on the way of a call. */
export type Hooks = {
  readonly started?: (call: { readonly method: string; readonly requestId: string }) => void
  readonly ended?: (call: CallEnd) => void
}

/** What the server lends to the pipeline. */
export type Pipeline<C extends Call> = {
  readonly operations: readonly Operation<C>[]
  readonly authority: Authority<C>
  /** Answers who calls, also if it is nobody; faults with `unauthenticated` for a bad token. */
  readonly authenticate: (
    headers: Headers,
    arrival: Pick<Arrival, "address" | "target"> & { readonly requestId: string },
  ) => Promise<C>
  /** The log position that a call wrote, if it wrote. */
  readonly position?: (cx: C) => number | undefined
  /** The log position up to which a call that begins now sees everything. */
  readonly head?: (cx: C) => number
  /** Who has a say in a call beside its handler; undefined, mostly, for nobody. */
  readonly say?: (
    cx: C,
    called: { readonly name: string; readonly changes: boolean },
  ) => Say | undefined
  /** What callers are told of something thrown that is no Fault; undefined for bugs. */
  readonly faultOf?: (cause: unknown) => Fault | undefined
  readonly hooks: readonly Hooks[]
  readonly clock: Clock
  readonly ids: Ids
}

/** One operation, ready to be called. */
export type Entry = {
  readonly method: DescMethod
  readonly name: string
  readonly call: <T>(arrival: Arrival, codec: Codec<T>) => Promise<Answer<T>>
}

/**
 * Makes the only way to a handler: authenticate → decode → authorise → handler → encode, the same
 * for every encoding. Nothing of a body is read before its sender is known. Reads all access rules
 * now, so that a wrong one stops the start.
 */
export function entriesOf<C extends Call>(pipeline: Pipeline<C>): readonly Entry[] {
  const resources = new Set(Object.keys(pipeline.authority.resources))
  const lines: Lines<C> = new Map()
  return pipeline.operations.map((operation) => {
    const { method } = operation
    const access = accessOf(method, resources)
    const bytesMax = method.input.fields.some(isFile) ? fileBytesMax : bodyBytesMax
    const notice = noticeOf(method)
    const expected = expectedVersionReader(method.input)
    const line: Line<C> = {
      operation,
      access,
      name: nameOf(method),
      notice,
      bytesMax,
      lines,
      expected,
      checkMask: maskCheckOf(method.input),
    }
    lines.set(line.name, line)
    return {
      method,
      name: line.name,
      call: (arrival, codec) => call(pipeline, line, arrival, codec),
    }
  })
}

type Line<C> = {
  readonly operation: Operation<C>
  readonly access: Access
  readonly name: string
  readonly notice: Answer<unknown>["headers"]
  /** How much of a body is read of who has shown a token. */
  readonly bytesMax: number
  /** All of them. */
  readonly lines: Lines<C>
  /** Reads how far its caller has read what it changes; undefined where it can't say so. */
  readonly expected: ReturnType<typeof expectedVersionReader>
  /** Refuses a mask that names what is no field; undefined where there is none. */
  readonly checkMask: ReturnType<typeof maskCheckOf>
}

/** By the names of operations. */
type Lines<C> = Map<string, Line<C>>

const isFile = ({ message }: DescField) => message === FileSchema

type Given<C, T> = {
  readonly arrival: Arrival
  readonly codec: Codec<T>
  readonly requestId: string
  readonly started: number
  readonly progress: Progress<C>
}

/** What becomes known on the way of one call. */
type Progress<C> = {
  request?: Message
  cx?: C
  passedOver?: readonly string[]
  /** How far the log had come before anything was read. */
  head?: number
}

async function call<C extends Call, T>(
  pipeline: Pipeline<C>,
  line: Line<C>,
  arrival: Arrival,
  codec: Codec<T>,
): Promise<Answer<T>> {
  const { clock, hooks } = pipeline
  const started = clock.now()
  const requestId = pipeline.ids.next()
  for (const { started } of hooks) started?.({ method: line.name, requestId })

  const progress: Progress<C> = {}
  const work = run(pipeline, line, { arrival, codec, requestId, progress, started })
  const result = await resultOf(pipeline, withDeadline(clock, arrival.timeoutMs, work), requestId)

  const fault = result.ok ? undefined : result.fault
  const { cx, request } = progress
  const end: CallEnd = {
    method: line.name,
    encoding: arrival.encoding,
    address: arrival.address,
    requestId,
    code: fault?.code ?? "ok",
    durationMs: clock.now() - started,
    userId: cx?.caller.kind === "user" ? cx.caller.userId : undefined,
    fault,
    request: () => request && redacted(line.operation.method.input, request),
  }
  for (const { ended } of hooks) ended?.(end)
  const position = (cx && pipeline.position?.(cx)) ?? (result.ok ? progress.head : undefined)
  const headers = { ...line.notice, ...passedOverIn(progress), "x-request-id": requestId }
  return {
    headers: position === undefined ? headers : { ...headers, "x-core-position": `${position}` },
    result,
  }
}

const passedOverIn = ({ passedOver = [] }: Progress<unknown>): Answer<unknown>["headers"] =>
  passedOver.length === 0 ? {} : { "x-core-targets-passed-over": passedOver.join(",") }

async function run<C extends Call, T>(
  pipeline: Pipeline<C>,
  line: Line<C>,
  given: Given<C, T>,
): Promise<T> {
  const { operation, access, bytesMax, lines } = line
  const { arrival, codec, requestId, progress, started } = given
  const { headers, address, target } = arrival
  const cx = await pipeline.authenticate(headers, { requestId, address, target })
  progress.cx = cx
  // Callers without a token don't learn how much is written here.
  if (cx.caller.kind !== "anonymous" && pipeline.head) progress.head = pipeline.head(cx)

  const request = await codec.decode(limitOf(access, cx, bytesMax))
  progress.request = request
  checkValues(operation.method.input, request)
  const deadline = deadlineOf(arrival, started)
  const answer = await perform(pipeline, line, { cx, request, progress, deadline }).catch(
    async (cause: unknown) => {
      if (!(cause instanceof Fault && cause.change)) throw cause
      const read = readingUser(pipeline, lines, { cx, deadline })
      throw staleError(await permittedChange(cause.change, read))
    },
  )
  return codec.encode(answer)
}

/** Reads a user as the caller of a call may, and asks nobody outside. */
const readingUser =
  <C extends Call>(
    pipeline: Pipeline<C>,
    lines: Lines<C>,
    { cx, deadline }: Pick<Performing<C>, "cx" | "deadline">,
  ): ReadUser =>
  (request) => {
    const line = lines.get(nameOf(UserService.method.getUserByID))
    if (!line) throw new Error("nobody answers who a user is")
    return perform(pipeline, line, { cx, request, deadline, progress: {}, isTrial: true })
  }

type Performing<C> = {
  readonly cx: C
  readonly request: Message
  readonly progress: Progress<C>
  readonly deadline: number | undefined
  readonly isTrial?: boolean
}

/** Authorise → others have their say → handler. */
async function perform<C extends Call>(
  pipeline: Pipeline<C>,
  { operation, access, name, lines, expected, checkMask }: Line<C>,
  performing: Performing<C>,
): Promise<Message> {
  const { authority, say } = pipeline
  const { cx, request, progress, deadline, isTrial = false } = performing
  const rules: Rules = (each) => lines.get(each)?.access
  const admit = (asked: Message, authors: readonly string[]) => {
    const called = authors.length === 0 ? cx : { ...cx, authors }
    const own = authorise(authority, access, called, asked)
    const authorised = authors.length === 0 ? own : permitAuthors(authority, access, own, asked)
    checkMask?.(asked)
    checkRules(operation.method.input, asked)
    const operate = operating(pipeline, lines, { ...performing, cx: called })
    const answer: Call["explain"] = (question) => explain(authority, cx, rules, question)
    const admitted: C =
      deadline === undefined
        ? { ...authorised, operate, explain: answer }
        : { ...authorised, operate, explain: answer, deadline }
    const versioned = versionedCall(admitted, expected?.(asked))
    progress.cx = versioned
    return versioned
  }
  const admitted = admit(request, cx.authors ?? [])
  const isAsked = access.kind !== "public" && !isTrial
  const said = isAsked ? say?.(admitted, { name, changes: access.changes }) : undefined
  return said
    ? await answerWith(said, { authority, operation, request, admitted, admit, progress })
    : create(operation.method.output, Object(await operation.handler(request, admitted)))
}

/** Lets an operation ask another one: the same caller, the same way, its own rule. */
const operating =
  <C extends Call>(
    pipeline: Pipeline<C>,
    lines: Lines<C>,
    { cx, progress, deadline }: Performing<C>,
  ): Operate =>
  async (name, request, { call = {}, isTrial = false } = {}) => {
    const line = lines.get(name)
    if (!line || !isMessage(request, line.operation.method.input)) {
      throw new Error(`${name} is no operation that takes this`)
    }
    checkValues(line.operation.method.input, request)
    const inner: Progress<C> = {}
    const asked = { cx: { ...cx, ...call }, request, deadline, isTrial }
    await perform(pipeline, line, { ...asked, progress: inner })
    progress.passedOver = [...(progress.passedOver ?? []), ...(inner.passedOver ?? [])]
  }

type Admitted<C> = {
  readonly authority: Authority<C>
  readonly operation: Operation<C>
  readonly request: Message
  readonly admitted: C
  readonly admit: (asked: Message, authors: readonly string[]) => C
  readonly progress: Progress<C>
}

/**
 * Answers a call in which others have a say. What they make of a request must be permitted to the
 * same caller, and to those who decided what is made of it: both are decided anew. What they make
 * of an answer does not reach a caller who outranks them, who may go by it next.
 */
async function answerWith<C extends Call>(
  { passedOver, request: before, response: after }: Say,
  { authority, operation, request, admitted, admit, progress }: Admitted<C>,
): Promise<Message> {
  const { input, output } = operation.method
  const note = (ids: readonly string[]) => {
    progress.passedOver = [...(progress.passedOver ?? []), ...ids]
  }
  note(passedOver)
  const changed = await before?.(request, formOf(input))
  note(changed?.passedOver ?? [])
  const asked = changed?.message ?? request
  const authors = [...new Set([...(admitted.authors ?? []), ...(changed?.authors ?? [])])]
  const cx = asked === request ? admitted : admit(asked, authors)
  const answer = create(output, Object(await operation.handler(asked, cx)))
  const told = await after?.(answer, formOf(output), formOf(input).shown(asked))
  if (!told) return answer
  note(told.passedOver)
  if (told.message === answer || mayAnswer(authority, cx, told.authors)) return told.message
  note(told.changedBy)
  return answer
}

/** Until when a caller waits who says how long. */
const deadlineOf = ({ timeoutMs }: Arrival, started: number): number | undefined =>
  timeoutMs === undefined ? undefined : started + timeoutMs

/** How much of a body is read, by who sends it; what a stranger may not ask is left unread. */
function limitOf(access: Access, { caller }: Call, bytesMax: number): number {
  if (caller.kind !== "anonymous") return bytesMax
  if (access.kind !== "public") throw tokenMissingError()
  return strangerBytesMax
}

/** The one place where anything thrown becomes an answer. */
async function resultOf<C extends Call, T>(
  { faultOf }: Pipeline<C>,
  work: Promise<T>,
  requestId: string,
): Promise<Answer<T>["result"]> {
  try {
    return { ok: true, value: await work }
  } catch (error) {
    const known = error instanceof Fault ? error : undefined
    return { ok: false, fault: faultOf?.(error) ?? known ?? internalError(error, requestId) }
  }
}

/** Whatever is not a Fault is ours to mend: the log gets its cause, the caller only an id. */
const internalError = (cause: unknown, requestId: string) =>
  new Fault(
    "internal",
    "internal",
    `something went wrong here; the log says more about request ${requestId}`,
    { cause },
  )

/** Timers count in 32 bits and would run out at once beyond them. */
const timerMsMax = 2 ** 31 - 1

/** Answers in time, even if the work goes on: whoever called no longer waits. */
function withDeadline<T>(clock: Clock, ms: number | undefined, work: Promise<T>): Promise<T> {
  if (ms === undefined || ms > timerMsMax) return work
  return new Promise((resolve, reject) => {
    const timer = clock.after(ms, () => reject(lateError()))
    work.finally(timer.stop).then(resolve, reject)
  })
}
