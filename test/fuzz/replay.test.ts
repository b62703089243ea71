import { readdirSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import {
  corpusBytesMax,
  corpusFolder,
  fileBytesMax,
  filesMax,
  readCorpus,
} from "./engine/corpus.ts"
import { targets } from "./targets.ts"

const names = targets.map(({ name }) => name)

test.each(targets.map((target) => [target.name, target] as const))(
  "%s handles its corpus",
  async (name, target) => {
    const open = await target.open()
    const seeds = open.seeds.map((bytes, at) => ({ name: `seed ${at}`, bytes }))
    const faults: string[] = []
    const kinds = new Set<string>()
    for (const { name: file, bytes } of [...seeds, ...readCorpus(name)]) {
      const { kind, reason } = await open.run(bytes)
      kinds.add(kind)
      if (kind === "fault") faults.push(`${file}: ${reason}`)
    }
    await open.close()
    expect(faults).toEqual([])
    // A harness that accepts no input would also find nothing.
    expect([...kinds]).toContain("accepted")
  },
)

describe("the corpus", () => {
  test("has exactly one directory for each target", () => {
    expect(readdirSync(corpusFolder).sort()).toEqual(names)
  })

  test("is small", () => {
    const files = names.map((name) => [name, readCorpus(name)] as const)
    for (const [name, kept] of files) {
      expect(kept.length, name).toBeGreaterThan(0)
      expect(kept.length, name).toBeLessThanOrEqual(filesMax)
      for (const file of kept) {
        expect(file.bytes.length, join(name, file.name)).toBeLessThanOrEqual(fileBytesMax)
      }
    }
    const sizes = files.flatMap(([, kept]) => kept.map(({ bytes }) => bytes.length))
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(corpusBytesMax)
  })
})
