// Backups in an S3-compatible storage that verifies every signature.
import { randomBytes } from "node:crypto"
import { writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { type BackupRequest, backup } from "../../../src/boot/backup/backup.ts"
import { bucketAt, objectAt } from "../../../src/boot/backup/bucket.ts"
import { locationAt } from "../../../src/boot/backup/location.ts"
import { readBackupManifest, restore } from "../../../src/boot/backup/restore.ts"
import { backupName, listBackups } from "../../../src/boot/backup/rotation.ts"
import { checkBackups } from "../../../src/boot/doctor/backup.ts"
import { folderAt } from "../../../src/boot/folder/folder.ts"
import { manualClock, systemClock } from "../../../src/kernel/clock.ts"
import { startBackups } from "../../../src/server/background/backups.ts"
import { failure, startBucketStore } from "../../support/bucket-store.ts"
import { pause, until } from "../../support/wait.ts"
import { configFor, createBackupFixture, setUpData } from "./house.ts"

const backupFixture = createBackupFixture("bucket")
const data = backupFixture.fresh()
const storage = startBucketStore()
const secretFile = join(backupFixture.folder, "secret")
writeFileSync(secretFile, `${storage.key.secret}\n`)
const storageSettings = { ...storage.settings, "--s3-secret-file": secretFile }
const config = configFor(data, storageSettings)

beforeAll(async () => {
  const open = await setUpData(data)
  await open.close()
})
afterEach(() => {
  storage.state.trouble = undefined
  storage.objects.clear()
  storage.uploads.clear()
  storage.seen.length = 0
})
afterAll(() => {
  storage.close()
  backupFixture.remove()
})

const at = (name: string) => `s3://${storage.bucket}/${name}`
const backupTo = (to: string, more: Partial<BackupRequest> = {}) =>
  backup({
    config,
    clock: systemClock,
    to,
    withMasterKey: true,
    encryption: undefined,
    workFolder: undefined,
    warn: () => {},
    ...more,
  })

test("a backup is stored and restored", async () => {
  const saved = await backupTo(at("one/latchkey.backup"))
  expect(storage.objects.get("one/latchkey.backup")).toHaveLength(saved.bytes)
  expect(storage.seen.filter((each) => each.startsWith("GET /backups/one/"))).not.toEqual([])
  const there = configFor(backupFixture.fresh(), storageSettings)
  const request = { config: there, from: at("one/latchkey.backup"), opening: {} }
  expect(await readBackupManifest(request)).toMatchObject({ position: saved.position })
  expect(await restore(request)).toMatchObject({ position: saved.position, hasMasterKey: true })
})

test("an existing object is not overwritten", async () => {
  storage.objects.set("one", new Uint8Array(3))
  await expect(backupTo(at("one"))).rejects.toThrow("s3://backups/one already exists")
  expect(storage.objects.get("one")).toHaveLength(3)
})

test("a large backup is uploaded in parts, few of which are in memory", async () => {
  const count = 400
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dirname, "filler.ts"), at("large"), `${count}`].concat(
      JSON.stringify(storageSettings),
    ),
    { stdout: "pipe", stderr: "inherit" },
  )
  const { peak, read } = JSON.parse(await new Response(child.stdout).text())
  const whole = count * 1024 * 1024
  expect([read, storage.objects.get("large")?.length]).toEqual([whole, whole])
  expect(storage.state.largest).toBe(8 * 1024 * 1024)
  expect(peak).toBeLessThan(130e6)
})

test.each([
  ["another secret", { "--s3-secret-file": "wrong" }, "the storage rejected the key"],
  ["another key", { "--s3-key-id": "AKIDOTHER" }, "the storage rejected the key"],
  ["no server", { "--s3-endpoint": "http://127.0.0.1:9" }, "no response; check s3_endpoint"],
])("%s is reported in plain language", async (_, wrong, values) => {
  const file = join(backupFixture.folder, "wrong")
  writeFileSync(file, "not-the-secret")
  const flags = { ...storageSettings, ...wrong }
  const isFile = flags["--s3-secret-file"] === "wrong"
  const other = configFor(data, { ...flags, ...(isFile && { "--s3-secret-file": file }) })
  await expect(backupTo(at("one"), { config: other })).rejects.toThrow(values)
  const request = { config: other, from: at("one"), opening: {} }
  await expect(readBackupManifest(request)).rejects.toThrow(values)
})

/** Writes an object in a separate process with additional environment variables. */
async function fillInProcess(env: Record<string, string>, settings: Record<string, string>) {
  const filler = join(import.meta.dirname, "filler.ts")
  const child = Bun.spawn([process.execPath, filler, at("some"), "1", JSON.stringify(settings)], {
    env: { ...process.env, ...env },
    stdout: "ignore",
    stderr: "pipe",
  })
  const said = await new Response(child.stderr).text()
  return { code: await child.exited, said }
}

