import { ExportResultCode } from "@opentelemetry/core"
import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer"
import type { SpanExporter } from "@opentelemetry/sdk-trace"
import type { Clock } from "../../kernel/clock.ts"
import { errorText } from "../../kernel/fault.ts"
import type { Network } from "../../runtime/network.ts"

export type TraceReceiver = {
  /** The endpoint for traces: https://collector.example.com:4318/v1/traces */
  readonly url: string
  /** Additional headers, such as a secret API key. */
  readonly headers: Readonly<Record<string, string>>
  /** The time limit for sending a batch. */
  readonly timeoutMs: number
  readonly send: Network["send"]
  readonly clock: Clock
  /** Called with the reason when spans are lost; once, until some are delivered again. */
  readonly onLost: (failureReason: string) => void
}

/**
 * Sends spans with OTLP/HTTP and protobuf (https://opentelemetry.io/docs/specs/otlp). Spans that
 * can't be delivered are dropped, so that traces never delay requests or use memory.
 * The encoding is OpenTelemetry's. `@opentelemetry/exporter-trace-otlp-proto` 0.301.1, which also
 * sends, fails test/acceptance/traces.test.ts: it retries a failed connection for 7 seconds, so a
 * server stops before it logs the loss. It also reads the environment itself, and sends
 * OTEL_EXPORTER_OTLP_HEADERS in addition to the trace headers that replace them.
 */
export function createExporter({
  url,
  timeoutMs,
  send,
  clock,
  onLost,
  ...receiver
}: TraceReceiver): SpanExporter {
  let isLosing = false
  const handOver = async (body: Uint8Array<ArrayBuffer>) => {
    const controller = new AbortController()
    const late = new Error(`no response within ${timeoutMs / 1000} seconds`)
    const timer = clock.after(timeoutMs, () => controller.abort(late))
    try {
      const headers = { ...receiver.headers, "content-type": "application/x-protobuf" }
      const answer = await send(url, {
        method: "POST",
        headers,
        body,
        redirect: "manual",
        signal: controller.signal,
      })
      await answer.body?.cancel()
      if (!answer.ok) throw new Error(`the collector returned status ${answer.status}`)
    } finally {
      timer.stop()
    }
  }
  const failed = (cause: unknown) => {
    if (!isLosing) onLost(errorText(cause))
    isLosing = true
  }
  return {
    export: (spans, done) => {
      const body = ProtobufTraceSerializer.serializeRequest(spans)
      if (!body) return done({ code: ExportResultCode.SUCCESS })
      handOver(new Uint8Array(body)).then(
        () => {
          isLosing = false
          done({ code: ExportResultCode.SUCCESS })
        },
        (cause) => {
          failed(cause)
          // The loss is already logged; the library would only log it again.
          done({ code: ExportResultCode.SUCCESS })
        },
      )
    },
    shutdown: async () => {},
  }
}
