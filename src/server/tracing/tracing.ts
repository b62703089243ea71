import { AsyncLocalStorage } from "node:async_hooks"
import {
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer as SpanTracer,
  trace,
} from "@opentelemetry/api"
import { parseTraceParent } from "@opentelemetry/core"
import { resourceFromAttributes } from "@opentelemetry/resources"
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace"
import type { Entry, Hooks } from "../../api/dispatch.ts"
import { findRoute } from "../../http/visit.ts"
import type { Watcher } from "../../http/watcher.ts"
import { version } from "../../kernel/version.ts"
import { setTracer, type Tracer } from "../../runtime/trace.ts"
import { createExporter, type TraceReceiver } from "./exporter.ts"
import type { TraceSettings } from "./settings.ts"

/** The tracing of requests. */
export type Tracing = {
  /** Hooks of the dispatcher: the span of an API call has the name of the operation. */
  readonly calls: Hooks
  /** Creates a span for each request; `isTrusted` decides whether its traceparent is used. */
  readonly watcher: (isTrusted: IsTrusted) => Watcher
  /** Wraps an operation so that native gRPC calls, which no watcher sees, also have spans. */
  readonly wrapOperation: (entry: Entry, isTrusted: IsTrusted) => Entry
  /** Sends the remaining spans without waiting for an unresponsive collector. */
  readonly stop: () => Promise<void>
}

type IsTrusted = (peer: string) => boolean

export type TracingOptions = TraceReceiver & Pick<TraceSettings, "resource" | "sampling">

const stopMs = 2_000

/**
 * Traces requests with OpenTelemetry. Attributes have few values that are all defined in the code:
 * nothing that a caller sends becomes an attribute, such as an address, a name or a secret.
 */
export function createTracing(traced: TracingOptions): Tracing {
  const { byParent, share } = traced.sampling
  const root = new TraceIdRatioBasedSampler(share)
  const ours = { "service.name": "latchkey", "service.version": version }
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ ...ours, ...traced.resource }),
    sampler: byParent ? new ParentBasedSampler({ root }) : root,
    spanProcessors: [new BatchSpanProcessor({ exporter: createExporter(traced) })],
  })
  const tracer = provider.getTracer("latchkey", version)
  const current = new AsyncLocalStorage<Span>()
  setTracer(createPartTracer(tracer, current))
  return {
    calls: createCallHooks(current),
    watcher: (isTrusted) => createWatcher({ tracer, current, isTrusted }),
    wrapOperation: (entry, isTrusted) => wrapOperation(entry, { tracer, current, isTrusted }),
    stop: async () => {
      setTracer(undefined)
      const late = new Promise<void>((done) => void traced.clock.after(stopMs, done))
      await Promise.race([provider.shutdown(), late])
    },
  }
}

type Current = AsyncLocalStorage<Span>

/** Parts of a request are children of its span; work without a request has no spans. */
function createPartTracer(tracer: SpanTracer, current: Current): Tracer {
  return async (part, work) => {
    const parent = current.getStore()
    if (!parent?.isRecording()) return work()
    const kind = part === "store" || part === "password" ? SpanKind.INTERNAL : SpanKind.CLIENT
    const span = tracer.startSpan(part, { kind }, trace.setSpan(ROOT_CONTEXT, parent))
    try {
      return await work()
    } catch (cause) {
      span.setStatus({ code: SpanStatusCode.ERROR })
      throw cause
    } finally {
      span.end()
    }
  }
}

function createCallHooks(current: Current): Hooks {
  return {
    started: ({ method, requestId }) => {
      const span = current.getStore()
      if (span) operationSpans.add(span)
      span?.updateName(method)
      span?.setAttributes({ "rpc.method": method, "latchkey.request_id": requestId })
    },
    ended: ({ encoding, code }) =>
      current.getStore()?.setAttributes({
        "latchkey.encoding": encoding,
        "rpc.response.status_code": code.toUpperCase(),
      }),
  }
}

/** Spans that already have the name of an operation, which is more specific than the route. */
const operationSpans = new WeakSet<Span>()

type Watch = {
  readonly tracer: SpanTracer
  readonly current: Current
  readonly isTrusted: IsTrusted
}

function startSpan(tracer: SpanTracer, name: string, parent: string | null): Span {
  const remoteContext = parent ? parseTraceParent(parent) : null
  const context = remoteContext
    ? trace.setSpanContext(ROOT_CONTEXT, { ...remoteContext, isRemote: true })
    : ROOT_CONTEXT
  return tracer.startSpan(name, { kind: SpanKind.SERVER }, context)
}

function createWatcher({ tracer, current, isTrusted }: Watch): Watcher {
  const begin = (request: Request, parent: string | null): Span => {
    const method = methodOf(request)
    const span = startSpan(tracer, method, parent)
    return span.setAttribute("http.request.method", method)
  }
  return {
    answer: async (request, peer, next) => {
      const parent = request.headers.get("traceparent")
      const span = begin(request, parent && isTrusted(peer()) ? parent : null)
      try {
        const response = await current.run(span, next)
        recordStatus(span, response)
        return response
      } finally {
        recordRoute(span, request)
        span.end()
      }
    },
    publishedDocument: (request, next) => {
      // The peer of a request with a traceparent must be checked, which `answer` does.
      if (request.headers.has("traceparent")) return undefined
      const response = next()
      if (!response) return undefined
      const span = begin(request, null)
      recordRoute(span, request)
      recordStatus(span, response)
      span.end()
      return response
    },
  }
}

function wrapOperation({ call, ...entry }: Entry, { tracer, current, isTrusted }: Watch): Entry {
  return {
    ...entry,
    call: (arrival, codec) => {
      const parent = isTrusted(arrival.address) ? arrival.headers.get("traceparent") : null
      const span = startSpan(tracer, entry.name, parent)
      return current.run(span, async () => {
        try {
          const answer = await call(arrival, codec)
          const failed = !answer.result.ok && serverErrors.has(answer.result.fault.code)
          if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
          return answer
        } finally {
          span.end()
        }
      })
    },
  }
}

/** Faults caused by the server. */
const serverErrors: ReadonlySet<string> = new Set(["internal", "data_loss", "unavailable"])

function recordStatus(span: Span, { status }: Response): void {
  span.setAttribute("http.response.status_code", status)
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
}

const methods = new Set(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])

/** Only predefined values, because clients can invent methods and routes. */
const methodOf = ({ method }: Request): string => (methods.has(method) ? method : "_OTHER")

/** The route is known only after the request was routed. */
function recordRoute(span: Span, request: Request): void {
  const route = findRoute(request)?.template
  if (route === undefined) return
  span.setAttribute("http.route", route)
  if (!operationSpans.has(span)) span.updateName(`${methodOf(request)} ${route}`)
}
