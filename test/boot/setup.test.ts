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
import { type Claim, claimFolder, isRunning } from "../../src/boot/folder/claim.ts"
import { folderAt } from "../../src/boot/folder/folder.ts"
import { passwordIn, type SetupRequest, setUp, setupRequest } from "../../src/boot/setup.ts"
import { keepSetupLink } from "../../src/boot/setup-link.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import { configOf } from "../../src/kernel/config.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { Fault } from "../../src/kernel/fault.ts"
import { idsOf } from "../../src/kernel/id.ts"
import { runProgram } from "./child.ts"

let data: string
let keyFile: string

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), "latchkey-setup-"))
  keyFile = join(data, "key.json")
})

afterEach(() => rmSync(data, { recursive: true, force: true }))

const config = () => configOf({ flags: { "--data": data }, env: {}, file: {} })
const request = {
  publicUrl: "https://id.example.com",
  org: "Acme",
  owner: "ada",
  ownerEmail: "ada@example.com",
  ownerPassword: "Correct-horse-7",
}
const options = (
  here: Parameters<typeof setUp>[0]["here"],
  file: string | undefined = keyFile,
) => ({
  config: config(),
  random: systemRandom,
  ids: idsOf(systemClock),
  request,
  keyFile: file,
  here,
})
const part = () => `${keyFile}.part`
const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8)

/** Whether a key file has the private half of what was registered. */
function expectKeyOf(file: string, { serviceKey }: SetupRequest): void {
  const { key, ...rest } = JSON.parse(readFileSync(file, "utf8"))
  const publicKey = createPublicKey(key).export({ format: "pem", type: "spki" })
  const { userId, keyId } = rest
  expect(rest).toEqual({ type: "serviceaccount", userId, keyId })
  expect(serviceKey).toEqual({ userId, keyId, publicKey })
  expect(modeOf(file)).toBe("600")
}

it("opens the folder itself when no server runs, and gives it back", async () => {
  const asked: SetupRequest[] = []
  const here = async (claim: Claim, what: SetupRequest) => {
    expect(claim.master).toHaveLength(32)
    asked.push(what)
  }
  await setUp(options(here))
  const [what] = asked
  if (!what) throw new Error("nobody was asked")
  expect(what).toMatchObject(request)
  expectKeyOf(keyFile, what)
  expect(existsSync(part())).toBe(false)
  const next = await claimFolder(config(), systemRandom)
  next.release()
})

it("goes through the server that runs on the folder", async () => {
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
  await setUp({ ...options(here), keyFile: undefined })
  await setUp(options(here))
  expect(asked).toEqual([request, { ...request, serviceKey: expect.anything() }])
  if (asked[1]) expectKeyOf(keyFile, asked[1])
  await control.close()
  claim.release()
  expect(await isRunning(claim.folder)).toBe(false)
})