test.each(["AWS_SESSION_TOKEN", "S3_SESSION_TOKEN"])(
  "the token of %s is sent to no one else",
  async (name) => {
    expect(await fillInProcess({}, storageSettings)).toMatchObject({ code: 0 })
    storage.seen.length = 0
    const { code, said } = await fillInProcess({ [name]: "of-somebody" }, storageSettings)
    expect([code, storage.seen]).toEqual([1, []])
    expect(said).toContain(`start Latchkey without AWS_SESSION_TOKEN and S3_SESSION_TOKEN`)
    expect(said).not.toContain("of-somebody")
  },
)

test.each(["AWS_ENDPOINT", "S3_ENDPOINT"])(
  "without an endpoint it is Amazon's, whatever %s contains",
  async (name) => {
    const asked: string[] = []
    const proxy = createServer((socket) =>
      socket.once("data", (bytes) => {
        asked.push(bytes.toString().split("\r\n")[0] ?? "")
        socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
      }),
    )
    await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done))
    const address = proxy.address()
    const port = address && typeof address === "object" ? address.port : 0
    const { "--s3-endpoint": _, ...settings } = storageSettings
    const env = { [name]: storage.url, HTTPS_PROXY: `http://127.0.0.1:${port}` }
    const bare = { https_proxy: env.HTTPS_PROXY, NO_PROXY: "", no_proxy: "" }
    await fillInProcess({ ...env, ...bare }, settings)
    proxy.close()
    expect(storage.seen).toEqual([])
    expect(asked[0]).toBe("CONNECT s3.eu-central-2.amazonaws.com:443 HTTP/1.1")
  },
)

describe("an http:// endpoint on another machine", () => {
  // Nothing answers there, which shows that the request was sent; it is not a local address.
  const open = configFor(data, { ...storageSettings, "--s3-endpoint": "http://0.0.0.0:9" })
  const clear = "s3_endpoint starts with http://"
  const encryption = { passphrase: "four words of mine", workFactor: 8 }

  test("is rejected for unencrypted backups and restores", async () => {
    await expect(backupTo(at("one"), { config: open })).rejects.toThrow(clear)
    const request = { config: open, from: at("one"), opening: {} }
    await expect(readBackupManifest(request)).rejects.toThrow(clear)
    expect(() => locationAt(at("by"), open)).toThrow(clear)
    writeFileSync(folderAt(data).backupLabel, "0a1b2c3d\n")
    expect(await checkBackups({ ...open, backupFolder: at("by") }, 0)).toMatchObject([
      { state: "wrong", said: expect.stringContaining(clear) },
    ])
  })

  test("is used for encrypted ones", async () => {
    const asked = "no response; check s3_endpoint"
    await expect(backupTo(at("one"), { config: open, encryption })).rejects.toThrow(asked)
    const request = { config: open, from: at("one"), opening: { passphrase: "four words" } }
    await expect(readBackupManifest(request)).rejects.toThrow(asked)
    const place = locationAt(at("by"), { ...open, backupRecipient: "age1of-somebody" })
    await expect(place.names("latchkey-")).rejects.toThrow(asked)
  })

  test.each(["localhost", "[::1]", "127.0.0.2"])("is allowed if it is this machine: %s", (host) => {
    const near = configFor(data, { ...storageSettings, "--s3-endpoint": `http://${host}:9` })
    expect(locationAt(at("by"), near)).toBeDefined()
  })
})

test("a missing key, bucket, object, or name is reported", async () => {
  const bare = configFor(data, { "--s3-endpoint": storage.url })
  await expect(backupTo(at("one"), { config: bare })).rejects.toThrow(
    "requires a key: set s3_key_id",
  )
  await expect(backupTo("s3://elsewhere/one")).rejects.toThrow("the bucket does not exist")
  await expect(backupTo("s3://backups/folder/")).rejects.toThrow("has no object name")
  await expect(readBackupManifest({ config, from: at("none"), opening: {} })).rejects.toThrow(
    "object s3://backups/none not found",
  )
})

const randomSource = (sink: (bytes: Uint8Array) => Promise<void>) => async () => {
  for (let piece = 0; piece < 40; piece++) await sink(randomBytes(1024 * 1024))
}

test("an upload that fails halfway leaves no object that looks complete", async () => {
  storage.state.trouble = (request, url) =>
    request.method === "PUT" && url.searchParams.get("partNumber") === "2"
      ? failure(503, "SlowDown")
      : undefined
  const object = objectAt(at("half"), config, false)
  await expect(object.write((sink) => randomSource(sink)())).rejects.toThrow("SlowDown")
  await expect.poll(() => [...storage.uploads.keys()]).toEqual([])
  expect([...storage.objects.keys()]).toEqual([])
})

test("a source that fails halfway produces no object", async () => {
  const object = objectAt(at("half"), config, false)
  const broken = object.write(async (sink) => {
    await randomSource(sink)()
    throw new Error("the disk failed")
  })
  await expect(broken).rejects.toThrow("the disk failed")
  Bun.gc(true)
  await pause(200, "what is collected must complete nothing, and nothing signals that it did not")
  expect([...storage.objects.keys()]).toEqual([])
})

