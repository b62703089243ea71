import { existsSync, readFileSync } from "node:fs"

const status = "/proc/self/status"

/** The memory of this process that no file backs; all of it where the system doesn't say. */
export function privateBytes(): number {
  if (!existsSync(status)) return process.memoryUsage.rss()
  const field = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(status, "utf8"))?.[1]
  return field === undefined ? process.memoryUsage.rss() : Number(field) * 1024
}
