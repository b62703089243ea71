import { setPriority } from "node:os"

/**
 * Has the thread that calls this step back for others: what answers people comes first on every
 * core. `nice` is 1 to 19, the highest steps back furthest. Only Linux counts priorities by thread;
 * elsewhere the same call would hold back the whole process, so there nothing is changed.
 * Where a sandbox forbids it the work is done all the same, beside what answers people.
 */
export function stepBack(nice: number): void {
  if (process.platform !== "linux") return
  try {
    setPriority(nice)
  } catch (cause) {
    if (!isForbidden(cause)) throw cause
  }
}

const isForbidden = (cause: unknown): boolean =>
  cause instanceof Error &&
  "code" in cause &&
  ["EPERM", "EACCES", "ERR_SYSTEM_ERROR"].includes(String(cause.code))
