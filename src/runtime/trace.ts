/** What of a request is told apart in its trace: what it may wait for. */
export type Part = "store" | "password" | "http" | "mail" | "directory"

/** Does some work, and notes how long it took and whether it failed. */
export type Tracer = <T>(part: Part, work: () => Promise<T>) => Promise<T>

let tracer: Tracer | undefined

/** Has the parts of requests noted from now on; undefined for not any more. */
export function traceWith(wanted: Tracer | undefined): void {
  tracer = wanted
}

/** Does a part of the work of a request; where requests are traced, it is a span of its own. */
export const traced: Tracer = (part, work) => (tracer ? tracer(part, work) : work())
