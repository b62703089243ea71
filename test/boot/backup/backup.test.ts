import { spawnSync } from "node:child_process"
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { basename, dirname, join } from "node:path"
import { zstdDecompressSync } from "node:zlib"
import { generateX25519Identity, identityToRecipient } from "age-encryption"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { savedText } from "../../../src/boot/backup/backup.ts"
import { examine } from "../../../src/boot/backup/restore.ts"
import { backupName, labelOf } from "../../../src/boot/backup/rotation.ts"
import { claimFolder } from "../../../src/boot/folder/claim.ts"
import { folderAt } from "../../../src/boot/folder/folder.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { systemClock } from "../../../src/kernel/clock.ts"
import { systemRandom } from "../../../src/kernel/crypto/random.ts"
import { drill } from "../../../src/server/operator/drill.ts"
import { bringBack, configFor, houseOf, type Open, openData, save, setUpData } from "./house.ts"

const house = houseOf("backup")
let data: string
let running: Open
/** Made while the server ran, with the master key. */
let saved: string

beforeAll(async () => {
  data = house.fresh()
  running = await setUpData(data)
  writeFileSync(join(data, "latchkey.toml"), 'log_level = "fatal"\n')
  writeFileSync(join(data, "certificates.json"), "{}")
  saved = house.fresh("backup")
  await save(data, saved)
})
afterAll(async () => {
  await running.close()
  house.remove()
})

/** What lies in an archive, by name, read by tar itself. */
function listed(file: string): readonly string[] {
  const plain = `${file}.tar`
  writeFileSync(plain, zstdDecompressSync(readFileSync(file)))
  return spawnSync("tar", ["-tf", plain]).stdout.toString().trim().split("\n")
}

