import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client"
import type { CallEnd, Hooks } from "../../api/dispatch.ts"
import type { Refusal } from "../../domain/refusal/index.ts"
import { routeOf } from "../../http/visit.ts"
import type { Watcher } from "../../http/watcher.ts"
import { isSelfCheck } from "../../kernel/self-check.ts"
import { version } from "../../kernel/version.ts"
import type { OpenOptions } from "../../store/index.ts"
import { checks, deliveries, deliveryOf } from "./event-kind.ts"

/**
 * What is counted as it happens. A label has few values, all of them known here or in the code that
 * hands them over: nothing that a caller sends becomes one.
 */
export type Meters = {
  readonly registry: Registry
  /** Hooks of the dispatcher, of the store, of the token endpoint and of what refuses requests. */
  readonly calls: Hooks
  readonly appended: NonNullable<OpenOptions["appended"]>
  readonly issued: (grant: string) => void
  readonly refused: (refusal: Pick<Refusal, "error">, group: string) => void
  /** Times what is answered. */
  readonly watcher: Watcher
}

/** Seconds: most answers take a few ms, a password half a second. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** What the runtime does not tell, and would be shown as nothing. */
const untold = [
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

/** Meters of their own, all at nothing. */
export function metersOf(): Meters {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  for (const name of untold) registry.removeSingleMetric(name)
  new Gauge({
    name: "latchkey_info",
    help: "Always 1; the version that runs",
    registers,
    labelNames: ["version"],
  }).set({ version }, 1)
  return {
    registry,
    calls: callMeter(registers),
    appended: eventMeter(registers),
    ...oauthMeters(registers),
    watcher: requestMeter(registers),
  }
}

type Registers = Registry[]

function callMeter(registers: Registers): Hooks {
  const duration = new Histogram({
    name: "latchkey_api_call_duration_seconds",
    help: "Calls of the management interface, by encoding and how they ended",
    labelNames: ["encoding", "code"],
    buckets,
    registers,
  })
  return {
    ended: ({ encoding, code, durationMs }: CallEnd) =>
      duration.observe({ encoding, code }, durationMs / 1000),
  }
}

function eventMeter(registers: Registers): Meters["appended"] {
  const checked = new Counter({
    name: "latchkey_sign_in_checks_total",
    help: "Passwords, passkeys, codes and the like that people showed, by method and outcome",
    labelNames: ["method", "outcome"],
    registers,
  })
  // From nothing on: what first shows as one can't be seen to rise.
  for (const [method, outcome] of checks.values()) checked.inc({ method, outcome }, 0)
  const delivered = new Counter({
    name: "latchkey_messages_total",
    help: "What became of mails and SMS; a delayed one is tried again",
    labelNames: ["outcome"],
    registers,
  })
  for (const outcome of deliveries.values()) delivered.inc({ outcome }, 0)
  return (events) => {
    for (const event of events) {
      const { type, correlation } = event
      if (isSelfCheck(correlation)) continue
      const [method, outcome] = checks.get(type) ?? []
      if (method && outcome) checked.inc({ method, outcome })
      const delivery = deliveryOf(event)
      if (delivery) delivered.inc({ outcome: delivery })
    }
  }
}

function oauthMeters(registers: Registers): Pick<Meters, "issued" | "refused"> {
  const issued = new Counter({
    name: "latchkey_tokens_issued_total",
    help: "Answers of the token endpoint with tokens, by grant",
    labelNames: ["grant"],
    registers,
  })
  const refused = new Counter({
    name: "latchkey_requests_refused_total",
    help: "Requests of applications that were refused, by endpoint and error",
    labelNames: ["endpoint", "error"],
    registers,
  })
  return {
    issued: (grant) => issued.inc({ grant: grant.replace(/^.*:/, "") }),
    refused: ({ error }, group) => refused.inc({ endpoint: group, error }),
  }
}

function requestMeter(registers: Registers): Watcher {
  const duration = new Histogram({
    name: "latchkey_http_request_duration_seconds",
    help: "Answers over HTTP, by group of routes and class of status",
    labelNames: ["group", "status"],
    buckets,
    registers,
  })
  const timed = (request: Request, { status }: { readonly status: number }, from: number) => {
    const group = routeOf(request)?.group ?? "other"
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
    published: (request, next) => {
      const from = performance.now()
      const response = next()
      if (response) timed(request, response, from)
      return response
    },
  }
}
