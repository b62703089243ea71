// The CPU cost of work, independent of other processes.

/** The result of work, and the CPU time of this thread for it, in ms. */
export async function measureCpu<T>(
  work: () => T,
): Promise<readonly [given: Awaited<T>, computedMs: number]> {
  const before = process.threadCpuUsage()
  const result = await work()
  const { user, system } = process.threadCpuUsage(before)
  return [result, (user + system) / 1000]
}