describe("a backup", () => {
  test("by itself that was killed leaves nothing once another one is made", async () => {
    const place = house.fresh("backups")
    mkdirSync(place)
    const labels = [labelOf(folderAt(data), systemRandom), "00000000"]
    const left = labels.map((label) => join(place, `${backupName(label, 0)}.part`))
    for (const file of left) writeFileSync(file, "half")
    const whole = join(place, "mine.backup")
    await save(data, whole)
    expect(left.map((file) => existsSync(file))).toEqual([false, true])
    expect(existsSync(whole)).toBe(true)
  })

  test("is made, too, where what a killed one has left can't be removed, and says so", async () => {
    const place = house.fresh("backups")
    const left = join(place, `${backupName(labelOf(folderAt(data), systemRandom), 0)}.part`)
    // No file, as it seems to be.
    mkdirSync(left, { recursive: true })
    const whole = join(place, "mine.backup")
    const said: string[] = []
    await save(data, whole, { warn: (text) => said.push(text) })
    expect(existsSync(whole)).toBe(true)
    expect(said).toEqual([expect.stringContaining(`${left} can't be removed`)])
  })

  test("is brought back into an empty folder, with all that had been written", async () => {
    const there = house.fresh()
    const restored = await bringBack(saved, there)
    expect(restored).toMatchObject({ position: running.head(), isOpen: true })
    expect(readdirSync(there).sort()).toEqual(
      [
        "certificates.json",
        "latchkey.db",
        "latchkey.toml",
        "lock",
        "master.key",
        "master.key.fingerprint",
      ].sort(),
    )
    const again = await openData(there)
    expect(again.head()).toBe(running.head())
    expect(findByLoginName(again.cx(), "ada")).toMatch(/^\d+$/)
    await again.close()
    const config = configFor(there)
    const claim = await claimFolder(config, systemRandom)
    expect(await drill({ ...claim, config, started: 0 })).toEqual({ instances: 1, signatures: 2 })
    claim.release()
  })

  test("of a version that added no sum to the file is brought back", async () => {
    const tar = zstdDecompressSync(readFileSync(saved))
    const file = house.fresh("earlier")
    const text = tar.toString("latin1").replace('"sealed": true', '"absent": true')
    writeFileSync(file, Bun.zstdCompressSync(Buffer.from(text, "latin1")))
    const config = configFor(house.folder)
    const found = await examine({ config, from: file, opening: {} })
    expect(found).toMatchObject({ position: running.head() })
    expect(found).not.toHaveProperty("sealed")
  })

  test("of this folder that was killed leaves nothing, and others stay", async () => {
    const place = house.fresh("backups")
    mkdirSync(place)
    const [part, copy, other] = ["own.1a2b3c4d.part", "latchkey-backup.1a2b3c4d.part", "own.part"]
      .map((name) => join(place, name))
      .map((file) => {
        writeFileSync(file, "half")
        return file
      })
    writeFileSync(join(data, "backup.made"), JSON.stringify([part, copy, saved]))
    await save(data, join(place, "own"))
    expect(readdirSync(place).sort()).toEqual(["own", basename(other ?? "")])
    expect(existsSync(saved)).toBe(true)
    expect(existsSync(join(data, "backup.made"))).toBe(false)
  })

  test("names what it makes as long as it is not all there", async () => {
    const place = house.fresh("backups")
    mkdirSync(place)
    let named: unknown
    // The time is asked for when all but the list of contents is written.
    const now = () => {
      named = JSON.parse(readFileSync(join(data, "backup.made"), "utf8"))
      return 0
    }
    await save(data, join(place, "mine"), { clock: { ...systemClock, now } })
    expect(named).toEqual([
      join(data, "backup.part"),
      expect.stringMatching(/\/mine\.[\w-]+\.part$/),
    ])
  })

  test("is a tar that others open, and for its owner only", async () => {
    expect(listed(saved)).toEqual([
      "latchkey-backup.txt",
      "master.key.fingerprint",
      "master.key",
      "latchkey.toml",
      "certificates.json",
      "latchkey.db",
      "latchkey-backup.json",
    ])
    expect(statSync(saved).mode & 0o777).toBe(0o600)
    expect(readdirSync(data).filter((name) => name.endsWith(".part"))).toEqual([])
    expect(readdirSync(dirname(saved)).filter((name) => name.endsWith(".part"))).toEqual([])
  })

  test("has the master key only where that is asked for, in the settings neither", async () => {
    const without = house.fresh("backup")
    writeFileSync(join(data, "latchkey.toml"), `master_key = "x"\n`)
    await save(data, without, { withMasterKey: false })
    expect(listed(without)).not.toContain("master.key")
    expect(listed(without)).not.toContain("latchkey.toml")
    writeFileSync(join(data, "latchkey.toml"), 'log_level = "fatal"\n')
    const there = house.fresh()
    expect(await bringBack(without, there)).toMatchObject({ isOpen: false })
    await expect(openData(there)).rejects.toThrow(/master key is not there/)
  })

  test.each([
    ["a key in single quotes", "master_key = 'x'\n"],
    ["the secret of a bucket", 's3_key_id = "ID"\ns3_secret = "hush"\n'],
    ["what a collector wants", 'audit_collector_authorization = "Bearer hush"\n'],
    ["a password", 'database = "postgres://me:hush@db/log"\n'],
    ["a token", 'traces = "https://traces.example.com/v1/traces?token=hush"\n'],
    ["a name that is escaped", '"s3\\u005fsecret" = "hush"\n'],
    ["a name that is not known", 's3_secrt = "hush"\n'],
    ["what is no TOML", 's3_secret = "hush\n'],
    ["a line that counts no more", '# s3_secret = "hush"\nlog_level = "fatal"\n'],
  ])("has no settings with %s, unless it has the master key", async (_, text) => {
    const [without, whole] = [house.fresh("backup"), house.fresh("backup")]
    writeFileSync(join(data, "latchkey.toml"), text)
    const told = await save(data, without, { withMasterKey: false })
    await save(data, whole)
    writeFileSync(join(data, "latchkey.toml"), 'log_level = "fatal"\n')
    expect(listed(without)).not.toContain("latchkey.toml")
    expect(savedText(told, { to: "", encryption: undefined })).toContain("latchkey.toml is not in")
    const small = savedText({ ...told, bytes: 40_960 }, { to: "b.tar", encryption: undefined })
    expect(small).toContain("Saved b.tar: 41 kB")
    expect(listed(whole)).toContain("latchkey.toml")
  })

  test("has settings without secrets, and says nothing of them", async () => {
    const file = house.fresh("backup")
    const text = 'traces = "https://traces.example.com/v1/traces"\ns3_secret_file = "/run/s3"\n'
    writeFileSync(join(data, "latchkey.toml"), text)
    const told = await save(data, file, { withMasterKey: false })
    writeFileSync(join(data, "latchkey.toml"), 'log_level = "fatal"\n')
    expect(listed(file)).toContain("latchkey.toml")
    expect(savedText(told, { to: "", encryption: undefined })).not.toContain("latchkey.toml")
  })

  test("never takes the place of another file", async () => {
    const before = readFileSync(saved)
    await expect(save(data, saved)).rejects.toThrow(/exists already/)
    expect(readFileSync(saved).equals(before)).toBe(true)
  })

  test("is refused where there is nothing, no room or no right, and leaves nothing", async () => {
    await expect(save(house.fresh(), house.fresh("backup"))).rejects.toThrow(/no database in/)
    const nowhere = join(house.fresh(), "file")
    await expect(save(data, nowhere)).rejects.toThrow(/a part of the path does not exist/)
    await expect(save(data, "/proc/latchkey")).rejects.toThrow(/can't be written|does not exist/)
    expect(readdirSync(data).filter((name) => name.endsWith(".part"))).toEqual([])
  })
})

describe("an encrypted backup", () => {
  test("opens with its passphrase alone", async () => {
    const file = house.fresh("backup")
    await save(data, file, { encryption: { passphrase: "four words of mine", workFactor: 8 } })
    expect(readFileSync(file).toString("latin1")).toMatch(/^age-encryption\.org\/v1\n-> scrypt/)
    await expect(
      examine({ config: configFor(house.folder), from: file, opening: {} }),
    ).rejects.toThrow(/is encrypted; give/)
    const wrong = { passphrase: "four words of yours" }
    await expect(
      examine({ config: configFor(house.folder), from: file, opening: wrong }),
    ).rejects.toThrow(/does not open this/)
    const right = { passphrase: "four words of mine" }
    expect(await bringBack(file, house.fresh(), right)).toMatchObject({ position: running.head() })
  })

  test("opens with the key of a recipient alone", async () => {
    const [identity, other] = [await generateX25519Identity(), await generateX25519Identity()]
    const recipients = [await identityToRecipient(identity)]
    const file = house.fresh("backup")
    await save(data, file, { encryption: { recipients } })
    const opening = { identities: [other] }
    await expect(examine({ config: configFor(house.folder), from: file, opening })).rejects.toThrow(
      /the key does not open this/,
    )
    expect(
      await examine({
        config: configFor(house.folder),
        from: file,
        opening: { identities: [identity] },
      }),
    ).toMatchObject({
      position: running.head(),
    })
  })

  test("refuses a recipient that is none", async () => {
    const encryption = { recipients: ["age1hello"] }
    await expect(save(data, house.fresh("backup"), { encryption })).rejects.toThrow(
      /begins with age1/,
    )
  })
})

/** A copy of the backup, spoilt. */
function spoilt(spoil: (bytes: Buffer) => Uint8Array): string {
  const file = house.fresh("spoilt")
  writeFileSync(file, spoil(readFileSync(saved)))
  return file
}

async function refused(file: string, says: RegExp) {
  const there = house.fresh()
  await expect(bringBack(file, there)).rejects.toThrow(says)
  expect(existsSync(there)).toBe(false)
}

describe("refused, with nothing brought back, is", () => {
  test("a backup with a single bit turned, unless that says the same", async () => {
    const size = statSync(saved).size
    const whole = await examine({ config: configFor(house.folder), from: saved, opening: {} })
    for (let part = 0; part < 24; part++) {
      const at = Math.floor(((part + 0.5) / 24) * size)
      const file = spoilt((bytes) => {
        bytes[at] = (bytes[at] ?? 0) ^ 0x10
        return bytes
      })
      const read = await examine({
        config: configFor(house.folder),
        from: file,
        opening: {},
      }).catch((refusal) => refusal.message)
      if (typeof read === "string") await refused(file, /damaged or cut|no backup of Latchkey/)
      else expect(read).toEqual(whole)
    }
  })

  test("a backup that was cut, wherever it is", async () => {
    const size = statSync(saved).size
    for (let part = 1; part < 12; part++) {
      const file = spoilt((bytes) => bytes)
      truncateSync(file, Math.floor((part / 12) * size))
      await refused(file, /damaged or cut/)
    }
  })

  test("a backup with any bit of its first bytes turned, a cut end or an addition", async () => {
    const opening = {}
    const examined = (change: (bytes: Buffer) => Buffer) =>
      examine({ config: configFor(house.folder), from: spoilt(change), opening })
    for (let bit = 0; bit < 12 * 8; bit++) {
      const turned = examined((bytes) => {
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        return bytes
      })
      await expect(turned, `bit ${bit}`).rejects.toThrow(/damaged or cut|no backup of Latchkey/)
    }
    for (const cut of [1, 2, 3, 4, 8, 12, 16, 39, 40, 41, 44, 56]) {
      const short = examined((bytes) => bytes.subarray(0, -cut))
      await expect(short, `cut by ${cut}`).rejects.toThrow(/damaged or cut/)
    }
    for (const more of ["x", "\0".repeat(512), "x".repeat(100_000)]) {
      const longer = examined((bytes) => Buffer.concat([bytes, Buffer.from(more)]))
      await expect(longer, `${more.length} more`).rejects.toThrow(/damaged or cut/)
    }
  })

  test("an encrypted backup with a cut end or an addition", async () => {
    const encryption = { passphrase: "a long one", workFactor: 4 }
    const file = house.fresh("sealed")
    await save(data, file, { encryption })
    const bytes = readFileSync(file)
    const examined = (some: Buffer) => {
      const from = house.fresh("spoilt")
      writeFileSync(from, some)
      return examine({ config: configFor(house.folder), from, opening: encryption })
    }
    await examined(bytes)
    for (const cut of [1, 8, 16, 17, 40, 60]) {
      await expect(examined(bytes.subarray(0, -cut)), `${cut}`).rejects.toThrow(/damaged or cut/)
    }
    const longer = Buffer.concat([bytes, Buffer.from("x")])
    await expect(examined(longer)).rejects.toThrow(/damaged or cut/)
  })

  test("what is none", async () => {
    await refused(
      spoilt(() => Buffer.alloc(0)),
      /no backup of Latchkey/,
    )
    await refused(
      spoilt(() => Buffer.from("hello, this is a letter")),
      /no backup of Latchkey/,
    )
    const other = house.fresh("other")
    writeFileSync(join(house.folder, "a-file"), "hello")
    spawnSync("tar", ["-cf", `${other}.tar`, "-C", house.folder, "a-file"])
    writeFileSync(other, Bun.zstdCompressSync(readFileSync(`${other}.tar`)))
    await refused(other, /no backup of Latchkey/)
    await refused(house.fresh("nothing"), /there is no file/)
  })

  test("what has a file beside those of a backup", async () => {
    const tar = `${house.fresh("more")}.tar`
    writeFileSync(tar, zstdDecompressSync(readFileSync(saved)))
    writeFileSync(join(house.folder, "authorized_keys"), "hello")
    spawnSync("tar", [
      "-rPf",
      tar,
      "-C",
      house.folder,
      "--transform",
      "s,^,../,",
      "authorized_keys",
    ])
    const file = spoilt(() => Bun.zstdCompressSync(readFileSync(tar)))
    await refused(file, /it holds \.\.\/authorized_keys/)
  })

  test("a folder that is not empty", async () => {
    const there = house.fresh()
    mkdirSync(there)
    writeFileSync(join(there, "letter"), "mine")
    await expect(bringBack(saved, there)).rejects.toThrow(/is not empty, letter is there/)
    expect(readdirSync(there)).toEqual(["letter"])
    await expect(bringBack(saved, data)).rejects.toThrow(/is not empty/)
  })

  test("a folder with another master key", async () => {
    const there = house.fresh()
    mkdirSync(there)
    writeFileSync(join(there, "master.key"), `${Buffer.alloc(32, 1).toString("base64")}\n`)
    await expect(bringBack(saved, there)).rejects.toThrow(/another master key/)
    expect(readdirSync(there).sort()).toEqual(["lock", "master.key"])
  })
})

test("what a restore left that was cut off starts no server, and is made anew", async () => {
  const there = house.fresh()
  mkdirSync(join(there, "restore.part"), { recursive: true })
  appendFileSync(join(there, "restore.part", "latchkey.db"), "half")
  writeFileSync(join(there, "latchkey.db"), "other half")
  await expect(openData(there)).rejects.toThrow(/run latchkey restore again/)
  expect(await bringBack(saved, there)).toMatchObject({ isOpen: true })
  const again = await openData(there)
  expect(again.head()).toBe(running.head())
  await again.close()
})
