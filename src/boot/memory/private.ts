import { existsSync, openSync, readSync } from "node:fs"

const statusFile = "/proc/self/status"
const statusBytes = 4096

/** Stays open, because it could not be opened again once no descriptors are left. */
let descriptor: number | undefined

/**
 * The memory of this process that is not backed by files; all of its memory if the system does not
 * report it. In bytes.
 */
export function privateBytes(): number {
  if (!existsSync(statusFile)) return process.memoryUsage.rss()
  descriptor ??= openSync(statusFile, "r")
  const text = Buffer.alloc(statusBytes)
  const size = readSync(descriptor, text, 0, statusBytes, 0)
  const field = /^RssAnon:\s+(\d+) kB$/m.exec(text.toString("latin1", 0, size))?.[1]
  return field === undefined ? process.memoryUsage.rss() : Number(field) * 1024
}
