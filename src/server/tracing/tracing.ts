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
import { routeOf } from "../../http/visit.ts"
import type { Watcher } from "../../http/watcher.ts"
import { version } from "../../kernel/version.ts"
import { type Tracer, traceWith } from "../../runtime/trace.ts"
import { exporterOf, type Receiver } from "./exporter.ts"
import type { TraceSettings } from "./telemetry.ts"

/** What requests are traced by. */
export type Tracing = {
  /** Hooks of the dispatcher: the span of a call of the interface has the operation's name. */
  readonly calls: Hooks
  /** Makes each request a span; `isTrusted` says whose traceparent counts. */
  readonly watcher: (isTrusted: IsTrusted) => Watcher
  /** The same operation, each call of which by native gRPC, which no watcher sees, is a span. */
  readonly called: (entry: Entry, isTrusted: IsTrusted) => Entry
  /** Hands over what is left, but waits for nobody who does not take it. */
  readonly stop: () => Promise<void>
}

type IsTrusted = (peer: string) => boolean

export type Traced = Receiver & Pick<TraceSettings, "resource" | "sampling">

const stopMs = 2_000

/**
 * Traces requests as OpenTelemetry does. An attribute has few values, all known to the code:
 * nothing that a caller sends becomes one, be it an address, a name or a secret.
 */
export function tracingOf(traced: Traced): Tracing {
  const { byParent, share } = traced.sampling
  const root = new TraceIdRatioBasedSampler(share)
  const ours = { "service.name": "latchkey", "service.version": version }
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ ...ours, ...traced.resource }),
    sampler: byParent ? new ParentBasedSampler({ root }) : root,
    spanProcessors: [new BatchSpanProcessor({ exporter: exporterOf(traced) })],
  })
  const tracer = provider.getTracer("latchkey", version)
  const current = new AsyncLocalStorage<Span>()
  traceWith(partsOf(tracer, current))
  return {
    calls: callsOf(current),
    watcher: (isTrusted) => watcherOf({ tracer, current, isTrusted }),
    called: (entry, isTrusted) => calledOf(entry, { tracer, current, isTrusted }),
    stop: async () => {
      traceWith(undefined)
      const late = new Promise<void>((done) => void traced.clock.after(stopMs, done))
      await Promise.race([provider.shutdown(), late])
    },
  }
}

type Current = AsyncLocalStorage<Span>

/** Parts of a request are children of its span; what nobody has asked for has none. */
function partsOf(tracer: SpanTracer, current: Current): Tracer {
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

function callsOf(current: Current): Hooks {
  return {
    started: ({ method, requestId }) => {
      const span = current.getStore()
      if (span) named.add(span)
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

/** Spans that have the name of an operation, which says more than that of a route. */
const named = new WeakSet<Span>()

type Watch = {
  readonly tracer: SpanTracer
  readonly current: Current
  readonly isTrusted: IsTrusted
}

function beginSpan(tracer: SpanTracer, name: string, parent: string | null): Span {
  const told = parent ? parseTraceParent(parent) : null
  const context = told
    ? trace.setSpanContext(ROOT_CONTEXT, { ...told, isRemote: true })
    : ROOT_CONTEXT
  return tracer.startSpan(name, { kind: SpanKind.SERVER }, context)
}

function watcherOf({ tracer, current, isTrusted }: Watch): Watcher {
  const begin = (request: Request, parent: string | null): Span => {
    const method = methodOf(request)
    const span = beginSpan(tracer, method, parent)
    return span.setAttribute("http.request.method", method)
  }
  return {
    answer: async (request, peer, next) => {
      const parent = request.headers.get("traceparent")
      const span = begin(request, parent && isTrusted(peer()) ? parent : null)
      try {
        const response = await current.run(span, next)
        noteStatus(span, response)
        return response
      } finally {
        tellRoute(span, request)
        span.end()
      }
    },
    published: (request, next) => {
      // Whose trace goes on has a peer that must be looked at: `answer` does.
      if (request.headers.has("traceparent")) return undefined
      const response = next()
      if (!response) return undefined
      const span = begin(request, null)
      tellRoute(span, request)
      noteStatus(span, response)
      span.end()
      return response
    },
  }
}

function calledOf({ call, ...entry }: Entry, { tracer, current, isTrusted }: Watch): Entry {
  return {
    ...entry,
    call: (arrival, codec) => {
      const parent = isTrusted(arrival.address) ? arrival.headers.get("traceparent") : null
      const span = beginSpan(tracer, entry.name, parent)
      return current.run(span, async () => {
        try {
          const answer = await call(arrival, codec)
          const failed = !answer.result.ok && ours.has(answer.result.fault.code)
          if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
          return answer
        } finally {
          span.end()
        }
      })
    },
  }
}

/** Faults that are ours to mend. */
const ours: ReadonlySet<string> = new Set(["internal", "data_loss", "unavailable"])

function noteStatus(span: Span, { status }: Response): void {
  span.setAttribute("http.response.status_code", status)
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
}

const methods = new Set(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])

/** By words of our own: a stranger can make up neither methods nor routes. */
const methodOf = ({ method }: Request): string => (methods.has(method) ? method : "_OTHER")

/** The route is known once the request has come to it. */
function tellRoute(span: Span, request: Request): void {
  const route = routeOf(request)?.template
  if (route === undefined) return
  span.setAttribute("http.route", route)
  if (!named.has(span)) span.updateName(`${methodOf(request)} ${route}`)
}
