// Backups in a storage that speaks S3 and checks every signature.
import { randomBytes } from "node:crypto"
import { writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { type BackupRequest, backup } from "../../../src/boot/backup/backup.ts"
import { bucketAt, objectAt } from "../../../src/boot/backup/bucket.ts"
import { placeAt } from "../../../src/boot/backup/place.ts"
import { examine, restore } from "../../../src/boot/backup/restore.ts"
import { backupName, backupsIn } from "../../../src/boot/backup/rotation.ts"
import { checkBackups } from "../../../src/boot/doctor/backup.ts"
import { folderAt } from "../../../src/boot/folder/folder.ts"
import { manualClock, systemClock } from "../../../src/kernel/clock.ts"
import { keepBackups } from "../../../src/server/background/backups.ts"
import { failure, openStorage } from "../../support/storage.ts"
import { pause, until } from "../../support/wait.ts"
import { configFor, houseOf, setUpData } from "./house.ts"

const house = houseOf("bucket")
const data = house.fresh()
const storage = openStorage()
const secretFile = join(house.folder, "secret")
writeFileSync(secretFile, `${storage.key.secret}\n`)
const given = { ...storage.settings, "--s3-secret-file": secretFile }
const config = configFor(data, given)

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
  house.remove()
})

const at = (name: string) => `s3://${storage.bucket}/${name}`
const saving = (to: string, more: Partial<BackupRequest> = {}) =>
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

test("a backup there is read again, and comes back", async () => {
  const saved = await saving(at("one/latchkey.backup"))
  expect(storage.objects.get("one/latchkey.backup")).toHaveLength(saved.bytes)
  expect(storage.seen.filter((each) => each.startsWith("GET /backups/one/"))).not.toEqual([])
  const there = configFor(house.fresh(), given)
  const request = { config: there, from: at("one/latchkey.backup"), opening: {} }
  expect(await examine(request)).toMatchObject({ position: saved.position })
  expect(await restore(request)).toMatchObject({ position: saved.position, isOpen: true })
})

test("one that is there already stays", async () => {
  storage.objects.set("one", new Uint8Array(3))
  await expect(saving(at("one"))).rejects.toThrow("s3://backups/one exists already")
  expect(storage.objects.get("one")).toHaveLength(3)
})

test("a large one goes in parts, of which few are in memory", async () => {
  const count = 400
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dirname, "filler.ts"), at("large"), `${count}`].concat(
      JSON.stringify(given),
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
  ["another secret", { "--s3-secret-file": "wrong" }, "does not take the key"],
  ["another key", { "--s3-key-id": "AKIDOTHER" }, "does not take the key"],
  ["nobody there", { "--s3-endpoint": "http://127.0.0.1:9" }, "nothing answers there"],
])("%s is said in plain words", async (_, wrong, said) => {
  const file = join(house.folder, "wrong")
  writeFileSync(file, "not-the-secret")
  const flags = { ...given, ...wrong }
  const isFile = flags["--s3-secret-file"] === "wrong"
  const other = configFor(data, { ...flags, ...(isFile && { "--s3-secret-file": file }) })
  await expect(saving(at("one"), { config: other })).rejects.toThrow(said)
  const request = { config: other, from: at("one"), opening: {} }
  await expect(examine(request)).rejects.toThrow(said)
})

/** Has a process of its own fill an object, with more in its environment. */
async function filledWith(env: Record<string, string>, settings: Record<string, string>) {
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
  "the token of %s goes nowhere",
  async (name) => {
    expect(await filledWith({}, given)).toMatchObject({ code: 0 })
    storage.seen.length = 0
    const { code, said } = await filledWith({ [name]: "of-somebody" }, given)
    expect([code, storage.seen]).toEqual([1, []])
    expect(said).toContain(`start Latchkey without AWS_SESSION_TOKEN and S3_SESSION_TOKEN`)
    expect(said).not.toContain("of-somebody")
  },
)

test.each(["AWS_ENDPOINT", "S3_ENDPOINT"])(
  "without an address it is Amazon's, whatever %s says",
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
    const { "--s3-endpoint": _, ...settings } = given
    const env = { [name]: storage.url, HTTPS_PROXY: `http://127.0.0.1:${port}` }
    const bare = { https_proxy: env.HTTPS_PROXY, NO_PROXY: "", no_proxy: "" }
    await filledWith({ ...env, ...bare }, settings)
    proxy.close()
    expect(storage.seen).toEqual([])
    expect(asked[0]).toBe("CONNECT s3.eu-central-2.amazonaws.com:443 HTTP/1.1")
  },
)

