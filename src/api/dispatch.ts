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
import type { Call, CallOperation } from "../kernel/context.ts"
import { type Code, deadlineExceededError, Fault, staleEditError } from "../kernel/fault.ts"
import type { Ids } from "../kernel/id.ts"
import { type Authority, authorize } from "./access.ts"
import { type Access, accessOf } from "./access-rule.ts"
import { canChangeResponse, permitAuthors } from "./author.ts"
import { expectedVersionReader, versionedCall } from "./edit/expected.ts"
import { maskCheckOf } from "./edit/mask.ts"
import { type ReadUser, redactChange } from "./edit/stale.ts"
import { explain, type Rules } from "./explain.ts"
import { tokenMissingError } from "./faults.ts"
import { anonymousBytesMax, bodyBytesMax, fileBytesMax } from "./input/bounds.ts"
import { checkRules } from "./input/rules.ts"
import { checkValues } from "./input/values.ts"
import { nameOf, type Operation } from "./method.ts"
import { redact } from "./redact.ts"
import { deprecationHeadersOf } from "./respond.ts"
import { messageFormatOf, type TargetCalls } from "./target-calls.ts"

export type Encoding = "rest" | "connect" | "grpc" | "grpc-web"

/** What is known about a call before its message is read. */
export type CallMetadata = {
  readonly headers: Headers
  /** The address of the client, resolved through trusted proxies. */
  readonly address: string
  readonly encoding: Encoding
  /** The requested method and path, without the query. A proof of possession is bound to both. */
  readonly target: { readonly method: string; readonly path: string }
  /** How long the caller waits. */
  readonly timeoutMs?: number | undefined
}

/** Decodes the request and encodes the response in one encoding. */
export type Codec<T> = {
  /** Decodes the message. Rejects a body above the limit without reading the rest. */
  readonly decode: (bytesMax: number) => Message | Promise<Message>
  readonly encode: (answer: Message) => T
}

export type CallResponse<T> = {
  /**
   * x-request-id; the headers of deprecated operations; x-core-position, the log position that the
   * call wrote or up to which the response is current; x-core-targets-passed-over, the IDs of
   * skipped targets.
   */
  readonly headers: Readonly<Record<string, string>>
  readonly result:
    | { readonly ok: true; readonly value: T }
    | { readonly ok: false; readonly fault: Fault }
}

/** The data that hooks receive about a completed call. */
export type CallEnd = {
  readonly method: string
  readonly encoding: Encoding
  readonly address: string
  readonly requestId: string
  readonly code: Code | "ok"
  readonly durationMs: number
  readonly userId: string | undefined
  readonly fault: Fault | undefined
  /** The request with its secrets redacted; undefined if it could not be read. */
  readonly request: () => unknown
}

/** Hooks for logs, metrics and traces. The dispatcher is the only place that calls them. */
export type Hooks = {
  readonly started?: (call: { readonly method: string; readonly requestId: string }) => void
  readonly ended?: (call: CallEnd) => void
}

/** The dependencies of the pipeline, which the server provides. */
export type Pipeline<C extends Call> = {
  readonly operations: readonly Operation<C>[]
  readonly authority: Authority<C>
  /** Returns the caller, which can be anonymous. Throws `unauthenticated` for an invalid token. */
  readonly authenticate: (
    headers: Headers,
    metadata: Pick<CallMetadata, "address" | "target"> & { readonly requestId: string },
  ) => Promise<C>
  /** The log position that a call wrote, if any. */
  readonly position?: (cx: C) => number | undefined
  /** The log position up to which a new call sees all events. */
  readonly head?: (cx: C) => number
  /** The targets to call before and after the handler; undefined if there are none. */
  readonly findTargetCalls?: (
    cx: C,
    invocation: { readonly name: string; readonly changes: boolean },
  ) => TargetCalls | undefined
  /** The fault for a thrown error that is not a Fault; undefined for bugs. */
  readonly faultOf?: (cause: unknown) => Fault | undefined
  readonly hooks: readonly Hooks[]
  readonly clock: Clock
  readonly ids: Ids
}

/** An operation that is ready to be called. */
export type Entry = {
  readonly method: DescMethod
  readonly name: string
  readonly call: <T>(metadata: CallMetadata, codec: Codec<T>) => Promise<CallResponse<T>>
}

