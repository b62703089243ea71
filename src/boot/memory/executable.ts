import { readFileSync, readlinkSync } from "node:fs"
import { systemLibrary } from "../system/library.ts"

/** What is mapped from one file: where it begins, and its length in bytes. */
export type Mapping = { readonly start: bigint; readonly length: bigint }

const dontNeed = 4

/**
 * Returns what unmaps the pages of the executable that this process has read, until it reads them
 * again. For each page that is used the kernel maps 16, and keeps them until it runs short of
 * memory; meanwhile they count as memory of this process. The file stays in the kernel's cache, so
 * that reading them again takes no disk. Undefined where the system is not Linux.
 */
export async function openExecutable(): Promise<(() => void) | undefined> {
  if (process.platform !== "linux") return undefined
  const { dlopen } = await import("bun:ffi")
  const { symbols } = dlopen(systemLibrary(), {
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
 * What of a file is mapped, can't be written to, and has no page that differs from the file
 * (proc_pid_smaps(5)): only such pages can be read again.
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

/** Private and not writable: permissions are "r--p" or "r-xp". */
const mappingLine = /^([0-9a-f]+)-([0-9a-f]+) r-[x-]p [0-9a-f]+ [0-9a-f]+:[0-9a-f]+ \d+ +(.*)$/m
