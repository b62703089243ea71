// A worker thread that requests tokens and probes a server while the main thread runs another
// workload. It has its own thread, because work on the main thread would count as latency.
import { setTimeout as sleep } from "node:timers/promises"
import { type ServiceKey, serviceToken } from "../../test/support/latchkey.ts"

/** The first message to the worker; any later message stops it. */
export type LatencyWorkerInput = { readonly url: string; readonly key: ServiceKey }

/** Latencies in milliseconds. */
export type Latencies = { readonly tokens: readonly number[]; readonly probes: readonly number[] }

declare const self: Worker

/** Pauses between two token requests and between two probes. */
const tokenPauseMs = 20
const probePauseMs = 2

let isStopped = false

self.onmessage = ({ data: { url, key } }: MessageEvent<LatencyWorkerInput>) => {
  self.onmessage = () => {
    isStopped = true
  }
  void Promise.all([
    measureRepeatedly(tokenPauseMs, () => serviceToken(url, key)),
    measureRepeatedly(probePauseMs, async () => (await fetch(`${url}/debug/healthz`)).text()),
  ]).then(([tokens, probes]) => self.postMessage({ tokens, probes } satisfies Latencies))
}

async function measureRepeatedly(
  pauseMs: number,
  request: () => Promise<unknown>,
): Promise<readonly number[]> {
  const times: number[] = []
  while (!isStopped) {
    const before = performance.now()
    await request()
    times.push(performance.now() - before)
    await sleep(pauseMs)
  }
  return times
}
