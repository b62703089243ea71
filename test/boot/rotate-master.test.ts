// Another master key: wherever its coming breaks off, one key that lies there opens everything.
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
import { masterKeyBytes } from "../../src/kernel/config.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { prepareMaster, takeMaster } from "../../src/server/operator/master-key.ts"
import { openServices } from "../../src/server/services.ts"
import { takeSnapshot } from "../../src/store/index.ts"
import { configFor, houseOf, setUpData } from "./backup/house.ts"

const house = houseOf("rotate")
const model = house.fresh()
let sealed = ""
const server = { prepareMaster, takeMaster }
const lent = { env: {}, random: systemRandom, started: 0, server: async () => server }
const rotate = keyCommands(lent)["keys rotate-master"]
const unused = { server: () => Promise.reject(new Error("nobody asks for it")) }
const undo = upgradeCommands({ ...lent, ...unused, clock: systemClock })["upgrade undo"]
const databaseIn = (data: string) => join(data, "latchkey.db")
const beforeIn = (data: string) => `${databaseIn(data)}-before`

beforeAll(async () => {
  const open = await setUpData(model)
  sealed = open.services.secrets.seal("seal", "what was sealed", "a test")
  await open.close()
  // As an upgrade leaves it.
  takeSnapshot({ file: databaseIn(model), isInUse: false }, beforeIn(model))
})
afterAll(() => house.remove())

/** A folder of its own with what the model has. */
function copied(from = model): string {
  const data = house.fresh()
  cpSync(from, data, { recursive: true })
  return data
}

const keyIn = (file: string) => readFileSync(file, "utf8").trim()

/** What a start makes of it. */
async function opened(data: string): Promise<string | undefined> {
  const config = configFor(data)
  const claim = await claimFolder(config, systemRandom)
  const services = openServices({ ...claim, config, started: 0 })
  try {
    return services.secrets.open("seal", sealed, "a test")
  } finally {
    await services.store.close()
    claim.release()
  }
}

/** The same where somebody goes back first, in a folder like it. */
async function openedBefore(data: string): Promise<string | undefined> {
  const other = copied(data)
  await undo?.run({ "--data": other })
  expect(existsSync(beforeIn(other))).toBe(false)
  return opened(other)
}

/** How the keys lie in a database that nobody has open. */
function wrappedIn(file: string): readonly unknown[] {
  using database = new Database(file, { readonly: true })
  return database.query("SELECT id, purpose, wrapped FROM data_key ORDER BY id").all()
}

test("takes the old one's place, which opens nothing any more, and is kept if wanted", async () => {
  const data = copied()
  const old = join(house.folder, "old.key")
  const before = keyIn(join(data, "master.key"))
  await rotate?.run({ "--data": data, "--old-key-file": old })
  expect(keyIn(old)).toBe(before)
  expect(statSync(old).mode & 0o777).toBe(0o600)
  expect(keyIn(join(data, "master.key"))).not.toBe(before)
  expect(existsSync(join(data, "master.key.fingerprint.next"))).toBe(false)
  expect(await opened(data)).toBe("what was sealed")
  copyFileSync(old, join(data, "master.key"))
  await expect(opened(data)).rejects.toThrow("sealed with another master key")
})

describe("with what is kept from before an upgrade", () => {
  test("takes that along, which is kept no longer for it", async () => {
    const data = copied()
    const made = Date.now() / 1000 - 86_400
    utimesSync(beforeIn(data), made, made)
    const first = wrappedIn(beforeIn(data))
    for (const _ of [1, 2]) expect(await rotate?.run({ "--data": data })).toBeDefined()
    // Under the new key alone: the same texts as in the database.
    expect(wrappedIn(beforeIn(data))).toEqual(wrappedIn(databaseIn(data)))
    expect(wrappedIn(beforeIn(data))).not.toEqual(first)
    expect(statSync(beforeIn(data)).mtimeMs).toBeCloseTo(made * 1000, -1)
    expect(existsSync(`${beforeIn(data)}-journal`)).toBe(false)
    expect(await openedBefore(data)).toBe("what was sealed")
  })

  test("an older rotation that left it behind keeps nobody from going back", async () => {
    const data = copied()
    const kept = readFileSync(beforeIn(data))
    await rotate?.run({ "--data": data })
    writeFileSync(beforeIn(data), kept)
    expect(await openedBefore(data)).toBe("what was sealed")
  })

  /** What no key of this folder opens. */
  async function foreign(data: string): Promise<Buffer> {
    const other = house.fresh()
    await (await setUpData(other)).close()
    rmSync(beforeIn(data))
    takeSnapshot({ file: databaseIn(other), isInUse: false }, beforeIn(data))
    return readFileSync(beforeIn(data))
  }

  test("which it does not open, nobody goes back, and nothing is changed", async () => {
    const data = copied()
    const kept = await foreign(data)
    const database = readFileSync(databaseIn(data))
    await expect(undo?.run({ "--data": data })).rejects.toThrow("Restore a backup")
    expect(readFileSync(beforeIn(data)).equals(kept)).toBe(true)
    expect(readFileSync(databaseIn(data)).equals(database)).toBe(true)
    expect(await opened(data)).toBe("what was sealed")
  })

  test.each(["foreign", "damaged"])("that is %s, removes it and says so", async (how) => {
    const data = copied()
    if (how === "foreign") await foreign(data)
    else writeFileSync(beforeIn(data), "nothing that anybody reads".repeat(100))
    const said = await rotate?.run({ "--data": data })
    expect(said?.text).toContain(`${beforeIn(data)} could not be put under it and is removed`)
    expect(said?.data).toMatchObject({ removed: beforeIn(data) })
    expect(existsSync(beforeIn(data))).toBe(false)
    expect(await opened(data)).toBe("what was sealed")
  })
})

