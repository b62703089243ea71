import { existsSync, readFileSync } from "node:fs"

const status = "/proc/self/status"

/** Resident memory in bytes, proc_pid_status(5). */
export type ResidentBytes = {
  /** No file backs it; all of it where the system doesn't say. */
  readonly private: number
  /** Pages of the executable and of libraries. */
  readonly mapped: number
}

export function residentBytes(): ResidentBytes {
  const text = existsSync(status) ? readFileSync(status, "utf8") : ""
  const field = (name: string) => new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1]
  const [anonymous, file] = [field("RssAnon"), field("RssFile")]
  if (anonymous === undefined) return { private: process.memoryUsage.rss(), mapped: 0 }
  return { private: Number(anonymous) * 1024, mapped: Number(file) * 1024 }
}
