import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { serveControl } from "../../src/boot/control.ts"
import { claimFolder } from "../../src/boot/folder/claim.ts"
import { type Folder, folderAt } from "../../src/boot/folder/folder.ts"
import { findExposedKey } from "../../src/boot/folder/master-key.ts"
import { saveSetupLink } from "../../src/boot/setup-link.ts"
import { parseConfig } from "../../src/kernel/config.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
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

const claimData = (env: Record<string, string> = {}) =>
  claimFolder(parseConfig({ flags: { "--data": folder.path }, env, file: {} }), systemRandom)

function owner(...args: readonly string[]): Child {
  const child = runProgram("owner.ts", [folder.path, ...args])
  children.push(child)
  return child
}

const mode = (file: string) => (statSync(file).mode & 0o777).toString(8)

describe("ownership", () => {
  it("rejects a second process within a second and names the first", async () => {
    const first = owner()
    expect(await first.line()).toMatch(/^owner/)
    const took: number[] = []
    // On a busy machine one process may not be scheduled for a while.
    for (let count = 0; count < 3; count++) {
      const refusal = await owner().line()
      expect(refusal).toContain(`in use by another Latchkey process (pid ${first.pid})`)
      took.push(Number(/after (\d+) ms/.exec(refusal)?.[1]))
    }
    expect(Math.min(...took)).toBeLessThan(1000)
  })

  it("passes to the next process after its owner is killed", async () => {
    for (let round = 0; round < 5; round++) {
      const child = owner("control")
      expect(await child.line()).toMatch(/^owner/)
      child.kill("SIGKILL")
      await child.ended
    }
  })

  it("is given to exactly one of twenty processes that start on an empty directory", async () => {
    const lines = await Promise.all(Array.from({ length: 20 }, () => owner().line()))
    expect(lines.filter((line) => line.startsWith("owner"))).toHaveLength(1)
    const refused = lines.filter((line) => line.includes("in use by another Latchkey process"))
    expect(refused).toHaveLength(19)
  })

  it("stays with a running server whose lock file was deleted", async () => {
    expect(await owner("control").line()).toMatch(/^owner/)
    rmSync(folder.lock)
    expect(await owner().line()).toContain("in use by another Latchkey process")
  })

  it("is exclusive within a process, too, and ends with its release", async () => {
    const first = await claimData()
    await expect(claimData()).rejects.toMatchObject({ id: "start.folder_owned" })
    first.release()
    first.release()
    const second = await claimData()
    expect(second.master).toEqual(first.master)
    second.release()
  })

  it("is released when the master key is rejected", async () => {
    const wrong = { LATCHKEY_MASTER_KEY: Buffer.alloc(32).toString("base64") }
    const first = await claimData()
    first.release()
    await expect(claimData(wrong)).rejects.toMatchObject({ id: "start.master_key_wrong" })
    const again = await claimData()
    again.release()
  })
})

