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
import { formatBackupResult } from "../../../src/boot/backup/backup.ts"
import { readBackupManifest } from "../../../src/boot/backup/restore.ts"
import { backupName, getLabel } from "../../../src/boot/backup/rotation.ts"
import { claimFolder } from "../../../src/boot/folder/claim.ts"
import { folderAt } from "../../../src/boot/folder/folder.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { systemClock } from "../../../src/kernel/clock.ts"
import { systemRandom } from "../../../src/kernel/crypto/random.ts"
import { drill } from "../../../src/server/operator/drill.ts"
import {
  configFor,
  createBackup,
  createBackupFixture,
  type OpenData,
  openData,
  restoreBackup,
  setUpData,
} from "./house.ts"

const backupFixture = createBackupFixture("backup")
let data: string
let running: OpenData
/** Created while the server was running, with the master key. */
let archive: string

beforeAll(async () => {
  data = backupFixture.fresh()
  running = await setUpData(data)
  writeFileSync(join(data, "latchkey.toml"), 'log_level = "fatal"\n')
  writeFileSync(join(data, "certificates.json"), "{}")
  archive = backupFixture.fresh("backup")
  await createBackup(data, archive)
})
afterAll(async () => {
  await running.close()
  backupFixture.remove()
})

/** The entries of an archive by name, as listed by tar. */
function listArchive(file: string): readonly string[] {
  const plain = `${file}.tar`
  writeFileSync(plain, zstdDecompressSync(readFileSync(file)))
  return spawnSync("tar", ["-tf", plain]).stdout.toString().trim().split("\n")
}

