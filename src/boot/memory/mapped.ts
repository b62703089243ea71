import { readFileSync } from "node:fs"
import { systemLibrary } from "../system-library.ts"

/** madvise(2), the value of Linux on every architecture that a release is made for. */
const dontNeed = 4

type Mapping = { readonly start: bigint; readonly bytes: bigint }

/**
 * Gives back the resident pages of the executable that nothing has written to: the kernel reads
 * them again from its cache, or from the disk, when they are next used. Elsewhere than on Linux
 * nothing happens.
 */
export async function releaseMapped(): Promise<void> {
  if (process.platform !== "linux") return
  const { dlopen } = await import("bun:ffi")
  const { symbols, close } = dlopen(systemLibrary(), {
    madvise: { args: ["u64", "u64", "int"], returns: "int" },
  })
  for (const { start, bytes } of mappingsOf(readFileSync("/proc/self/smaps", "utf8"))) {
    // What the kernel refuses stays resident, which is all that it costs.
    symbols.madvise(start, bytes, dontNeed)
  }
  close()
}

/**
 * The mappings of the executable that can be dropped, out of proc_pid_smaps(5): what is writable,
 * or holds pages that were written to (Anonymous), exists nowhere else and must stay.
 */
export function mappingsOf(smaps: string, executable = process.execPath): readonly Mapping[] {
  const header = /^([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ \S+ +(.+)$/
  const found: Mapping[] = []
  let at: Mapping | undefined
  for (const line of smaps.split("\n")) {
    const [, start, end, permissions, path] = header.exec(line) ?? []
    if (start !== undefined) {
      const isReadOnly = permissions?.[1] === "-" && permissions[3] === "p"
      const first = BigInt(`0x${start}`)
      at =
        isReadOnly && path === executable
          ? { start: first, bytes: BigInt(`0x${end}`) - first }
          : undefined
    } else if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) {
      at = undefined
    } else if (at && line.startsWith("Anonymous:")) {
      if (/^Anonymous:\s+0 kB$/.test(line)) found.push(at)
      at = undefined
    }
  }
  return found
}
