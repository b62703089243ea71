import { existsSync, openSync, readSync } from "node:fs"

const status = "/proc/self/status"
const statusBytes = 4096

/** Stays open: where descriptors run out, none could be had to look with. */
let descriptor: number | undefined

/** The memory of this process that no file backs; all of it where the system doesn't say. */
export function privateBytes(): number {
  if (!existsSync(status)) return process.memoryUsage.rss()
  descriptor ??= openSync(status, "r")
  const text = Buffer.alloc(statusBytes)
  const size = readSync(descriptor, text, 0, statusBytes, 0)
  const field = /^RssAnon:\s+(\d+) kB$/m.exec(text.toString("latin1", 0, size))?.[1]
  return field === undefined ? process.memoryUsage.rss() : Number(field) * 1024
}
