import { expect, test } from "vitest"
import { mappingsOf, releaseMapped } from "../../../src/boot/memory/mapped.ts"
import { residentBytes } from "../../../src/boot/memory/resident.ts"

/** One mapping as proc_pid_smaps(5) prints it. */
const mapping = (line: string, anonymousKb: number) =>
  `${line}\nSize: 16 kB\nRss: 16 kB\nAnonymous:             ${anonymousKb} kB\nVmFlags: rd mr\n`

const smaps = [
  mapping("00200000-00204000 r--p 00000000 fe:00 53   /opt/my latchkey", 0),
  mapping("00204000-0020c000 r-xp 00004000 fe:00 53   /opt/my latchkey", 0),
  mapping("0020c000-00210000 r--p 0000c000 fe:00 53   /opt/my latchkey", 12),
  mapping("00210000-00214000 rw-p 00010000 fe:00 53   /opt/my latchkey", 0),
  mapping("7f0000000000-7f0000004000 r--s 00000000 fe:00 54   /data/latchkey.db-shm", 0),
  mapping("7f0000004000-7f0000008000 r-xp 00000000 fe:00 55   /usr/lib/libc.so.6", 0),
  mapping("7f0000008000-7f000000c000 rw-p 00000000 00:00 0 ", 16),
].join("")

test("only pages of the executable are dropped that nothing has written to", () => {
  expect(mappingsOf(smaps, "/opt/my latchkey")).toEqual([
    { start: 0x200000n, bytes: 0x4000n },
    { start: 0x204000n, bytes: 0x8000n },
  ])
})

test.runIf(process.platform === "linux")("they leave memory, and work goes on", async () => {
  const before = residentBytes().mapped
  await releaseMapped()
  const after = residentBytes().mapped
  expect(after).toBeLessThan(before)
  expect(JSON.parse('{"still":"works"}')).toEqual({ still: "works" })
})
