import { createPublicKey } from "node:crypto"
import {
  chmodSync,
  existsSync,
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
import { claimFolder, type FolderClaim, isRunning } from "../../src/boot/folder/claim.ts"
import { folderAt } from "../../src/boot/folder/folder.ts"
import { readPassword, runSetup, type SetupRequest, setupRequest } from "../../src/boot/setup.ts"
import { saveSetupLink } from "../../src/boot/setup-link.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import { parseConfig } from "../../src/kernel/config.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { Fault } from "../../src/kernel/fault.ts"
import { createIds } from "../../src/kernel/id.ts"
import { runProgram } from "./child.ts"

let data: string
let keyFile: string

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), "latchkey-setup-"))
  keyFile = join(data, "key.json")
})

afterEach(() => rmSync(data, { recursive: true, force: true }))

const config = () => parseConfig({ flags: { "--data": data }, env: {}, file: {} })
const request = {
  publicUrl: "https://id.example.com",
  org: "Acme",
  owner: "ada",
  ownerEmail: "ada@example.com",
  ownerPassword: "Correct-horse-7",
}
const setUpOptions = (
  local: Parameters<typeof runSetup>[0]["here"],
  file: string | undefined = keyFile,
) => ({
  config: config(),
  random: systemRandom,
  ids: createIds(systemClock),
  request,
  keyFile: file,
  here: local,
})
const partialFile = () => `${keyFile}.part`
const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8)

/** Expects the key file to contain the private key of the registered key. */
function expectKeyOf(file: string, { serviceKey }: SetupRequest): void {
  const { key, ...rest } = JSON.parse(readFileSync(file, "utf8"))
  const publicKey = createPublicKey(key).export({ format: "pem", type: "spki" })
  const { userId, keyId } = rest
  expect(rest).toEqual({ type: "serviceaccount", userId, keyId })
  expect(serviceKey).toEqual({ userId, keyId, publicKey })
  expect(modeOf(file)).toBe("600")
}

it("opens the directory itself if no server runs, and releases it", async () => {
  const asked: SetupRequest[] = []
  const here = async (claim: FolderClaim, request: SetupRequest) => {
    expect(claim.master).toHaveLength(32)
    asked.push(request)
  }
  await runSetup(setUpOptions(here))
  const [what] = asked
  if (!what) throw new Error("nothing was requested")
  expect(what).toMatchObject(request)
  expectKeyOf(keyFile, what)
  expect(existsSync(partialFile())).toBe(false)
  const next = await claimFolder(config(), systemRandom)
  next.release()
})

it("uses the server that runs on the directory", async () => {
  const claim = await claimFolder(config(), systemRandom)
  const asked: SetupRequest[] = []
  const control = serveControl(
    claim.folder,
    {
      status: async () => "ok",
      setup: async (input) => void asked.push(setupRequest.parse(input)),
    },
    () => {},
  )
  const here = () => Promise.reject(new Error("the folder is the server's"))
  await runSetup({ ...setUpOptions(here), keyFile: undefined })
  await runSetup(setUpOptions(here))
  expect(asked).toEqual([request, { ...request, serviceKey: expect.anything() }])
  if (asked[1]) expectKeyOf(keyFile, asked[1])
  await control.close()
  claim.release()
  expect(await isRunning(claim.folder)).toBe(false)
})

