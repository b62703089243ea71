// What work costs, whatever else the machine has to do meanwhile.

/** What a piece of work gives, and how long this thread has computed for it, in ms. */
export async function worked<T>(
  work: () => T,
): Promise<readonly [given: Awaited<T>, computedMs: number]> {
  const before = process.threadCpuUsage()
  const given = await work()
  const { user, system } = process.threadCpuUsage(before)
  return [given, (user + system) / 1000]
}
