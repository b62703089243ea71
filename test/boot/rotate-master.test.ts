// Rotation of the master key: wherever it is interrupted, one existing key opens everything.
import { Database } from "bun:sqlite"
import {
  copyFileSync,
  cpSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { keyCommands, type MasterKeys, rotateMaster } from "../../src/boot/command/keys.ts"
import { upgradeCommands } from "../../src/boot/command/upgrade.ts"
import { claimFolder } from "../../src/boot/folder/claim.ts"
import { replaceMasterKey } from "../../src/boot/folder/master-key.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import { parseMasterKey } from "../../src/kernel/config.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { prepareMaster, takeMaster } from "../../src/server/operator/master-key.ts"
import { openServices } from "../../src/server/services.ts"
import { takeSnapshot } from "../../src/store/index.ts"
import { configFor, createBackupFixture, setUpData } from "./backup/house.ts"

const backupFixture = createBackupFixture("rotate")
const modelData = backupFixture.fresh()
let sealedText = ""
const server = { prepareMaster, takeMaster }
const commandInput = { env: {}, random: systemRandom, started: 0, server: async () => server }
const rotate = keyCommands(commandInput)["keys rotate-master"]
const noServer = { server: () => Promise.reject(new Error("unexpected request")) }
const undoCommand = upgradeCommands({ ...commandInput, ...noServer, clock: systemClock })[
  "upgrade undo"
]
const databaseIn = (data: string) => join(data, "latchkey.db")
const snapshotIn = (data: string) => `${databaseIn(data)}-before`

beforeAll(async () => {
  const open = await setUpData(modelData)
  sealedText = open.services.secrets.seal("seal", "what was sealed", "a test")
  await open.close()
  // As an upgrade leaves it.
  takeSnapshot({ file: databaseIn(modelData), isInUse: false }, snapshotIn(modelData))
})
afterAll(() => backupFixture.remove())

/** A separate copy of the model's directory. */
function copyOf(from = modelData): string {
  const data = backupFixture.fresh()
  cpSync(from, data, { recursive: true })
  return data
}

const keyIn = (file: string) => readFileSync(file, "utf8").trim()

/** The result of a start. */
async function startResult(data: string): Promise<string | undefined> {
  const config = configFor(data)
  const claim = await claimFolder(config, systemRandom)
  const services = openServices({ ...claim, config, started: 0 })
  try {
    return services.secrets.open("seal", sealedText, "a test")
  } finally {
    await services.store.close()
    claim.release()
  }
}

/** The result of a start after an undone upgrade, in a copy of the directory. */
async function startResultAfterUndo(data: string): Promise<string | undefined> {
  const other = copyOf(data)
  await undoCommand?.run({ "--data": other })
  expect(existsSync(snapshotIn(other))).toBe(false)
  return startResult(other)
}

/** The wrapped keys in a database that no process has open. */
function wrappedKeysIn(file: string): readonly unknown[] {
  using database = new Database(file, { readonly: true })
  return database.query("SELECT id, purpose, wrapped FROM data_key ORDER BY id").all()
}

test("replaces the old key, which no longer opens anything and is kept on request", async () => {
  const data = copyOf()
  const old = join(backupFixture.folder, "old.key")
  const before = keyIn(join(data, "master.key"))
  await rotate?.run({ "--data": data, "--old-key-file": old })
  expect(keyIn(old)).toBe(before)
  expect(statSync(old).mode & 0o777).toBe(0o600)
  expect(keyIn(join(data, "master.key"))).not.toBe(before)
  expect(existsSync(join(data, "master.key.fingerprint.next"))).toBe(false)
  expect(await startResult(data)).toBe("what was sealed")
  copyFileSync(old, join(data, "master.key"))
  await expect(startResult(data)).rejects.toThrow("sealed with another master key")
})

describe("with the snapshot from before an upgrade", () => {
  test("rewraps the snapshot, which is not kept any longer because of it", async () => {
    const data = copyOf()
    const made = Date.now() / 1000 - 86_400
    utimesSync(snapshotIn(data), made, made)
    const first = wrappedKeysIn(snapshotIn(data))
    for (const _ of [1, 2]) expect(await rotate?.run({ "--data": data })).toBeDefined()
    // Under the new key only: the same values as in the database.
    expect(wrappedKeysIn(snapshotIn(data))).toEqual(wrappedKeysIn(databaseIn(data)))
    expect(wrappedKeysIn(snapshotIn(data))).not.toEqual(first)
    expect(statSync(snapshotIn(data)).mtimeMs).toBeCloseTo(made * 1000, -1)
    expect(existsSync(`${snapshotIn(data)}-journal`)).toBe(false)
    expect(await startResultAfterUndo(data)).toBe("what was sealed")
  })

  test("an older rotation that skipped it does not prevent an undo of the upgrade", async () => {
    const data = copyOf()
    const kept = readFileSync(snapshotIn(data))
    await rotate?.run({ "--data": data })
    writeFileSync(snapshotIn(data), kept)
    expect(await startResultAfterUndo(data)).toBe("what was sealed")
  })

  /** Data that no key of this directory opens. */
  async function foreign(data: string): Promise<Buffer> {
    const other = backupFixture.fresh()
    await (await setUpData(other)).close()
    rmSync(snapshotIn(data))
    takeSnapshot({ file: databaseIn(other), isInUse: false }, snapshotIn(data))
    return readFileSync(snapshotIn(data))
  }

  test("does not undo the upgrade if the key does not open it, and changes nothing", async () => {
    const data = copyOf()
    const kept = await foreign(data)
    const database = readFileSync(databaseIn(data))
    await expect(undoCommand?.run({ "--data": data })).rejects.toThrow("Restore a backup")
    expect(readFileSync(snapshotIn(data)).equals(kept)).toBe(true)
    expect(readFileSync(databaseIn(data)).equals(database)).toBe(true)
    expect(await startResult(data)).toBe("what was sealed")
  })

  test.each(["foreign", "damaged"])("removes it and says so if it is %s", async (options) => {
    const data = copyOf()
    if (options === "foreign") await foreign(data)
    else writeFileSync(snapshotIn(data), "nothing that anybody reads".repeat(100))
    const said = await rotate?.run({ "--data": data })
    expect(said?.text).toContain(`${snapshotIn(data)} could not be re-encrypted and was deleted`)
    expect(said?.data).toMatchObject({ removed: snapshotIn(data) })
    expect(existsSync(snapshotIn(data))).toBe(false)
    expect(await startResult(data)).toBe("what was sealed")
  })
})

describe("an interrupted rotation", () => {
  const broken = new Error("the power failed")

  /** Steps up to one that never completes, and whether the old or the new key remains. */
  const ways: readonly (readonly [string, "old" | "new", Partial<MasterKeys>])[] = [
    ["before anything", "old", { prepareMaster: () => Promise.reject(broken) }],
    ["before the key is replaced", "old", {}],
    ["after the key is replaced", "new", { takeMaster: () => Promise.reject(broken) }],
  ]

  test.each(ways)(
    "leaves everything readable: %s leaves the %s key",
    async (when, which, failing) => {
      const data = copyOf()
      const config = configFor(data)
      const before = keyIn(join(data, "master.key"))
      const claim = await claimFolder(config, systemRandom)
      const start = { ...claim, config, started: 0 }
      const next = new Uint8Array(systemRandom.bytes(32))
      if (when === "before the key is replaced") await prepareMaster(start, next)
      else {
        const keys = { ...server, ...failing }
        const work = rotateMaster({ claim, config, random: systemRandom, started: 0 }, keys)
        await expect(work).rejects.toBe(broken)
      }
      claim.release()
      expect(await startResultAfterUndo(data)).toBe("what was sealed")
      expect(await startResult(data)).toBe("what was sealed")
      expect(await startResultAfterUndo(data)).toBe("what was sealed")
      expect(wrappedKeysIn(snapshotIn(data))).toEqual(wrappedKeysIn(databaseIn(data)))
      expect(keyIn(join(data, "master.key")) === before ? "old" : "new").toBe(which)
      // The next rotation works, too.
      await rotate?.run({ "--data": data })
      expect(await startResult(data)).toBe("what was sealed")
      expect(await startResultAfterUndo(data)).toBe("what was sealed")
    },
  )

  test("after only the snapshot from before an upgrade was rewrapped", async () => {
    const data = copyOf()
    const [config, claim] = [configFor(data), await claimFolder(configFor(data), systemRandom)]
    const next = new Uint8Array(systemRandom.bytes(32))
    await prepareMaster({ ...claim, config, started: 0 }, next)
    replaceMasterKey(claim.folder, config, next)
    claim.release()
    const further = copyOf(data)
    expect(await startResult(further)).toBe("what was sealed")
    copyFileSync(snapshotIn(further), snapshotIn(data))
    expect(await startResultAfterUndo(data)).toBe("what was sealed")
    expect(await startResult(data)).toBe("what was sealed")
    expect(wrappedKeysIn(snapshotIn(data))).toEqual(wrappedKeysIn(databaseIn(data)))
  })

  test.each(["fingerprint", "key"])("between two files, after the %s", async (last) => {
    const data = copyOf()
    const config = configFor(data)
    const claim = await claimFolder(config, systemRandom)
    const { folder } = claim
    const next = new Uint8Array(systemRandom.bytes(32))
    await prepareMaster({ ...claim, config, started: 0 }, next)
    const [oldPrint, oldKey] = [readFileSync(folder.fingerprint), readFileSync(folder.masterKey)]
    replaceMasterKey(folder, config, next)
    // The state before the last steps: the files in the order in which they are written.
    copyFileSync(folder.fingerprint, folder.nextFingerprint)
    await Bun.write(folder.fingerprint, oldPrint)
    if (last === "fingerprint") await Bun.write(folder.masterKey, oldKey)
    claim.release()
    expect(await startResultAfterUndo(data)).toBe("what was sealed")
    expect(await startResult(data)).toBe("what was sealed")
    expect(existsSync(folder.nextFingerprint)).toBe(false)
    expect(await startResult(data)).toBe("what was sealed")
  })
})

describe("is rejected", () => {
  test("while a server runs", async () => {
    const data = backupFixture.fresh()
    const open = await setUpData(data)
    await expect(rotate?.run({ "--data": data })).rejects.toThrow("stop it, rotate")
    await open.close()
  })

  test("if no file contains the key, and if nothing exists", async () => {
    const key = keyIn(join(modelData, "master.key"))
    expect(parseMasterKey(key)).toBeDefined()
    const given = keyCommands({ ...commandInput, env: { LATCHKEY_MASTER_KEY: key } })[
      "keys rotate-master"
    ]
    await expect(given?.run({ "--data": modelData })).rejects.toThrow("move the key to a file")
    await expect(rotate?.run({ "--data": backupFixture.fresh() })).rejects.toThrow("no database")
  })

  test("if the old key can't be kept, without changes", async () => {
    const data = copyOf()
    const before = keyIn(join(data, "master.key"))
    const flags = { "--data": data, "--old-key-file": join(data, "master.key") }
    await expect(rotate?.run(flags)).rejects.toThrow("EEXIST")
    expect(keyIn(join(data, "master.key"))).toBe(before)
    expect(await startResult(data)).toBe("what was sealed")
  })
})
