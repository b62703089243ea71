import { readFileSync } from "node:fs"

/**
 * The C library that this process runs with, for what the runtime has no function for. Linux only.
 * musl is its own loader, so its mapped file is the library.
 */
export const systemLibrary = (maps = readFileSync("/proc/self/maps", "utf8")): string =>
  /\/\S*\/(?:ld-musl-[^/\s]+\.so\.1|libc\.musl-[^/\s]+\.so\.1)$/m.exec(maps)?.[0] ?? "libc.so.6"
