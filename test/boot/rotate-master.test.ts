// Another master key: wherever its coming breaks off, one key that lies there opens everything.
import { copyFileSync, cpSync, existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { keyCommands, type MasterKeys, rotateMaster } from "../../src/boot/command/keys.ts"
import { claimFolder } from "../../src/boot/folder/claim.ts"
import { replaceMasterKey } from "../../src/boot/folder/master-key.ts"
import { masterKeyBytes } from "../../src/kernel/config.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { prepareMaster, takeMaster } from "../../src/server/operator/master-key.ts"
import { openServices } from "../../src/server/services.ts"
import { configFor, houseOf, setUpData } from "./backup/house.ts"

const house = houseOf("rotate")
const model = house.fresh()
let sealed = ""
const server = { prepareMaster, takeMaster }
const lent = { env: {}, random: systemRandom, started: 0, server: async () => server }
const rotate = keyCommands(lent)["keys rotate-master"]

beforeAll(async () => {
  const open = await setUpData(model)
  sealed = open.services.secrets.seal("seal", "what was sealed", "a test")
  await open.close()
})
afterAll(() => house.remove())

/** A folder of its own with what the model has. */
function copied(): string {
  const data = house.fresh()
  cpSync(model, data, { recursive: true })
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
    expect(await opened(data)).toBe("what was sealed")
    expect(keyIn(join(data, "master.key")) === before ? "old" : "new").toBe(which)
    // And the next rotation is as good as any.
    await rotate?.run({ "--data": data })
    expect(await opened(data)).toBe("what was sealed")
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