describe("an address that begins with http:// and is another machine's", () => {
  // Nobody answers there, which says that it was asked; it is not among a machine's own addresses.
  const open = configFor(data, { ...given, "--s3-endpoint": "http://0.0.0.0:9" })
  const clear = "s3_endpoint begins with http://"
  const encryption = { passphrase: "four words of mine", workFactor: 8 }

  test("is refused for what is not encrypted, there and back", async () => {
    await expect(saving(at("one"), { config: open })).rejects.toThrow(clear)
    const request = { config: open, from: at("one"), opening: {} }
    await expect(examine(request)).rejects.toThrow(clear)
    expect(() => placeAt(at("by"), open)).toThrow(clear)
    writeFileSync(folderAt(data).backupLabel, "0a1b2c3d\n")
    expect(await checkBackups({ ...open, backupFolder: at("by") }, 0)).toMatchObject([
      { state: "wrong", said: expect.stringContaining(clear) },
    ])
  })

  test("is asked with what is", async () => {
    const asked = "nothing answers there"
    await expect(saving(at("one"), { config: open, encryption })).rejects.toThrow(asked)
    const request = { config: open, from: at("one"), opening: { passphrase: "four words" } }
    await expect(examine(request)).rejects.toThrow(asked)
    const place = placeAt(at("by"), { ...open, backupRecipient: "age1of-somebody" })
    await expect(place.names("latchkey-")).rejects.toThrow(asked)
  })

  test.each(["localhost", "[::1]", "127.0.0.2"])("that is this one's, %s, may", (host) => {
    const near = configFor(data, { ...given, "--s3-endpoint": `http://${host}:9` })
    expect(placeAt(at("by"), near)).toBeDefined()
  })
})

test("no key, no bucket, no object and no name are said, too", async () => {
  const bare = configFor(data, { "--s3-endpoint": storage.url })
  await expect(saving(at("one"), { config: bare })).rejects.toThrow("wants a key: set s3_key_id")
  await expect(saving("s3://elsewhere/one")).rejects.toThrow("there is no such bucket")
  await expect(saving("s3://backups/folder/")).rejects.toThrow("names no object")
  await expect(examine({ config, from: at("none"), opening: {} })).rejects.toThrow("no object s3:")
})

const noisy = (sink: (bytes: Uint8Array) => Promise<void>) => async () => {
  for (let piece = 0; piece < 40; piece++) await sink(randomBytes(1024 * 1024))
}

test("an upload that the storage refuses halfway leaves nothing that looks whole", async () => {
  storage.state.trouble = (request, url) =>
    request.method === "PUT" && url.searchParams.get("partNumber") === "2"
      ? failure(503, "SlowDown")
      : undefined
  const object = objectAt(at("half"), config, false)
  await expect(object.fill((sink) => noisy(sink)())).rejects.toThrow("SlowDown")
  await expect.poll(() => [...storage.uploads.keys()]).toEqual([])
  expect([...storage.objects.keys()]).toEqual([])
})

test("a source that breaks off halfway is never put together", async () => {
  const object = objectAt(at("half"), config, false)
  const broken = object.fill(async (sink) => {
    await noisy(sink)()
    throw new Error("the disk failed")
  })
  await expect(broken).rejects.toThrow("the disk failed")
  Bun.gc(true)
  await pause(200, "what is collected must complete nothing, and nothing signals that it did not")
  expect([...storage.objects.keys()]).toEqual([])
})

test("what reads otherwise than it was written is removed, and said", async () => {
  storage.state.trouble = (request) =>
    request.method === "GET" && request.headers.has("range")
      ? new Response(randomBytes(1000), { status: 206 })
      : undefined
  await expect(saving(at("bad"))).rejects.toThrow()
  expect([...storage.objects.keys()]).toEqual([])
})

test("a download that is cut again and again is an error, and restores nothing", async () => {
  await saving(at("one"))
  storage.state.trouble = (request) =>
    request.method === "GET" && request.headers.has("range") ? "cut" : undefined
  const there = configFor(house.fresh(), given)
  await expect(restore({ config: there, from: at("one"), opening: {} })).rejects.toThrow()
  storage.state.trouble = undefined
  expect(await restore({ config: there, from: at("one"), opening: {} })).toMatchObject({
    isOpen: true,
  })
})