describe("the data directory", () => {
  it("is created with access for its owner only", async () => {
    const { release } = await claimData()
    expect(mode(folder.path)).toBe("700")
    for (const file of readdirSync(folder.path)) expect(mode(join(folder.path, file))).toBe("600")
    release()
  })

  it("is rejected if it is a file or lies below one; nothing is created", async () => {
    writeFileSync(folder.path, "a file")
    await expect(claimData()).rejects.toThrow(/can't be used: it is not a directory; .*--data DIR/)
    const below = parseConfig({ flags: { "--data": join(folder.path, "x") }, env: {}, file: {} })
    await expect(claimFolder(below, systemRandom)).rejects.toMatchObject({
      id: "start.folder_unusable",
    })
    expect(readFileSync(folder.path, "utf8")).toBe("a file")
  })

  it.each([
    ["a string", () => writeFileSync(folder.lock, "not ours")],
    ["a folder", () => mkdirSync(folder.lock)],
    ["a link that leads nowhere", () => symlinkSync("/nowhere/at/all", folder.lock)],
  ])("is refused when the lock file is another resource: %s", async (_, plant) => {
    mkdirSync(folder.path)
    plant()
    const refusal = await claimData().catch((cause: unknown) => cause)
    expect(refusal).toMatchObject({ id: "start.lock_unusable" })
    expect(refusal).toHaveProperty("message", expect.stringMatching(/lock can't be locked .*move/))
    expect(readdirSync(folder.path)).toEqual(["lock"])
  })

  it("is claimed even if the owner's name can't be written", async () => {
    mkdirSync(folder.lockHolder, { recursive: true })
    const first = await claimData()
    await expect(claimData()).rejects.toThrow(/in use by another Latchkey process; stop it/)
    first.release()
  })

  it.each(["controlSocket", "setupLink"] as const)(
    "is refused in one line when another resource is in the place of the %s",
    async (name) => {
      mkdirSync(folder[name], { recursive: true })
      const use = {
        controlSocket: () => void serveControl(folder, {}, () => undefined),
        setupLink: () => saveSetupLink(folder, "link"),
      }
      expect(use[name]).toThrow(/can't be used: it is a directory; fix that, or move the file away/)
    },
  )
})

describe("the master key", () => {
  it("is created once and then read", async () => {
    const first = await claimData()
    first.release()
    const text = readFileSync(folder.masterKey, "utf8")
    expect(Buffer.from(text, "base64")).toEqual(Buffer.from(first.master))
    expect(readFileSync(folder.fingerprint, "utf8")).not.toContain(text.trim())
    const second = await claimData()
    second.release()
    expect(second.master).toEqual(first.master)
  })

  it("is required if a database exists, and nothing changes if it is missing", async () => {
    const { release } = await claimData()
    release()
    writeFileSync(folder.database, "sealed")
    rmSync(folder.masterKey)
    const before = readdirSync(folder.path)
    await expect(claimData()).rejects.toThrow(/master key is missing; restore .*master\.key,/)
    rmSync(folder.fingerprint)
    await expect(claimData()).rejects.toMatchObject({ id: "start.master_key_missing" })
    expect(readdirSync(folder.path)).toEqual(before.filter((f) => !f.endsWith("fingerprint")))
    expect(readFileSync(folder.database, "utf8")).toBe("sealed")
  })

  it.each(["beside it", "in its stead"])(
    "is not created if the database's WAL or marker exists, %s",
    async (where) => {
      for (const file of folder.besideDatabase) {
        mkdirSync(folder.path, { recursive: true })
        if (where === "beside it") writeFileSync(folder.database, "")
        writeFileSync(file, "")
        await expect(claimData()).rejects.toMatchObject({ id: "start.master_key_missing" })
        expect(existsSync(folder.masterKey) || existsSync(folder.fingerprint)).toBe(false)
        rmSync(folder.path, { recursive: true })
      }
    },
  )

  it("causes a warning if others can read its location", async () => {
    const { release } = await claimData()
    release()
    const config = (env: Record<string, string> = {}) => parseConfig({ flags: {}, env, file: {} })
    const elsewhere = config({ LATCHKEY_MASTER_KEY_FILE: folder.fingerprint })
    const given = config({ LATCHKEY_MASTER_KEY: Buffer.alloc(32).toString("base64") })
    for (const modes of [0o600, 0o400]) {
      chmodSync(folder.masterKey, modes)
      expect(findExposedKey(folder, config())).toBeUndefined()
    }
    for (const modes of [0o644, 0o440, 0o602]) {
      chmodSync(folder.masterKey, modes)
      chmodSync(folder.fingerprint, modes)
      const mode = `0${modes.toString(8)}`
      const beside = { file: folder.masterKey, mode, isBesideData: true }
      expect(findExposedKey(folder, config())).toEqual(beside)
      const mounted = { file: folder.fingerprint, mode, isBesideData: false }
      expect(findExposedKey(folder, elsewhere)).toEqual(mounted)
      expect(findExposedKey(folder, given)).toBeUndefined()
    }
  })

  it("must be the key that the data was sealed with", async () => {
    const { release } = await claimData()
    release()
    const kept = readFileSync(folder.fingerprint, "utf8")
    writeFileSync(folder.masterKey, `${Buffer.alloc(32, 1).toString("base64")}\n`)
    await expect(claimData()).rejects.toThrow(/sealed with another master key/)
    expect(readFileSync(folder.fingerprint, "utf8")).toBe(kept)
  })

  it("is rejected if it is truncated, and never replaced", async () => {
    const { release } = await claimData()
    release()
    writeFileSync(folder.masterKey, readFileSync(folder.masterKey, "utf8").slice(0, 20))
    await expect(claimData()).rejects.toThrow(/does not contain a 32-byte key in base64/)
    expect(readFileSync(folder.masterKey, "utf8")).toHaveLength(20)
  })

  it("can come from the environment or another file; then none is created", async () => {
    const key = Buffer.alloc(32, 5)
    const first = await claimData({ LATCHKEY_MASTER_KEY: key.toString("base64") })
    first.release()
    expect(Buffer.from(first.master)).toEqual(key)
    expect(existsSync(folder.masterKey)).toBe(false)
    const file = join(folder.path, "..", "key")
    writeFileSync(file, key.toString("base64url"))
    const second = await claimData({ LATCHKEY_MASTER_KEY_FILE: file })
    second.release()
    expect(second.master).toEqual(first.master)
    await expect(claimData()).rejects.toMatchObject({ id: "start.master_key_missing" })
    await expect(claimData({ LATCHKEY_MASTER_KEY_FILE: `${file}x` })).rejects.toThrow(
      /no master key found at/,
    )
  })
})
