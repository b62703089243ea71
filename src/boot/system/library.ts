import { readFileSync } from "node:fs"

/**
 * The path of the C library of this process, for functions that the runtime lacks. Linux only. musl
 * is its own loader, so its mapped file is the library.
 */
export const systemLibraryPath = (maps = readFileSync("/proc/self/maps", "utf8")): string =>
  /\/\S*\/(?:ld-musl-[^/\s]+\.so\.1|libc\.musl-[^/\s]+\.so\.1)$/m.exec(maps)?.[0] ?? "libc.so.6"
