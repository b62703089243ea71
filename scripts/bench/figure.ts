/** Latencies of one run in milliseconds, and the calls per second. */
export type Figures = {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/**
 * Runs `work` from `callers` concurrent loops for `seconds`, and records the latency of every call.
 */
export async function measure(
  callers: number,
  seconds: number,
  work: () => Promise<unknown>,
): Promise<Figures> {
  const times = createRecorder()
  const started = performance.now()
  const end = started + seconds * 1000
  const caller = async () => {
    while (performance.now() < end) {
      const before = performance.now()
      await work()
      times.add(performance.now() - before)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const elapsed = (performance.now() - started) / 1000
  const sorted = times.sorted()
  const percentile = (fraction: number) => sorted[Math.floor((sorted.length - 1) * fraction)] ?? 0
  return {
    perSecond: sorted.length / elapsed,
    p50: percentile(0.5),
    p99: percentile(0.99),
    max: percentile(1),
  }
}

/** Stores numbers in blocks: growing one array would copy it and stall the event loop. */
function createRecorder() {
  const blocks: Float64Array[] = []
  let used = blockSize
  return {
    add: (value: number) => {
      if (used === blockSize) {
        blocks.push(new Float64Array(blockSize))
        used = 0
      }
      blocks.at(-1)?.fill(value, used, used + 1)
      used++
    },
    sorted: () => {
      const all = new Float64Array(Math.max(0, blocks.length * blockSize - (blockSize - used)))
      for (const [percentile, block] of blocks.entries()) {
        const filled = percentile === blocks.length - 1 ? block.subarray(0, used) : block
        all.set(filled, percentile * blockSize)
      }
      return all.sort()
    },
  }
}

const blockSize = 65_536

/**
 * Starts watching the event loop; the returned function stops and returns the longest stall in ms.
 */
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
