// Decodes traces with messages generated from OpenTelemetry's own proto files.
import { createRequire } from "node:module"
import { dirname, join } from "node:path"

type Value = { readonly stringValue?: string; readonly intValue?: number }
type KeyValue = { readonly key: string; readonly value: Value }

type DecodedTraces = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] }
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly traceId: Uint8Array
        readonly spanId: Uint8Array
        readonly parentSpanId: Uint8Array | null
        readonly name: string
        readonly kind: number
        readonly startTimeUnixNano: { readonly toString: () => string }
        readonly endTimeUnixNano: { readonly toString: () => string }
        readonly attributes: readonly KeyValue[]
      }[]
    }[]
  }[]
}

export type Span = {
  readonly name: string
  readonly kind: number
  /** In hex; `parentId` is empty for a root span. */
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string
  /** Nanoseconds UTC. */
  readonly from: bigint
  readonly until: bigint
  readonly attributes: Readonly<Record<string, string | number>>
  readonly resource: Readonly<Record<string, string | number>>
}

const require = createRequire(import.meta.url)
const folder = dirname(require.resolve("otlp-official/package.json"))
const { opentelemetry } = require(join(folder, "build/src/generated/root.js"))
const { ExportTraceServiceRequest } = opentelemetry.proto.collector.trace.v1

const hex = (bytes: Uint8Array | null) => Buffer.from(bytes ?? []).toString("hex")

const valuesOf = (attributes: readonly KeyValue[]) =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue || Number(value.intValue)]),
  )

/** The spans in OTLP/HTTP bodies, ordered by their start. */
export function decodeTraces(bodies: readonly Uint8Array[]): readonly Span[] {
  return bodies
    .map((body): DecodedTraces => ExportTraceServiceRequest.decode(body))
    .flatMap(({ resourceSpans }) => resourceSpans)
    .flatMap(({ resource, scopeSpans }) =>
      scopeSpans.flatMap(({ spans }) =>
        spans.map((span) => ({
          name: span.name,
          kind: span.kind,
          traceId: hex(span.traceId),
          spanId: hex(span.spanId),
          parentId: hex(span.parentSpanId),
          from: BigInt(span.startTimeUnixNano.toString()),
          until: BigInt(span.endTimeUnixNano.toString()),
          attributes: valuesOf(span.attributes),
          resource: valuesOf(resource.attributes),
        })),
      ),
    )
    .toSorted((one, other) => Number(one.from - other.from))
}