/**
 * Builds the only path to a handler, the same for every encoding: authenticate → decode → authorize
 * → handler → encode. The body is read only after the caller is authenticated. Parses all access
 * rules, so an invalid rule prevents the start.
 */
export function createEntries<C extends Call>(pipeline: Pipeline<C>): readonly Entry[] {
  const resources = new Set(Object.keys(pipeline.authority.resources))
  const operations: PreparedOperations<C> = new Map()
  return pipeline.operations.map((operation) => {
    const { method } = operation
    const access = accessOf(method, resources)
    const bytesMax = method.input.fields.some(isFile) ? fileBytesMax : bodyBytesMax
    const deprecationHeaders = deprecationHeadersOf(method)
    const expected = expectedVersionReader(method.input)
    const prepared: PreparedOperation<C> = {
      operation,
      access,
      name: nameOf(method),
      deprecationHeaders,
      bytesMax,
      operations,
      expected,
      checkMask: maskCheckOf(method.input),
    }
    operations.set(prepared.name, prepared)
    return {
      method,
      name: prepared.name,
      call: (metadata, codec) => callOperation(pipeline, prepared, metadata, codec),
    }
  })
}

type PreparedOperation<C> = {
  readonly operation: Operation<C>
  readonly access: Access
  readonly name: string
  readonly deprecationHeaders: CallResponse<unknown>["headers"]
  /** The body limit for callers with a token, in bytes. */
  readonly bytesMax: number
  /** All operations. */
  readonly operations: PreparedOperations<C>
  /** Reads the expected version from a request; undefined if the request lacks the field. */
  readonly expected: ReturnType<typeof expectedVersionReader>
  /** Rejects an update mask with unknown fields; undefined if the request has no mask. */
  readonly checkMask: ReturnType<typeof maskCheckOf>
}

/** Operations by name. */
type PreparedOperations<C> = Map<string, PreparedOperation<C>>

const isFile = ({ message }: DescField) => message === FileSchema

type RunInput<C, T> = {
  readonly metadata: CallMetadata
  readonly codec: Codec<T>
  readonly requestId: string
  readonly started: number
  readonly progress: CallProgress<C>
}

/** State that is collected while a call runs. */
type CallProgress<C> = {
  request?: Message
  cx?: C
  skippedTargets?: readonly string[]
  /** The log position before anything was read. */
  head?: number
}

async function callOperation<C extends Call, T>(
  pipeline: Pipeline<C>,
  prepared: PreparedOperation<C>,
  metadata: CallMetadata,
  codec: Codec<T>,
): Promise<CallResponse<T>> {
  const { clock, hooks } = pipeline
  const started = clock.now()
  const requestId = pipeline.ids.next()
  for (const { started } of hooks) started?.({ method: prepared.name, requestId })

  const progress: CallProgress<C> = {}
  const work = runOperation(pipeline, prepared, { metadata, codec, requestId, progress, started })
  const result = await resultOf(pipeline, withDeadline(clock, metadata.timeoutMs, work), requestId)

  const fault = result.ok ? undefined : result.fault
  const { cx, request } = progress
  const end: CallEnd = {
    method: prepared.name,
    encoding: metadata.encoding,
    address: metadata.address,
    requestId,
    code: fault?.code ?? "ok",
    durationMs: clock.now() - started,
    userId: cx?.caller.kind === "user" ? cx.caller.userId : undefined,
    fault,
    request: () => request && redact(prepared.operation.method.input, request),
  }
  for (const { ended } of hooks) ended?.(end)
  const position = (cx && pipeline.position?.(cx)) ?? (result.ok ? progress.head : undefined)
  const headers = {
    ...prepared.deprecationHeaders,
    ...skippedTargetHeaders(progress),
    "x-request-id": requestId,
  }
  return {
    headers: position === undefined ? headers : { ...headers, "x-core-position": `${position}` },
    result,
  }
}

const skippedTargetHeaders = ({
  skippedTargets = [],
}: CallProgress<unknown>): CallResponse<unknown>["headers"] =>
  skippedTargets.length === 0 ? {} : { "x-core-targets-passed-over": skippedTargets.join(",") }