describe("the key file", () => {
  const refused = () => new Fault("already_exists", "instance.exists", "there is an owner already")

  it("is on disk under another name before the key is registered", async () => {
    const here = async (_: FolderClaim, request: SetupRequest) => {
      expectKeyOf(partialFile(), request)
      expect(existsSync(keyFile)).toBe(false)
    }
    await runSetup(setUpOptions(here))
    expect(existsSync(keyFile)).toBe(true)
  })

  it("is never overwritten, and is removed if setup is rejected", async () => {
    const here = () => Promise.reject(refused())
    await expect(runSetup(setUpOptions(here))).rejects.toThrow("there is an owner already")
    expect(readdirSync(data).filter((name) => name.startsWith("key"))).toEqual([])
    writeFileSync(keyFile, "precious")
    await expect(runSetup(setUpOptions(here))).rejects.toThrow(
      /key\.json can't be created: it already exists/,
    )
    expect(readFileSync(keyFile, "utf8")).toBe("precious")
    expect(existsSync(partialFile())).toBe(false)
  })

  it("is not overwritten if it appears in the meantime", async () => {
    const here = async () => writeFileSync(keyFile, "precious")
    await expect(runSetup(setUpOptions(here))).rejects.toThrow(
      /it already exists; the key is in .*\.part/,
    )
    expect(readFileSync(keyFile, "utf8")).toBe("precious")
    expect(existsSync(partialFile())).toBe(true)
  })

  it("is kept if the result of setup is unknown, and the next run uses it", async () => {
    const asked: SetupRequest[] = []
    const here = async (_: FolderClaim, request: SetupRequest) => {
      asked.push(request)
      if (asked.length === 1) throw new Error("the connection broke")
    }
    await expect(runSetup(setUpOptions(here))).rejects.toThrow(
      /have been completed \(the connection broke\); run the command again: .*key\.json\.part/,
    )
    await runSetup(setUpOptions(here))
    expect(asked[1]).toEqual(asked[0])
    if (asked[1]) expectKeyOf(keyFile, asked[1])
    expect(existsSync(partialFile())).toBe(false)
  })

  it("is rejected if another program left a file under its temporary name", async () => {
    const here = () => Promise.reject(new Error("unexpected request"))
    await expect(runSetup(setUpOptions(here))).rejects.toThrow("unexpected request")
    const text = readFileSync(partialFile(), "utf8")
    const spoil: readonly (() => void)[] = [
      () => chmodSync(partialFile(), 0o644),
      () => writeFileSync(partialFile(), text.slice(0, 100), { mode: 0o600 }),
      () => writeFileSync(partialFile(), '{"type":"serviceaccount"}', { mode: 0o600 }),
      () => {
        writeFileSync(`${keyFile}.other`, text, { mode: 0o600 })
        symlinkSync(`${keyFile}.other`, partialFile())
      },
    ]
    for (const act of spoil) {
      rmSync(partialFile(), { force: true })
      writeFileSync(partialFile(), text, { mode: 0o600 })
      if (act === spoil.at(-1)) rmSync(partialFile())
      act()
      await expect(runSetup(setUpOptions(here))).rejects.toThrow(
        /key\.json\.part can't be (used|created)/,
      )
    }
  })
})

describe("setup that is killed", () => {
  const run = (...args: string[]) => runProgram("setter.ts", [data, keyFile, ...args]).ended

  it.each(["before the step", "after the step", "before the name"])(
    "%s completes on the next run, with the registered key",
    async (moment) => {
      expect((await run(moment)).code).not.toBe(0)
      expect(existsSync(keyFile)).toBe(false)
      expectKey(partialFile())
      const kept = readFileSync(partialFile(), "utf8")
      const again = await run("never")
      expect(again).toMatchObject({ code: 0, output: `${publicHalf(kept)}\n` })
      expect(readFileSync(keyFile, "utf8")).toBe(kept)
      expect(existsSync(partialFile())).toBe(false)
    },
  )

  it("is rejected by an instance that was set up in the meantime, and leaves no key", async () => {
    const other = join(data, "other.json")
    expect((await runProgram("setter.ts", [data, other, "never"]).ended).code).toBe(0)
    expect(await run("never")).toMatchObject({
      code: 1,
      output: "the setup is already completed\n",
    })
    expect(existsSync(partialFile())).toBe(false)
    expect(existsSync(keyFile)).toBe(false)
  })
})

const publicHalf = (text: string) =>
  String(createPublicKey(JSON.parse(text).key).export({ format: "pem", type: "spki" })).trim()

function expectKey(file: string): void {
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ type: "serviceaccount" })
}

it("reads a password without its final line break, and unchanged otherwise", () => {
  const file = join(data, "password")
  for (const [text, password] of [
    ["secret\n", "secret"],
    ["secret\r\n", "secret"],
    [" sec ret \n\n", " sec ret \n"],
  ] as const) {
    writeFileSync(file, text)
    expect(readPassword(file)).toBe(password)
  }
  expect(() => readPassword(`${file}x`)).toThrow(/password.* can't be read \(ENOENT\)/)
})

it("keeps the setup link readable for the directory's owner only, and only while it exists", () => {
  const folder = folderAt(data)
  saveSetupLink(folder, "http://localhost/setup#a")
  saveSetupLink(folder, "http://localhost/setup#b")
  expect(readFileSync(folder.setupLink, "utf8")).toBe("http://localhost/setup#b\n")
  expect((statSync(folder.setupLink).mode & 0o777).toString(8)).toBe("600")
  saveSetupLink(folder, undefined)
  expect(existsSync(folder.setupLink)).toBe(false)
})