describe("the key file", () => {
  const refused = () => new Fault("already_exists", "instance.exists", "there is an owner already")

  it("is on disk before the key is registered, under another name", async () => {
    const here = async (_: Claim, what: SetupRequest) => {
      expectKeyOf(part(), what)
      expect(existsSync(keyFile)).toBe(false)
    }
    await setUp(options(here))
    expect(existsSync(keyFile)).toBe(true)
  })

  it("is never overwritten, and none is left behind when set-up is refused", async () => {
    const here = () => Promise.reject(refused())
    await expect(setUp(options(here))).rejects.toThrow("there is an owner already")
    expect(readdirSync(data).filter((name) => name.startsWith("key"))).toEqual([])
    writeFileSync(keyFile, "precious")
    await expect(setUp(options(here))).rejects.toThrow(/key\.json can't be made: it exists already/)
    expect(readFileSync(keyFile, "utf8")).toBe("precious")
    expect(existsSync(part())).toBe(false)
  })

  it("that came into being meanwhile is not overwritten either", async () => {
    const here = async () => writeFileSync(keyFile, "precious")
    await expect(setUp(options(here))).rejects.toThrow(/it exists already; the key is in .*\.part/)
    expect(readFileSync(keyFile, "utf8")).toBe("precious")
    expect(existsSync(part())).toBe(true)
  })

  it("is kept where nobody knows how set-up ended, and the next run goes on with it", async () => {
    const asked: SetupRequest[] = []
    const here = async (_: Claim, what: SetupRequest) => {
      asked.push(what)
      if (asked.length === 1) throw new Error("the connection broke")
    }
    await expect(setUp(options(here))).rejects.toThrow(
      /may have been done or not \(the connection broke\); run it again: .*key\.json\.part/,
    )
    await setUp(options(here))
    expect(asked[1]).toEqual(asked[0])
    if (asked[1]) expectKeyOf(keyFile, asked[1])
    expect(existsSync(part())).toBe(false)
  })

  it("is nobody's but ours: what others left under its first name is refused", async () => {
    const here = () => Promise.reject(new Error("nobody is asked"))
    await expect(setUp(options(here))).rejects.toThrow("nobody is asked")
    const text = readFileSync(part(), "utf8")
    const spoil: readonly (() => void)[] = [
      () => chmodSync(part(), 0o644),
      () => writeFileSync(part(), text.slice(0, 100), { mode: 0o600 }),
      () => writeFileSync(part(), '{"type":"serviceaccount"}', { mode: 0o600 }),
      () => {
        writeFileSync(`${keyFile}.other`, text, { mode: 0o600 })
        symlinkSync(`${keyFile}.other`, part())
      },
    ]
    for (const act of spoil) {
      rmSync(part(), { force: true })
      writeFileSync(part(), text, { mode: 0o600 })
      if (act === spoil.at(-1)) rmSync(part())
      act()
      await expect(setUp(options(here))).rejects.toThrow(/key\.json\.part can't be (used|made)/)
    }
  })
})

describe("set-up that is killed", () => {
  const run = (...args: string[]) => runProgram("setter.ts", [data, keyFile, ...args]).ended

  it.each(["before the step", "after the step", "before the name"])(
    "%s comes to its end when it is made again, with the key that is registered",
    async (moment) => {
      expect((await run(moment)).code).not.toBe(0)
      expect(existsSync(keyFile)).toBe(false)
      expectSome(part())
      const kept = readFileSync(part(), "utf8")
      const again = await run("never")
      expect(again).toMatchObject({ code: 0, output: `${publicHalf(kept)}\n` })
      expect(readFileSync(keyFile, "utf8")).toBe(kept)
      expect(existsSync(part())).toBe(false)
    },
  )

  it("is refused by an instance that somebody else has set up, and leaves no key", async () => {
    const other = join(data, "other.json")
    expect((await runProgram("setter.ts", [data, other, "never"]).ended).code).toBe(0)
    expect(await run("never")).toMatchObject({ code: 1, output: "set-up has been done already\n" })
    expect(existsSync(part())).toBe(false)
    expect(existsSync(keyFile)).toBe(false)
  })
})

const publicHalf = (text: string) =>
  String(createPublicKey(JSON.parse(text).key).export({ format: "pem", type: "spki" })).trim()

function expectSome(file: string): void {
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ type: "serviceaccount" })
}

it("reads a password without the line break at its end, and with everything else", () => {
  const file = join(data, "password")
  for (const [text, password] of [
    ["secret\n", "secret"],
    ["secret\r\n", "secret"],
    [" sec ret \n\n", " sec ret \n"],
  ] as const) {
    writeFileSync(file, text)
    expect(passwordIn(file)).toBe(password)
  }
  expect(() => passwordIn(`${file}x`)).toThrow(/password.* can't be read \(ENOENT\)/)
})

it("keeps the set-up link for the folder's owner, and only while there is one", () => {
  const folder = folderAt(data)
  keepSetupLink(folder, "http://localhost/setup#a")
  keepSetupLink(folder, "http://localhost/setup#b")
  expect(readFileSync(folder.setupLink, "utf8")).toBe("http://localhost/setup#b\n")
  expect((statSync(folder.setupLink).mode & 0o777).toString(8)).toBe("600")
  keepSetupLink(folder, undefined)
  expect(existsSync(folder.setupLink)).toBe(false)
})