async function runOperation<C extends Call, T>(
  pipeline: Pipeline<C>,
  prepared: PreparedOperation<C>,
  runInput: RunInput<C, T>,
): Promise<T> {
  const { operation, access, bytesMax, operations } = prepared
  const { metadata, codec, requestId, progress, started } = runInput
  const { headers, address, target } = metadata
  const cx = await pipeline.authenticate(headers, { requestId, address, target })
  progress.cx = cx
  // Anonymous callers must not learn how much is written here.
  if (cx.caller.kind !== "anonymous" && pipeline.head) progress.head = pipeline.head(cx)

  const request = await codec.decode(bodyLimitOf(access, cx, bytesMax))
  progress.request = request
  checkValues(operation.method.input, request)
  const deadline = deadlineFrom(metadata, started)
  const answer = await performOperation(pipeline, prepared, {
    cx,
    request,
    progress,
    deadline,
  }).catch(async (cause: unknown) => {
    if (!(cause instanceof Fault && cause.change)) throw cause
    const read = userReader(pipeline, operations, { cx, deadline })
    throw staleEditError(await redactChange(cause.change, read))
  })
  return codec.encode(answer)
}

/** Reads a user with the permissions of the caller and without calling targets. */
const userReader =
  <C extends Call>(
    pipeline: Pipeline<C>,
    operations: PreparedOperations<C>,
    { cx, deadline }: Pick<PerformInput<C>, "cx" | "deadline">,
  ): ReadUser =>
  (request) => {
    const prepared = operations.get(nameOf(UserService.method.getUserByID))
    if (!prepared) throw new Error("the operation GetUserByID is not served")
    return performOperation(pipeline, prepared, {
      cx,
      request,
      deadline,
      progress: {},
      isTrial: true,
    })
  }

type PerformInput<C> = {
  readonly cx: C
  readonly request: Message
  readonly progress: CallProgress<C>
  readonly deadline: number | undefined
  readonly isTrial?: boolean
}

/** Authorize → call targets → handler. */
async function performOperation<C extends Call>(
  pipeline: Pipeline<C>,
  { operation, access, name, operations, expected, checkMask }: PreparedOperation<C>,
  performInput: PerformInput<C>,
): Promise<Message> {
  const { authority, findTargetCalls } = pipeline
  const { cx, request, progress, deadline, isTrial = false } = performInput
  const rules: Rules = (operationName) => operations.get(operationName)?.access
  const authorizeRequest = (requested: Message, authors: readonly string[]) => {
    const invocation = authors.length === 0 ? cx : { ...cx, authors }
    const ownCx = authorize(authority, access, invocation, requested)
    const authorizedCx =
      authors.length === 0 ? ownCx : permitAuthors(authority, access, ownCx, requested)
    checkMask?.(requested)
    checkRules(operation.method.input, requested)
    const operate = createOperate(pipeline, operations, { ...performInput, cx: invocation })
    const answer: Call["explain"] = (question) => explain(authority, cx, rules, question)
    const admitted: C =
      deadline === undefined
        ? { ...authorizedCx, operate, explain: answer }
        : { ...authorizedCx, operate, explain: answer, deadline }
    const versioned = versionedCall(admitted, expected?.(requested))
    progress.cx = versioned
    return versioned
  }
  const admitted = authorizeRequest(request, cx.authors ?? [])
  const canCallTargets = access.kind !== "public" && !isTrial
  const targetCalls = canCallTargets
    ? findTargetCalls?.(admitted, { name, changes: access.changes })
    : undefined
  return targetCalls
    ? await callWithTargets(targetCalls, {
        authority,
        operation,
        request,
        admitted,
        authorizeRequest,
        progress,
      })
    : create(operation.method.output, Object(await operation.handler(request, admitted)))
}

/**
 * Lets an operation call another one as the same caller. The access rule of the other operation
 * applies.
 */
