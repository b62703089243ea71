import { AsyncLocalStorage } from "node:async_hooks"
import {
  type Attributes,
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
import { type Tracer, traceWith } from "../../kernel/lane/trace.ts"
import type { Peer } from "../../kernel/net/address.ts"
import type { TraceSettings } from "../../kernel/setting/telemetry.ts"
import { version } from "../../kernel/version.ts"
import { routeGroup } from "../metrics/route-group.ts"
import { exporterOf, type Receiver } from "./exporter.ts"

/** What requests are traced by. */
export type Tracing = {
  /** Hooks of the dispatcher: the span of a call of the interface has the operation's name. */
  readonly calls: Hooks
  /** The same app, each request of which is a span; `isTrusted` says whose traceparent counts. */
  readonly watching: <A extends Called, App extends Answering<A>>(
    app: App & Answering<A>,
    isTrusted: (peer: string) => boolean,
  ) => App
  /** Hands over what is left, but waits for nobody who does not take it. */
  readonly stop: () => Promise<void>
}

type Called = { readonly entries: readonly Entry[] }

/** What of an app is traced. */
type Answering<A extends Called> = {
  readonly answer: (request: Request, peer: Peer) => Promise<Response>
  readonly published: (request: Request) => Response | undefined
  readonly api: () => Promise<A>
}

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
    watching: (app, isTrusted) => ({ ...app, ...watched(app, { tracer, current, isTrusted }) }),
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

type Watch = {
  readonly tracer: SpanTracer
  readonly current: Current
  readonly isTrusted: (peer: string) => boolean
}

function watched<A extends Called>(
  app: Answering<A>,
  { tracer, current, isTrusted }: Watch,
): Answering<A> {
  const begin = (name: string, attributes: Attributes, parent?: string | null) => {
    const told = parent ? parseTraceParent(parent) : null
    const context = told
      ? trace.setSpanContext(ROOT_CONTEXT, { ...told, isRemote: true })
      : ROOT_CONTEXT
    return tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, context)
  }
  const beginRequest = (request: Request, parent?: string | null) => {
    const { method, group } = routeOf(request)
    const attributes = { "http.request.method": method, "http.route": group }
    return begin(`${method} ${group}`, attributes, parent)
  }
  const call =
    ({ name, call }: Entry): Entry["call"] =>
    (arrival, codec) => {
      const parent = isTrusted(arrival.address) ? arrival.headers.get("traceparent") : null
      const span = begin(name, {}, parent)
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
    }
  return {
    answer: async (request, peer) => {
      const parent = request.headers.get("traceparent")
      const span = beginRequest(request, parent && isTrusted(peer()) ? parent : null)
      try {
        const response = await current.run(span, () => app.answer(request, peer))
        noteStatus(span, response)
        return response
      } finally {
        span.end()
      }
    },
    published: (request) => {
      // Whose trace goes on has a peer that must be looked at: `answer` does.
      if (request.headers.has("traceparent")) return undefined
      const response = app.published(request)
      if (!response) return undefined
      const span = beginRequest(request)
      noteStatus(span, response)
      span.end()
      return response
    },
    // Native gRPC reaches the operations past `answer`.
    api: async () => {
      const api = await app.api()
      return { ...api, entries: api.entries.map((each) => ({ ...each, call: call(each) })) }
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

/** By words of our own: a stranger can make up neither. */
const routeOf = ({ method, url }: Request) => ({
  method: methods.has(method) ? method : "_OTHER",
  group: routeGroup(URL.parse(url)?.pathname ?? ""),
})
