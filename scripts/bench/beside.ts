// A thread of its own, which signs in and watches the event loop of a server while the other one
// searches: what that thread is busy with itself does not count as time that the server took.
import { setTimeout as sleep } from "node:timers/promises"
import { type ServiceKey, serviceToken } from "../../test/support/latchkey.ts"

/** What it is told at the start; any later message ends it. */
export type Beside = { readonly url: string; readonly key: ServiceKey }

/** How long each answer took, in milliseconds. */
export type Waited = { readonly tokens: readonly number[]; readonly watched: readonly number[] }

declare const self: Worker

/** Between two requests of those who sign in, and of those who watch the event loop. */
const tokenMs = 20
const watchMs = 2

let isOver = false

self.onmessage = ({ data: { url, key } }: MessageEvent<Beside>) => {
  self.onmessage = () => {
    isOver = true
  }
  void Promise.all([
    repeated(tokenMs, () => serviceToken(url, key)),
    repeated(watchMs, async () => (await fetch(`${url}/debug/healthz`)).text()),
  ]).then(([tokens, watched]) => self.postMessage({ tokens, watched } satisfies Waited))
}

async function repeated(pauseMs: number, ask: () => Promise<unknown>): Promise<readonly number[]> {
  const times: number[] = []
  while (!isOver) {
    const before = performance.now()
    await ask()
    times.push(performance.now() - before)
    await sleep(pauseMs)
  }
  return times
}