const createOperate =
  <C extends Call>(
    pipeline: Pipeline<C>,
    operations: PreparedOperations<C>,
    { cx, progress, deadline }: PerformInput<C>,
  ): CallOperation =>
  async (name, request, { call = {}, isTrial = false } = {}) => {
    const prepared = operations.get(name)
    if (!prepared || !isMessage(request, prepared.operation.method.input)) {
      throw new Error(`${name} is not an operation that accepts this request`)
    }
    checkValues(prepared.operation.method.input, request)
    const inner: CallProgress<C> = {}
    const requested = { cx: { ...cx, ...call }, request, deadline, isTrial }
    await performOperation(pipeline, prepared, { ...requested, progress: inner })
    progress.skippedTargets = [...(progress.skippedTargets ?? []), ...(inner.skippedTargets ?? [])]
  }

type CallTargetsInput<C> = {
  readonly authority: Authority<C>
  readonly operation: Operation<C>
  readonly request: Message
  readonly admitted: C
  readonly authorizeRequest: (requested: Message, authors: readonly string[]) => C
  readonly progress: CallProgress<C>
}

/**
 * Runs the handler between the calls of targets. A request that targets have changed is authorized
 * again, for the caller and for the authors of the targets. A changed response is discarded if the
 * caller has a higher rank than the authors.
 */
async function callWithTargets<C extends Call>(
  { skippedTargets, request: before, response: after }: TargetCalls,
  { authority, operation, request, admitted, authorizeRequest, progress }: CallTargetsInput<C>,
): Promise<Message> {
  const { input, output } = operation.method
  const addSkipped = (ids: readonly string[]) => {
    progress.skippedTargets = [...(progress.skippedTargets ?? []), ...ids]
  }
  addSkipped(skippedTargets)
  const changed = await before?.(request, messageFormatOf(input))
  addSkipped(changed?.skippedTargets ?? [])
  const requested = changed?.message ?? request
  const authors = [...new Set([...(admitted.authors ?? []), ...(changed?.authors ?? [])])]
  const cx = requested === request ? admitted : authorizeRequest(requested, authors)
  const answer = create(output, Object(await operation.handler(requested, cx)))
  const changedAnswer = await after?.(
    answer,
    messageFormatOf(output),
    messageFormatOf(input).toJson(requested),
  )
  if (!changedAnswer) return answer
  addSkipped(changedAnswer.skippedTargets)
  if (changedAnswer.message === answer || canChangeResponse(authority, cx, changedAnswer.authors))
    return changedAnswer.message
  addSkipped(changedAnswer.changedBy)
  return answer
}

/**
 * When the caller stops waiting, in milliseconds since the epoch; undefined if the caller set no
 * timeout.
 */
const deadlineFrom = ({ timeoutMs }: CallMetadata, started: number): number | undefined =>
  timeoutMs === undefined ? undefined : started + timeoutMs

/**
 * The body limit in bytes. Throws for an anonymous caller of an operation that requires a token, so
 * that the body is not read.
 */
function bodyLimitOf(access: Access, { caller }: Call, bytesMax: number): number {
  if (caller.kind !== "anonymous") return bytesMax
  if (access.kind !== "public") throw tokenMissingError()
  return anonymousBytesMax
}

/** Turns every thrown error into a response. */
async function resultOf<C extends Call, T>(
  { faultOf }: Pipeline<C>,
  work: Promise<T>,
  requestId: string,
): Promise<CallResponse<T>["result"]> {
  try {
    return { ok: true, value: await work }
  } catch (error) {
    const known = error instanceof Fault ? error : undefined
    return { ok: false, fault: faultOf?.(error) ?? known ?? internalError(error, requestId) }
  }
}

/**
 * An error that is not a Fault is a bug: its cause is logged, and the caller receives only an ID.
 */
const internalError = (cause: unknown, requestId: string) =>
  new Fault(
    "internal",
    "internal",
    `an internal error occurred; search the log for request ${requestId}`,
    { cause },
  )

/** Timers have 32 bits and would fire immediately above this value. */
const timerMsMax = 2 ** 31 - 1

/** Rejects at the deadline even if the work continues, because the caller no longer waits. */
function withDeadline<T>(clock: Clock, ms: number | undefined, work: Promise<T>): Promise<T> {
  if (ms === undefined || ms > timerMsMax) return work
  return new Promise((resolve, reject) => {
    const timer = clock.after(ms, () => reject(deadlineExceededError()))
    work.finally(timer.stop).then(resolve, reject)
  })
}
