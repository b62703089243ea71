import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { claimFolder, isRunning } from "../../src/boot/claim.ts"
import { serveControl } from "../../src/boot/control.ts"
import { folderAt } from "../../src/boot/folder.ts"
import { passwordIn, type SetupRequest, setUp, setupRequest } from "../../src/boot/setup.ts"
import { keepSetupLink } from "../../src/boot/setup-link.ts"
import { configOf } from "../../src/kernel/config.ts"
import { systemRandom } from "../../src/kernel/random.ts"

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
const serviceKey = { type: "serviceaccount", keyId: "1", key: "PEM", userId: "2" } as const

it("opens the folder itself when no server runs, and gives it back", async () => {
  const asked: SetupRequest[] = []
  await setUp({
    config: config(),
    random: systemRandom,
    request,
    keyFile,
    here: async (claim, what) => {
      expect(claim.master).toHaveLength(32)
      asked.push(what)
      return { serviceKey }
    },
  })
  expect(asked).toEqual([{ ...request, serviceKey: true }])
  expect(JSON.parse(readFileSync(keyFile, "utf8"))).toEqual(serviceKey)
  expect((statSync(keyFile).mode & 0o777).toString(8)).toBe("600")
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
  const options = { config: config(), random: systemRandom, request, here, keyFile: undefined }
  await expect(setUp(options)).rejects.toThrow()
  expect(asked).toEqual([{ ...request, serviceKey: false }])
  await control.close()
  claim.release()
  expect(await isRunning(claim.folder)).toBe(false)
})

it("never overwrites a key file, and leaves none behind when set-up fails", async () => {
  const here = () => Promise.reject(new Error("there is an owner already"))
  const options = { config: config(), random: systemRandom, request, here, keyFile }
  await expect(setUp(options)).rejects.toThrow("there is an owner already")
  expect(existsSync(keyFile)).toBe(false)
  writeFileSync(keyFile, "precious")
  await expect(setUp(options)).rejects.toThrow(/key\.json can't be made: it exists already/)
  expect(readFileSync(keyFile, "utf8")).toBe("precious")
})

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
