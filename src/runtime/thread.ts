import { setPriority } from "node:os"

/**
 * Lowers the priority of the calling thread, so that request handling has priority on every core.
 * `nice` is 1 to 19; 19 is the lowest priority. Only Linux has priorities per thread; elsewhere the
 * call would affect the whole process, so nothing is changed. If a sandbox forbids it, the work
 * continues at normal priority.
 */
export function lowerThreadPriority(nice: number): void {
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
