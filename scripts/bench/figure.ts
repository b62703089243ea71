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
  const times = recorder()
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
  const at = (part: number) => sorted[Math.floor((sorted.length - 1) * part)] ?? 0
  return { perSecond: sorted.length / elapsed, p50: at(0.5), p99: at(0.99), worst: at(1) }
}

/** Keeps numbers in blocks: an array that grows is copied, which would be a stall of our own. */
function recorder() {
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
      for (const [at, block] of blocks.entries()) {
        const filled = at === blocks.length - 1 ? block.subarray(0, used) : block
        all.set(filled, at * blockSize)
      }
      return all.sort()
    },
  }
}

const blockSize = 65_536

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
