import { readFileSync, readlinkSync } from "node:fs"
import { systemLibraryPath } from "../system/library.ts"

/** A mapped range of a file: its start address and its length in bytes. */
export type Mapping = { readonly start: bigint; readonly length: bigint }

const dontNeed = 4

/**
 * Returns a function that releases the pages of the executable from this process's memory until
 * they are needed again. The kernel maps 16 pages for each one used and keeps them, counted as
 * memory of this process, until it runs short. The file stays in the page cache, so no disk reads
 * are needed. Undefined if the system is not Linux.
 */
export async function createPageReleaser(): Promise<(() => void) | undefined> {
  if (process.platform !== "linux") return undefined
  const { dlopen } = await import("bun:ffi")
  const { symbols } = dlopen(systemLibraryPath(), {
    madvise: { args: ["u64", "u64", "int"], returns: "int" },
  })
  const path = readlinkSync("/proc/self/exe")
  return () => {
    const smaps = readFileSync("/proc/self/smaps", "utf8")
    for (const { start, length } of unchangedMappings(smaps, path)) {
      symbols.madvise(start, length, dontNeed)
    }
  }
}

/**
 * The mapped ranges of a file that are read-only and unmodified (proc_pid_smaps(5)); only such
 * pages can be loaded again.
 */
export function unchangedMappings(smaps: string, path: string): readonly Mapping[] {
  const each = smaps.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m)
  return each.flatMap((text) => {
    const [, from, to, file] = mappingLine.exec(text) ?? []
    const isUnchanged = /^Anonymous: +0 kB$/m.test(text)
    if (from === undefined || to === undefined || file !== path || !isUnchanged) return []
    const start = BigInt(`0x${from}`)
    return [{ start, length: BigInt(`0x${to}`) - start }]
  })
}

/** Private and not writable: the permissions are "r--p" or "r-xp". */
const mappingLine = /^([0-9a-f]+)-([0-9a-f]+) r-[x-]p [0-9a-f]+ [0-9a-f]+:[0-9a-f]+ \d+ +(.*)$/m
