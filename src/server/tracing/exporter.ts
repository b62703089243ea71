import { ExportResultCode } from "@opentelemetry/core"
import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer"
import type { SpanExporter } from "@opentelemetry/sdk-trace"
import type { Clock } from "../../kernel/clock.ts"
import { reasonText } from "../../kernel/fault.ts"
import type { Network } from "../../runtime/network.ts"

export type Receiver = {
  /** Where it takes traces: https://collector.example.com:4318/v1/traces */
  readonly url: string
  /** What it wants beside; a key of ours, perhaps, which nobody else is told. */
  readonly headers: Readonly<Record<string, string>>
  /** How long one batch may take to be handed over. */
  readonly timeoutMs: number
  readonly send: Network["send"]
  readonly clock: Clock
  /** Told when spans are lost, and why; once, until some arrive again. */
  readonly lost: (why: string) => void
}

/**
 * Hands spans over as OTLP/HTTP with protobuf says (https://opentelemetry.io/docs/specs/otlp). What
 * can't be handed over is dropped: traces are no reason to keep anything waiting, or in memory.
 *
 * The encoding is OpenTelemetry's. `@opentelemetry/exporter-trace-otlp-proto` 0.301.1, which also
 * sends, fails test/acceptance/traces.test.ts: it retries a refused connection for 7 seconds, so
 * that a server stops before it logs the loss. It also reads the environment itself, and sends
 * OTEL_EXPORTER_OTLP_HEADERS beside the headers for traces that replace them.
 */
export function exporterOf({
  url,
  timeoutMs,
  send,
  clock,
  lost,
  ...given
}: Receiver): SpanExporter {
  let isLosing = false
  const handOver = async (body: Uint8Array<ArrayBuffer>) => {
    const controller = new AbortController()
    const late = new Error(`there was no answer within ${timeoutMs / 1000} seconds`)
    const timer = clock.after(timeoutMs, () => controller.abort(late))
    try {
      const headers = { ...given.headers, "content-type": "application/x-protobuf" }
      const answer = await send(url, {
        method: "POST",
        headers,
        body,
        redirect: "manual",
        signal: controller.signal,
      })
      await answer.body?.cancel()
      if (!answer.ok) throw new Error(`it answered ${answer.status}`)
    } finally {
      timer.stop()
    }
  }
  const failed = (cause: unknown) => {
    if (!isLosing) lost(reasonText(cause))
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
          // As far as the batches are concerned it is done: the library would only log it, too.
          done({ code: ExportResultCode.SUCCESS })
        },
      )
    },
    shutdown: async () => {},
  }
}