test("an object that does not match what was written is removed and reported", async () => {
  storage.state.trouble = (request) =>
    request.method === "GET" && request.headers.has("range")
      ? new Response(randomBytes(1000), { status: 206 })
      : undefined
  await expect(backupTo(at("bad"))).rejects.toThrow()
  expect([...storage.objects.keys()]).toEqual([])
})

test("a download that is interrupted repeatedly fails and restores nothing", async () => {
  await backupTo(at("one"))
  storage.state.trouble = (request) =>
    request.method === "GET" && request.headers.has("range") ? "cut" : undefined
  const there = configFor(backupFixture.fresh(), storageSettings)
  await expect(restore({ config: there, from: at("one"), opening: {} })).rejects.toThrow()
  storage.state.trouble = undefined
  expect(await restore({ config: there, from: at("one"), opening: {} })).toMatchObject({
    hasMasterKey: true,
  })
})

test("automatic backups are kept and deleted there, page after page", async () => {
  const label = "0a1b2c3d"
  const place = locationAt(at("by/themselves"), config)
  storage.objects.set("by/themselves/notes.txt", new Uint8Array(1))
  storage.objects.set(`other/${backupName(label, 0)}`, new Uint8Array(1))
  const clock = manualClock(Date.UTC(2026, 0, 1))
  const told: unknown[] = []
  const log = { error: (...values: unknown[]) => told.push(values) }
  const wanted = { place, label, backupEveryHours: 24, backupKeep: 5 }
  const keeping = startBackups({ clock, log }, wanted, async (file) => {
    const object = objectAt(file, config, false)
    await object.write((sink) => sink(new Uint8Array(10)))
  })
  for (let day = 0; day < 9; day++) {
    // A round has ended when the timer of the next round is set.
    await until(() => clock.pending() === 1)
    clock.advance(61_000)
    await until(() => clock.pending() === 1)
    clock.advance(24 * 3_600_000)
  }
  await keeping.stop()
  expect(told).toEqual([])
  const shelf = { place, label }
  const made = await listBackups(shelf)
  expect(made.length).toBeGreaterThanOrEqual(5)
  expect(made.length).toBeLessThanOrEqual(6)
  expect(await bucketAt(at("by/themselves"), config, false).names("n")).toEqual(["notes.txt"])
  expect(storage.objects.has(`other/${backupName(label, 0)}`)).toBe(true)
})

const partialUpload = (name: string) => ({ name, parts: new Map([[1, new Uint8Array(1)]]) })

describe("an upload of this data directory that was killed", () => {
  const label = "0a1b2c3d"
  const left = `by/it/${backupName(label, 1000)}`
  const others = [`by/it/${backupName("ffffffff", 1000)}`, `by/${backupName(label, 0)}`, "by/it/n"]

  test("is aborted by the next backup, and other uploads are not", async () => {
    writeFileSync(folderAt(data).backupLabel, `${label}\n`)
    for (const name of [left, ...others]) storage.uploads.set(`of ${name}`, partialUpload(name))
    await backupTo(at(`by/it/${backupName(label, 2000)}`))
    expect([...storage.uploads.keys()]).toEqual(others.map((name) => `of ${name}`))
  })

  test("stays if the key can't list uploads, which does not stop backups", async () => {
    writeFileSync(folderAt(data).backupLabel, `${label}\n`)
    storage.uploads.set("left", partialUpload(left))
    storage.state.trouble = ({ method }, url) =>
      method === "GET" && url.searchParams.has("uploads") ? failure(403, "AccessDenied") : undefined
    await backupTo(at("by/it/now"))
    expect([...storage.uploads.keys()]).toEqual(["left"])
  })
})

test("is found without listing the uploads of others", async () => {
  const label = "0a1b2c3d"
  const mine = backupName(label, 0)
  storage.objects.set(`by/${mine}`, new Uint8Array(1))
  for (let count = 0; count < 20; count++) {
    storage.objects.set(`by/${backupName(`0000000${count % 10}`, count * 1000)}`, new Uint8Array(1))
  }
  const listed = await listBackups({ place: locationAt(at("by"), config), label })
  expect(listed).toEqual([{ name: mine, made: 0 }])
  expect(storage.seen).toHaveLength(1)
})

test("the doctor reports the age of the newest backup, or why it is unknown", async () => {
  const label = "0a1b2c3d"
  const now = Date.UTC(2026, 0, 2)
  writeFileSync(folderAt(data).backupLabel, `${label}\n`)
  const wanted = configFor(data, { ...storageSettings, "--backup-folder": at("by") })
  expect(await checkBackups(wanted, now)).toMatchObject([{ state: "warning" }])
  storage.objects.set(`by/${backupName(label, now - 3_600_000)}`, new Uint8Array(1))
  expect(await checkBackups(wanted, now)).toMatchObject([{ state: "ok" }])
  storage.state.trouble = () => failure(403, "AccessDenied")
  expect(await checkBackups(wanted, now)).toMatchObject([
    { state: "wrong", said: expect.stringContaining("the key lacks permissions") },
  ])
})
