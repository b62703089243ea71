import { readFileSync, readlinkSync } from "node:fs"
import { expect, test } from "vitest"
import { createPageReleaser, unchangedMappings } from "../../../src/boot/memory/executable.ts"

function region(head: string, anonymous: number): string {
  return `${head}\nRss:               4 kB\nAnonymous:     ${anonymous} kB\nVmFlags: rd mr mw\n`
}

test("only read-only pages that equal the file can be dropped", () => {
  const smaps = [
    region("00200000-01a39000 r--p 00000000 fe:00 2146834                    /opt/latch key", 0),
    region("01a40000-0684a000 r-xp 01838000 fe:00 2146834                    /opt/latch key", 0),
    region("06860000-06867000 r--p 06658000 fe:00 2146834                    /opt/latch key", 28),
    region("06867000-07d84000 rw-p 0665e000 fe:00 2146834                    /opt/latch key", 0),
    region("06867000-07d84000 r--s 0665e000 fe:00 2146834                    /opt/latch key", 0),
    region("7f0000000000-7f0000001000 r-xp 00000000 fe:00 12                 /opt/libc.so.6", 0),
    region("7f0000002000-7f0000003000 r--p 00000000 00:00 0 ", 0),
  ].join("")
  expect(unchangedMappings(smaps, "/opt/latch key")).toEqual([
    { start: 0x200000n, length: 0x1839000n },
    { start: 0x1a40000n, length: 0x4e0a000n },
  ])
})

test.runIf(process.platform === "linux")("unmapped pages are no longer resident", async () => {
  const unmap = await createPageReleaser()
  const path = readlinkSync("/proc/self/exe")
  expect(unchangedMappings(readFileSync("/proc/self/smaps", "utf8"), path)).not.toEqual([])
  const before = residentFileBytes()
  unmap?.()
  expect(residentFileBytes()).toBeLessThan(before)
})

function residentFileBytes(): number {
  const [, kB] = /^RssFile:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? []
  return Number(kB)
}
