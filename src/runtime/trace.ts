/** The parts of a request with their own spans: what it may wait for. */
export type TracePart = "store" | "password" | "http" | "mail" | "directory"

/** Runs work, and records its duration and whether it failed. */
export type Tracer = <T>(part: TracePart, work: () => Promise<T>) => Promise<T>

let tracer: Tracer | undefined

/** Sets the tracer for parts of requests; undefined turns tracing off. */
export function setTracer(newTracer: Tracer | undefined): void {
  tracer = newTracer
}

/** Runs a part of a request's work, in its own span if tracing is on. */
export const trace: Tracer = (part, work) => (tracer ? tracer(part, work) : work())
