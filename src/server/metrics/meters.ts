import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client"
import type { CallEnd, Hooks } from "../../api/dispatch.ts"
import type { Refusal } from "../../domain/refusal/index.ts"
import { findRoute } from "../../http/visit.ts"
import type { Watcher } from "../../http/watcher.ts"
import { isSelfCheck } from "../../kernel/self-check.ts"
import { version } from "../../kernel/version.ts"
import type { OpenOptions } from "../../store/index.ts"
import { authenticationChecks, deliveryStatuses, deliveryStatusOf } from "./counted-events.ts"

/**
 * Counters of events in the process. All label values are defined in the code; nothing that a
 * caller sends becomes a label.
 */
export type Meters = {
  readonly registry: Registry
  /** Hooks of the dispatcher, the store, the token endpoint and of rejected requests. */
  readonly calls: Hooks
  readonly appended: NonNullable<OpenOptions["appended"]>
  readonly issued: (grant: string) => void
  readonly refused: (refusal: Pick<Refusal, "error">, group: string) => void
  /** Measures the duration of responses. */
  readonly watcher: Watcher
}

/** In seconds: most responses take a few ms, a password check half a second. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Default metrics that the runtime does not provide; they would always be 0. */
const unavailableMetrics = [
  "process_heap_bytes",
  "nodejs_active_resources",
  "nodejs_active_resources_total",
  "nodejs_active_handles",
  "nodejs_active_handles_total",
  "nodejs_active_requests",
  "nodejs_active_requests_total",
  "nodejs_heap_space_size_total_bytes",
  "nodejs_heap_space_size_used_bytes",
  "nodejs_heap_space_size_available_bytes",
  "nodejs_version_info",
  "nodejs_gc_duration_seconds",
]

/** Creates a set of counters, all 0. */
export function createMeters(): Meters {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  for (const name of unavailableMetrics) registry.removeSingleMetric(name)
  new Gauge({
    name: "latchkey_info",
    help: "Always 1; the version is a label",
    registers,
    labelNames: ["version"],
  }).set({ version }, 1)
  return {
    registry,
    calls: createCallMeter(registers),
    appended: createEventMeter(registers),
    ...createOauthMeters(registers),
    watcher: createRequestMeter(registers),
  }
}

type Registers = Registry[]

function createCallMeter(registers: Registers): Hooks {
  const duration = new Histogram({
    name: "latchkey_api_call_duration_seconds",
    help: "Calls of the management API, by encoding and result",
    labelNames: ["encoding", "code"],
    buckets,
    registers,
  })
  return {
    ended: ({ encoding, code, durationMs }: CallEnd) =>
      duration.observe({ encoding, code }, durationMs / 1000),
  }
}

function createEventMeter(registers: Registers): Meters["appended"] {
  const checked = new Counter({
    name: "latchkey_sign_in_checks_total",
    help: "Authentication checks, by method and outcome",
    labelNames: ["method", "outcome"],
    registers,
  })
  // Starts at 0, because a counter that first appears with 1 shows no increase.
  for (const [method, outcome] of authenticationChecks.values()) checked.inc({ method, outcome }, 0)
  const delivered = new Counter({
    name: "latchkey_messages_total",
    help: "Delivery results of emails and SMS; a delayed message is retried",
    labelNames: ["outcome"],
    registers,
  })
  for (const outcome of deliveryStatuses.values()) delivered.inc({ outcome }, 0)
  return (events) => {
    for (const event of events) {
      const { type, correlation } = event
      if (isSelfCheck(correlation)) continue
      const [method, outcome] = authenticationChecks.get(type) ?? []
      if (method && outcome) checked.inc({ method, outcome })
      const delivery = deliveryStatusOf(event)
      if (delivery) delivered.inc({ outcome: delivery })
    }
  }
}

function createOauthMeters(registers: Registers): Pick<Meters, "issued" | "refused"> {
  const issued = new Counter({
    name: "latchkey_tokens_issued_total",
    help: "Token responses, by grant type",
    labelNames: ["grant"],
    registers,
  })
  const refused = new Counter({
    name: "latchkey_requests_refused_total",
    help: "Rejected requests of applications, by endpoint and error",
    labelNames: ["endpoint", "error"],
    registers,
  })
  return {
    issued: (grant) => issued.inc({ grant: grant.replace(/^.*:/, "") }),
    refused: ({ error }, group) => refused.inc({ endpoint: group, error }),
  }
}

function createRequestMeter(registers: Registers): Watcher {
  const duration = new Histogram({
    name: "latchkey_http_request_duration_seconds",
    help: "HTTP responses, by route group and status class",
    labelNames: ["group", "status"],
    buckets,
    registers,
  })
  const timed = (request: Request, { status }: { readonly status: number }, from: number) => {
    const group = findRoute(request)?.group ?? "other"
    const seconds = (performance.now() - from) / 1000
    duration.observe({ group, status: `${Math.floor(status / 100)}xx` }, seconds)
  }
  return {
    answer: async (request, _, next) => {
      const from = performance.now()
      const response = await next()
      timed(request, response, from)
      return response
    },
    publishedDocument: (request, next) => {
      const from = performance.now()
      const response = next()
      if (response) timed(request, response, from)
      return response
    },
  }
}