describe("a backup", () => {
  test("that is automatic and was killed is cleaned up by the next one", async () => {
    const place = backupFixture.fresh("backups")
    mkdirSync(place)
    const labels = [getLabel(folderAt(data), systemRandom), "00000000"]
    const left = labels.map((label) => join(place, `${backupName(label, 0)}.part`))
    for (const file of left) writeFileSync(file, "half")
    const whole = join(place, "mine.backup")
    await createBackup(data, whole)
    expect(left.map((file) => existsSync(file))).toEqual([false, true])
    expect(existsSync(whole)).toBe(true)
  })

  test("is created even if the remains of a killed one can't be removed, which it reports", async () => {
    const place = backupFixture.fresh("backups")
    const left = join(place, `${backupName(getLabel(folderAt(data), systemRandom), 0)}.part`)
    // A directory, so that it can't be deleted as a file.
    mkdirSync(left, { recursive: true })
    const whole = join(place, "mine.backup")
    const said: string[] = []
    await createBackup(data, whole, { warn: (text) => said.push(text) })
    expect(existsSync(whole)).toBe(true)
    expect(said).toEqual([expect.stringContaining(`${left} can't be read or deleted (EISDIR)`)])
  })

  test("is restored into an empty directory, complete", async () => {
    const there = backupFixture.fresh()
    const restored = await restoreBackup(archive, there)
    expect(restored).toMatchObject({ position: running.head(), hasMasterKey: true })
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

  test("of a version without checksums is restored", async () => {
    const tar = zstdDecompressSync(readFileSync(archive))
    const file = backupFixture.fresh("earlier")
    const text = tar.toString("latin1").replace('"sealed": true', '"absent": true')
    writeFileSync(file, Bun.zstdCompressSync(Buffer.from(text, "latin1")))
    const config = configFor(backupFixture.folder)
    const found = await readBackupManifest({ config, from: file, opening: {} })
    expect(found).toMatchObject({ position: running.head() })
    expect(found).not.toHaveProperty("sealed")
  })

  test("of this directory that was killed is removed, and others stay", async () => {
    const place = backupFixture.fresh("backups")
    mkdirSync(place)
    const [part, copy, other] = ["own.1a2b3c4d.part", "latchkey-backup.1a2b3c4d.part", "own.part"]
      .map((name) => join(place, name))
      .map((file) => {
        writeFileSync(file, "half")
        return file
      })
    writeFileSync(join(data, "backup.made"), JSON.stringify([part, copy, archive]))
    await createBackup(data, join(place, "own"))
    expect(readdirSync(place).sort()).toEqual(["own", basename(other ?? "")])
    expect(existsSync(archive)).toBe(true)
    expect(existsSync(join(data, "backup.made"))).toBe(false)
  })

  test("has a temporary name until it is complete", async () => {
    const place = backupFixture.fresh("backups")
    mkdirSync(place)
    let named: unknown
    // The time is requested after everything except the table of contents is written.
    const now = () => {
      named = JSON.parse(readFileSync(join(data, "backup.made"), "utf8"))
      return 0
    }
    await createBackup(data, join(place, "mine"), { clock: { ...systemClock, now } })
    expect(named).toEqual([
      join(data, "backup.part"),
      expect.stringMatching(/\/mine\.[\w-]+\.part$/),
    ])
  })

  test("is a standard tar file that only its owner can read", async () => {
    expect(listArchive(archive)).toEqual([
      "latchkey-backup.txt",
      "master.key.fingerprint",
      "master.key",
      "latchkey.toml",
      "certificates.json",
      "latchkey.db",
      "latchkey-backup.json",
    ])
    expect(statSync(archive).mode & 0o777).toBe(0o600)
    expect(readdirSync(data).filter((name) => name.endsWith(".part"))).toEqual([])
    expect(readdirSync(dirname(archive)).filter((name) => name.endsWith(".part"))).toEqual([])
  })

  test("contains the master key only on request, and never in the settings", async () => {
    const without = backupFixture.fresh("backup")
    writeFileSync(join(data, "latchkey.toml"), `master_key = "x"\n`)
    await createBackup(data, without, { withMasterKey: false })
    expect(listArchive(without)).not.toContain("master.key")
    expect(listArchive(without)).not.toContain("latchkey.toml")
    writeFileSync(join(data, "latchkey.toml"), 'log_level = "fatal"\n')
    const there = backupFixture.fresh()
    expect(await restoreBackup(without, there)).toMatchObject({ hasMasterKey: false })
    await expect(openData(there)).rejects.toThrow(/master key is missing/)
  })

  test.each([
    ["a key in single quotes", "master_key = 'x'\n"],
    ["the secret of a bucket", 's3_key_id = "ID"\ns3_secret = "hush"\n'],
    ["what a collector wants", 'audit_collector_authorization = "Bearer hush"\n'],
    ["a password", 'database = "postgres://me:hush@db/log"\n'],
    ["token request", 'traces = "https://traces.example.com/v1/traces?token=hush"\n'],
    ["a name that is escaped", '"s3\\u005fsecret" = "hush"\n'],
    ["a name that is not known", 's3_secrt = "hush"\n'],
    ["what is no TOML", 's3_secret = "hush\n'],
    ["a line that counts no more", '# s3_secret = "hush"\nlog_level = "fatal"\n'],
  ])("contains no settings with %s unless it contains the master key", async (_, text) => {
    const [without, whole] = [backupFixture.fresh("backup"), backupFixture.fresh("backup")]
    writeFileSync(join(data, "latchkey.toml"), text)
    const told = await createBackup(data, without, { withMasterKey: false })
    await createBackup(data, whole)
    writeFileSync(join(data, "latchkey.toml"), 'log_level = "fatal"\n')
    expect(listArchive(without)).not.toContain("latchkey.toml")
    expect(formatBackupResult(told, { to: "", encryption: undefined })).toContain(
      "latchkey.toml is not in",
    )
    const small = formatBackupResult(
      { ...told, bytes: 40_960 },
      { to: "b.tar", encryption: undefined },
    )
    expect(small).toContain("Saved b.tar: 41 kB")
    expect(listArchive(whole)).toContain("latchkey.toml")
  })

  test("contains settings without secrets, and does not mention them", async () => {
    const file = backupFixture.fresh("backup")
    const text = 'traces = "https://traces.example.com/v1/traces"\ns3_secret_file = "/run/s3"\n'
    writeFileSync(join(data, "latchkey.toml"), text)
    const told = await createBackup(data, file, { withMasterKey: false })
    writeFileSync(join(data, "latchkey.toml"), 'log_level = "fatal"\n')
    expect(listArchive(file)).toContain("latchkey.toml")
    expect(formatBackupResult(told, { to: "", encryption: undefined })).not.toContain(
      "latchkey.toml",
    )
  })

  test("never overwrites another file", async () => {
    const before = readFileSync(archive)
    await expect(createBackup(data, archive)).rejects.toThrow(/already exists; choose/)
    expect(readFileSync(archive).equals(before)).toBe(true)
  })

  test("fails without data, space, or permission, and leaves no files", async () => {
    await expect(
      createBackup(backupFixture.fresh(), backupFixture.fresh("backup")),
    ).rejects.toThrow(/no database found in/)
    const nowhere = join(backupFixture.fresh(), "file")
    await expect(createBackup(data, nowhere)).rejects.toThrow(/a part of the path does not exist/)
    await expect(createBackup(data, "/proc/latchkey")).rejects.toThrow(
      /can't be written|does not exist/,
    )
    expect(readdirSync(data).filter((name) => name.endsWith(".part"))).toEqual([])
  })
})

describe("an encrypted backup", () => {
  test("is decrypted with its passphrase only", async () => {
    const file = backupFixture.fresh("backup")
    await createBackup(data, file, {
      encryption: { passphrase: "four words of mine", workFactor: 8 },
    })
    expect(readFileSync(file).toString("latin1")).toMatch(/^age-encryption\.org\/v1\n-> scrypt/)
    await expect(
      readBackupManifest({ config: configFor(backupFixture.folder), from: file, opening: {} }),
    ).rejects.toThrow(/is encrypted; name the key/)
    const wrong = { passphrase: "four words of yours" }
    await expect(
      readBackupManifest({ config: configFor(backupFixture.folder), from: file, opening: wrong }),
    ).rejects.toThrow(/does not decrypt this backup/)
    const right = { passphrase: "four words of mine" }
    expect(await restoreBackup(file, backupFixture.fresh(), right)).toMatchObject({
      position: running.head(),
    })
  })

  test("is decrypted with the key of a recipient only", async () => {
    const [identity, other] = [await generateX25519Identity(), await generateX25519Identity()]
    const recipients = [await identityToRecipient(identity)]
    const file = backupFixture.fresh("backup")
    await createBackup(data, file, { encryption: { recipients } })
    const opening = { identities: [other] }
    await expect(
      readBackupManifest({ config: configFor(backupFixture.folder), from: file, opening }),
    ).rejects.toThrow(/the key does not decrypt this backup/)
    expect(
      await readBackupManifest({
        config: configFor(backupFixture.folder),
        from: file,
        opening: { identities: [identity] },
      }),
    ).toMatchObject({
      position: running.head(),
    })
  })

  test("rejects an invalid recipient", async () => {
    const encryption = { recipients: ["age1hello"] }
    await expect(createBackup(data, backupFixture.fresh("backup"), { encryption })).rejects.toThrow(
      /starts with age1/,
    )
  })
})

/** A corrupted copy of the backup. */
function corruptCopy(spoil: (bytes: Buffer) => Uint8Array): string {
  const file = backupFixture.fresh("spoilt")
  writeFileSync(file, spoil(readFileSync(archive)))
  return file
}

async function expectRejected(file: string, says: RegExp) {
  const there = backupFixture.fresh()
  await expect(restoreBackup(file, there)).rejects.toThrow(says)
  expect(existsSync(there)).toBe(false)
}

describe("restore rejects, without restoring anything,", () => {
  test("a backup with a flipped bit, unless the content is unaffected", async () => {
    const size = statSync(archive).size
    const whole = await readBackupManifest({
      config: configFor(backupFixture.folder),
      from: archive,
      opening: {},
    })
    for (let part = 0; part < 24; part++) {
      const at = Math.floor(((part + 0.5) / 24) * size)
      const file = corruptCopy((bytes) => {
        bytes[at] = (bytes[at] ?? 0) ^ 0x10
        return bytes
      })
      const read = await readBackupManifest({
        config: configFor(backupFixture.folder),
        from: file,
        opening: {},
      }).catch((refusal) => refusal.message)
      if (typeof read === "string")
        await expectRejected(file, /damaged or truncated|not a Latchkey backup/)
      else expect(read).toEqual(whole)
    }
  })

  test("a backup that is truncated anywhere", async () => {
    const size = statSync(archive).size
    for (let part = 1; part < 12; part++) {
      const file = corruptCopy((bytes) => bytes)
      truncateSync(file, Math.floor((part / 12) * size))
      await expectRejected(file, /damaged or truncated/)
    }
  })

  test("a backup with a flipped bit in its header, a truncated end, or trailing data", async () => {
    const opening = {}
    const examined = (change: (bytes: Buffer) => Buffer) =>
      readBackupManifest({
        config: configFor(backupFixture.folder),
        from: corruptCopy(change),
        opening,
      })
    for (let bit = 0; bit < 12 * 8; bit++) {
      const turned = examined((bytes) => {
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        return bytes
      })
      await expect(turned, `bit ${bit}`).rejects.toThrow(
        /damaged or truncated|not a Latchkey backup/,
      )
    }
    for (const cut of [1, 2, 3, 4, 8, 12, 16, 39, 40, 41, 44, 56]) {
      const short = examined((bytes) => bytes.subarray(0, -cut))
      await expect(short, `cut by ${cut}`).rejects.toThrow(/damaged or truncated/)
    }
    for (const more of ["x", "\0".repeat(512), "x".repeat(100_000)]) {
      const longer = examined((bytes) => Buffer.concat([bytes, Buffer.from(more)]))
      await expect(longer, `${more.length} more`).rejects.toThrow(/damaged or truncated/)
    }
  })

  test("an encrypted backup with a truncated end or trailing data", async () => {
    const encryption = { passphrase: "a long one", workFactor: 4 }
    const file = backupFixture.fresh("sealed")
    await createBackup(data, file, { encryption })
    const bytes = readFileSync(file)
    const examined = (some: Buffer) => {
      const from = backupFixture.fresh("spoilt")
      writeFileSync(from, some)
      return readBackupManifest({
        config: configFor(backupFixture.folder),
        from,
        opening: encryption,
      })
    }
    await examined(bytes)
    for (const cut of [1, 8, 16, 17, 40, 60]) {
      await expect(examined(bytes.subarray(0, -cut)), `${cut}`).rejects.toThrow(
        /damaged or truncated/,
      )
    }
    const longer = Buffer.concat([bytes, Buffer.from("x")])
    await expect(examined(longer)).rejects.toThrow(/damaged or truncated/)
  })

  test("a file that is not a backup", async () => {
    await expectRejected(
      corruptCopy(() => Buffer.alloc(0)),
      /not a Latchkey backup/,
    )
    await expectRejected(
      corruptCopy(() => Buffer.from("hello, this is a letter")),
      /not a Latchkey backup/,
    )
    const other = backupFixture.fresh("other")
    writeFileSync(join(backupFixture.folder, "a-file"), "hello")
    spawnSync("tar", ["-cf", `${other}.tar`, "-C", backupFixture.folder, "a-file"])
    writeFileSync(other, Bun.zstdCompressSync(readFileSync(`${other}.tar`)))
    await expectRejected(other, /not a Latchkey backup/)
    await expectRejected(backupFixture.fresh("nothing"), /file .* not found/)
  })

  test("a backup with an unexpected file", async () => {
    const tar = `${backupFixture.fresh("more")}.tar`
    writeFileSync(tar, zstdDecompressSync(readFileSync(archive)))
    writeFileSync(join(backupFixture.folder, "authorized_keys"), "hello")
    spawnSync("tar", [
      "-rPf",
      tar,
      "-C",
      backupFixture.folder,
      "--transform",
      "s,^,../,",
      "authorized_keys",
    ])
    const file = corruptCopy(() => Bun.zstdCompressSync(readFileSync(tar)))
    await expectRejected(file, /it contains \.\.\/authorized_keys/)
  })

  test("a directory that is not empty", async () => {
    const there = backupFixture.fresh()
    mkdirSync(there)
    writeFileSync(join(there, "letter"), "mine")
    await expect(restoreBackup(archive, there)).rejects.toThrow(/is not empty: it contains letter;/)
    expect(readdirSync(there)).toEqual(["letter"])
    await expect(restoreBackup(archive, data)).rejects.toThrow(/is not empty/)
  })

  test("a directory with another master key", async () => {
    const there = backupFixture.fresh()
    mkdirSync(there)
    writeFileSync(join(there, "master.key"), `${Buffer.alloc(32, 1).toString("base64")}\n`)
    await expect(restoreBackup(archive, there)).rejects.toThrow(/another master key/)
    expect(readdirSync(there).sort()).toEqual(["lock", "master.key"])
  })
})

test("an interrupted restore does not start a server, and can be repeated", async () => {
  const there = backupFixture.fresh()
  mkdirSync(join(there, "restore.part"), { recursive: true })
  appendFileSync(join(there, "restore.part", "latchkey.db"), "half")
  writeFileSync(join(there, "latchkey.db"), "other half")
  await expect(openData(there)).rejects.toThrow(/run latchkey restore again/)
  expect(await restoreBackup(archive, there)).toMatchObject({ hasMasterKey: true })
  const again = await openData(there)
  expect(again.head()).toBe(running.head())
  await again.close()
})