test("by themselves they are kept and dropped there, page after page", async () => {
  const label = "0a1b2c3d"
  const place = placeAt(at("by/themselves"), config)
  storage.objects.set("by/themselves/notes.txt", new Uint8Array(1))
  storage.objects.set(`other/${backupName(label, 0)}`, new Uint8Array(1))
  const clock = manualClock(Date.UTC(2026, 0, 1))
  const told: unknown[] = []
  const log = { error: (...said: unknown[]) => told.push(said) }
  const wanted = { place, label, backupEveryHours: 24, backupKeep: 5 }
  const keeping = keepBackups({ clock, log }, wanted, async (file) => {
    const object = objectAt(file, config, false)
    await object.fill((sink) => sink(new Uint8Array(10)))
  })
  for (let day = 0; day < 9; day++) {
    // A round has ended when the timer of the next one is set.
    await until(() => clock.pending() === 1)
    clock.advance(61_000)
    await until(() => clock.pending() === 1)
    clock.advance(24 * 3_600_000)
  }
  await keeping.stop()
  expect(told).toEqual([])
  const shelf = { place, label }
  const made = await backupsIn(shelf)
  expect(made.length).toBeGreaterThanOrEqual(5)
  expect(made.length).toBeLessThanOrEqual(6)
  expect(await bucketAt(at("by/themselves"), config, false).names("n")).toEqual(["notes.txt"])
  expect(storage.objects.has(`other/${backupName(label, 0)}`)).toBe(true)
})

const halfOf = (name: string) => ({ name, parts: new Map([[1, new Uint8Array(1)]]) })

describe("an upload of this data folder's own that was killed", () => {
  const label = "0a1b2c3d"
  const left = `by/it/${backupName(label, 1000)}`
  const others = [`by/it/${backupName("ffffffff", 1000)}`, `by/${backupName(label, 0)}`, "by/it/n"]

  test("is ended by the next backup there, and nobody else's", async () => {
    writeFileSync(folderAt(data).backupLabel, `${label}\n`)
    for (const name of [left, ...others]) storage.uploads.set(`of ${name}`, halfOf(name))
    await saving(at(`by/it/${backupName(label, 2000)}`))
    expect([...storage.uploads.keys()]).toEqual(others.map((name) => `of ${name}`))
  })

  test("stays where the key may not list uploads, which stops no backup", async () => {
    writeFileSync(folderAt(data).backupLabel, `${label}\n`)
    storage.uploads.set("left", halfOf(left))
    storage.state.trouble = ({ method }, url) =>
      method === "GET" && url.searchParams.has("uploads") ? failure(403, "AccessDenied") : undefined
    await saving(at("by/it/now"))
    expect([...storage.uploads.keys()]).toEqual(["left"])
  })
})

test("nobody else's are listed, however many lie there", async () => {
  const label = "0a1b2c3d"
  const mine = backupName(label, 0)
  storage.objects.set(`by/${mine}`, new Uint8Array(1))
  for (let count = 0; count < 20; count++) {
    storage.objects.set(`by/${backupName(`0000000${count % 10}`, count * 1000)}`, new Uint8Array(1))
  }
  const listed = await backupsIn({ place: placeAt(at("by"), config), label })
  expect(listed).toEqual([{ name: mine, made: 0 }])
  expect(storage.seen).toHaveLength(1)
})

test("the doctor says how old the newest is there, or why nobody knows", async () => {
  const label = "0a1b2c3d"
  const now = Date.UTC(2026, 0, 2)
  writeFileSync(folderAt(data).backupLabel, `${label}\n`)
  const wanted = configFor(data, { ...given, "--backup-folder": at("by") })
  expect(await checkBackups(wanted, now)).toMatchObject([{ state: "warning" }])
  storage.objects.set(`by/${backupName(label, now - 3_600_000)}`, new Uint8Array(1))
  expect(await checkBackups(wanted, now)).toMatchObject([{ state: "ok" }])
  storage.state.trouble = () => failure(403, "AccessDenied")
  expect(await checkBackups(wanted, now)).toMatchObject([
    { state: "wrong", said: expect.stringContaining("the key may not do that") },
  ])
})
