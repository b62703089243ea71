import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { claimFolder } from "../../src/boot/claim.ts"
import { type Folder, folderAt } from "../../src/boot/folder.ts"
import { configOf } from "../../src/kernel/config.ts"
import { systemRandom } from "../../src/kernel/random.ts"
import { type Child, runProgram } from "./child.ts"

let folder: Folder
let children: Child[] = []

beforeEach(() => {
  folder = folderAt(join(mkdtempSync(join(tmpdir(), "latchkey-claim-")), "data"))
})

afterEach(async () => {
  for (const child of children) child.kill("SIGKILL")
  await Promise.all(children.map((child) => child.ended))
  children = []
  rmSync(join(folder.path, ".."), { recursive: true, force: true })
})

const claim = (env: Record<string, string> = {}) =>
  claimFolder(configOf({ flags: { "--data": folder.path }, env, file: {} }), systemRandom)

function owner(...args: readonly string[]): Child {
  const child = runProgram("owner.ts", [folder.path, ...args])
  children.push(child)
  return child
}

const mode = (file: string) => (statSync(file).mode & 0o777).toString(8)

describe("ownership", () => {
  it("refuses a second process within a second, naming the first", async () => {
    const first = owner()
    expect(await first.line()).toMatch(/^owner/)
    const refusal = await owner().line()
    expect(refusal).toContain(`in use by another Latchkey process (pid ${first.pid})`)
    expect(Number(/after (\d+) ms/.exec(refusal)?.[1])).toBeLessThan(1000)
  })

  it("falls to the next process when its owner was killed", async () => {
    for (let round = 0; round < 5; round++) {
      const child = owner("control")
      expect(await child.line()).toMatch(/^owner/)
      child.kill("SIGKILL")
      await child.ended
    }
  })

  it("goes to exactly one of twenty that start on an empty folder at once", async () => {
    const lines = await Promise.all(Array.from({ length: 20 }, () => owner().line()))
    expect(lines.filter((line) => line.startsWith("owner"))).toHaveLength(1)
    const refused = lines.filter((line) => line.includes("in use by another Latchkey process"))
    expect(refused).toHaveLength(19)
  })

  it("stays with a running server whose lock file was removed", async () => {
    expect(await owner("control").line()).toMatch(/^owner/)
    rmSync(folder.lock)
    expect(await owner().line()).toContain("in use by another Latchkey process")
  })

  it("is one per process too, and ends with its release", async () => {
    const first = await claim()
    await expect(claim()).rejects.toMatchObject({ id: "start.folder_owned" })
    first.release()
    first.release()
    const second = await claim()
    expect(second.master).toEqual(first.master)
    second.release()
  })

  it("is given back when the master key is refused", async () => {
    const wrong = { LATCHKEY_MASTER_KEY: Buffer.alloc(32).toString("base64") }
    const first = await claim()
    first.release()
    await expect(claim(wrong)).rejects.toMatchObject({ id: "start.master_key_wrong" })
    const again = await claim()
    again.release()
  })
})

describe("the data folder", () => {
  it("is made for its owner only, with everything in it", async () => {
    const { release } = await claim()
    expect(mode(folder.path)).toBe("700")
    for (const file of readdirSync(folder.path)) expect(mode(join(folder.path, file))).toBe("600")
    release()
  })

  it("is refused, with nothing made, when it is a file or lies below one", async () => {
    writeFileSync(folder.path, "a file")
    await expect(claim()).rejects.toThrow(/can't be used: it is not a folder; .*--data DIR/)
    const below = configOf({ flags: { "--data": join(folder.path, "x") }, env: {}, file: {} })
    await expect(claimFolder(below, systemRandom)).rejects.toMatchObject({
      id: "start.folder_unusable",
    })
    expect(readFileSync(folder.path, "utf8")).toBe("a file")
  })

  it("is refused when the lock file is something else", async () => {
    mkdirSync(folder.path)
    writeFileSync(folder.lock, "not ours")
    await expect(claim()).rejects.toMatchObject({ id: "start.lock_unusable" })
    expect(readFileSync(folder.lock, "utf8")).toBe("not ours")
  })
})

describe("the master key", () => {
  it("is made once and read ever after", async () => {
    const first = await claim()
    first.release()
    const text = readFileSync(folder.masterKey, "utf8")
    expect(Buffer.from(text, "base64")).toEqual(Buffer.from(first.master))
    expect(readFileSync(folder.fingerprint, "utf8")).not.toContain(text.trim())
    const second = await claim()
    second.release()
    expect(second.master).toEqual(first.master)
  })

  it("must be there when there is a database, and nothing is touched when it is not", async () => {
    const { release } = await claim()
    release()
    writeFileSync(folder.database, "sealed")
    rmSync(folder.masterKey)
    const before = readdirSync(folder.path)
    await expect(claim()).rejects.toThrow(/master key is not there; put .*master\.key back/)
    rmSync(folder.fingerprint)
    await expect(claim()).rejects.toMatchObject({ id: "start.master_key_missing" })
    expect(readdirSync(folder.path)).toEqual(before.filter((f) => !f.endsWith("fingerprint")))
    expect(readFileSync(folder.database, "utf8")).toBe("sealed")
  })

  it("must be the one the data was sealed with", async () => {
    const { release } = await claim()
    release()
    const kept = readFileSync(folder.fingerprint, "utf8")
    writeFileSync(folder.masterKey, `${Buffer.alloc(32, 1).toString("base64")}\n`)
    await expect(claim()).rejects.toThrow(/sealed with another master key/)
    expect(readFileSync(folder.fingerprint, "utf8")).toBe(kept)
  })

  it("is refused when it is cut short, and never made anew", async () => {
    const { release } = await claim()
    release()
    writeFileSync(folder.masterKey, readFileSync(folder.masterKey, "utf8").slice(0, 20))
    await expect(claim()).rejects.toThrow(/does not hold a key of 32 bytes in base64/)
    expect(readFileSync(folder.masterKey, "utf8")).toHaveLength(20)
  })

  it("may come from the environment or another file, and then none is made", async () => {
    const key = Buffer.alloc(32, 5)
    const first = await claim({ LATCHKEY_MASTER_KEY: key.toString("base64") })
    first.release()
    expect(Buffer.from(first.master)).toEqual(key)
    expect(existsSync(folder.masterKey)).toBe(false)
    const file = join(folder.path, "..", "key")
    writeFileSync(file, key.toString("base64url"))
    const second = await claim({ LATCHKEY_MASTER_KEY_FILE: file })
    second.release()
    expect(second.master).toEqual(first.master)
    await expect(claim()).rejects.toMatchObject({ id: "start.master_key_missing" })
    await expect(claim({ LATCHKEY_MASTER_KEY_FILE: `${file}x` })).rejects.toThrow(
      /no master key at/,
    )
  })
})