describe("that breaks off", () => {
  const broken = new Error("the power is gone")

  /** Steps until one that is never done, and whether the old key or the new one stays. */
  const ways: readonly (readonly [string, "old" | "new", Partial<MasterKeys>])[] = [
    ["before anything", "old", { prepareMaster: () => Promise.reject(broken) }],
    ["before the key is replaced", "old", {}],
    ["after the key is replaced", "new", { takeMaster: () => Promise.reject(broken) }],
  ]

  test.each(ways)("%s leaves the %s one, and everything opens", async (when, which, failing) => {
    const data = copied()
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
    expect(await openedBefore(data)).toBe("what was sealed")
    expect(await opened(data)).toBe("what was sealed")
    expect(await openedBefore(data)).toBe("what was sealed")
    expect(wrappedIn(beforeIn(data))).toEqual(wrappedIn(databaseIn(data)))
    expect(keyIn(join(data, "master.key")) === before ? "old" : "new").toBe(which)
    // And the next rotation is as good as any.
    await rotate?.run({ "--data": data })
    expect(await opened(data)).toBe("what was sealed")
    expect(await openedBefore(data)).toBe("what was sealed")
  })

  test("after what is kept from before an upgrade was taken along alone", async () => {
    const data = copied()
    const [config, claim] = [configFor(data), await claimFolder(configFor(data), systemRandom)]
    const next = new Uint8Array(systemRandom.bytes(32))
    await prepareMaster({ ...claim, config, started: 0 }, next)
    replaceMasterKey(claim.folder, config, next)
    claim.release()
    const further = copied(data)
    expect(await opened(further)).toBe("what was sealed")
    copyFileSync(beforeIn(further), beforeIn(data))
    expect(await openedBefore(data)).toBe("what was sealed")
    expect(await opened(data)).toBe("what was sealed")
    expect(wrappedIn(beforeIn(data))).toEqual(wrappedIn(databaseIn(data)))
  })

  test.each(["fingerprint", "key"])("between two files, after the %s", async (last) => {
    const data = copied()
    const config = configFor(data)
    const claim = await claimFolder(config, systemRandom)
    const { folder } = claim
    const next = new Uint8Array(systemRandom.bytes(32))
    await prepareMaster({ ...claim, config, started: 0 }, next)
    const [oldPrint, oldKey] = [readFileSync(folder.fingerprint), readFileSync(folder.masterKey)]
    replaceMasterKey(folder, config, next)
    // As it was before the last steps: the files in the order in which they are written.
    copyFileSync(folder.fingerprint, folder.nextFingerprint)
    await Bun.write(folder.fingerprint, oldPrint)
    if (last === "fingerprint") await Bun.write(folder.masterKey, oldKey)
    claim.release()
    expect(await openedBefore(data)).toBe("what was sealed")
    expect(await opened(data)).toBe("what was sealed")
    expect(existsSync(folder.nextFingerprint)).toBe(false)
    expect(await opened(data)).toBe("what was sealed")
  })
})

describe("is refused", () => {
  test("where a server runs", async () => {
    const data = house.fresh()
    const open = await setUpData(data)
    await expect(rotate?.run({ "--data": data })).rejects.toThrow("stop it, rotate")
    await open.close()
  })

  test("where no file has the key, and where there is nothing", async () => {
    const key = keyIn(join(model, "master.key"))
    expect(masterKeyBytes(key)).toBeDefined()
    const given = keyCommands({ ...lent, env: { LATCHKEY_MASTER_KEY: key } })["keys rotate-master"]
    await expect(given?.run({ "--data": model })).rejects.toThrow("put it into a file")
    await expect(rotate?.run({ "--data": house.fresh() })).rejects.toThrow("no database")
  })

  test("where the old key can't be kept, with nothing changed", async () => {
    const data = copied()
    const before = keyIn(join(data, "master.key"))
    const flags = { "--data": data, "--old-key-file": join(data, "master.key") }
    await expect(rotate?.run(flags)).rejects.toThrow("EEXIST")
    expect(keyIn(join(data, "master.key"))).toBe(before)
    expect(await opened(data)).toBe("what was sealed")
  })
})
