/** Latencies of one run, and how many it was a second. */
export type Figures = {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly worst: number
}

/** Calls `work` from `callers` at once for so long, and takes the time of every call. */
export async function measure(
  callers: number,
  seconds: number,
  work: () => Promise<unknown>,
): Promise<Figures> {
  const times: number[] = []
  const started = performance.now()
  const end = started + seconds * 1000
  const caller = async () => {
    while (performance.now() < end) {
      const before = performance.now()
      await work()
      times.push(performance.now() - before)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const elapsed = (performance.now() - started) / 1000
  times.sort((a, b) => a - b)
  const at = (part: number) => times[Math.floor((times.length - 1) * part)] ?? 0
  return { perSecond: times.length / elapsed, p50: at(0.5), p99: at(0.99), worst: at(1) }
}

/** How long the event loop was kept at most, in milliseconds, until it is asked. */
export function watchLoop(): () => number {
  let longest = 0
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    longest = Math.max(longest, now - last - 1)
    last = now
  }, 1)
  return () => {
    clearInterval(timer)
    return longest
  }
}
