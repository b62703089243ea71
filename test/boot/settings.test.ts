import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { readConfig } from "../../src/boot/settings.ts"

let data: string

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), "latchkey-settings-"))
})

afterEach(() => rmSync(data, { recursive: true, force: true }))

const read = (flags: Record<string, string> = {}) =>
  readConfig({ flags: { "--data": data, ...flags }, env: {} })

it("reads latchkey.toml in the data folder, if it is there", () => {
  expect(read().listen.port).toBe(8080)
  const text = 'listen = ":9000"\ntrusted_proxies = ["10.0.0.0/8"]\n'
  writeFileSync(join(data, "latchkey.toml"), text)
  expect(read().listen).toEqual({ host: "0.0.0.0", port: 9000 })
  expect(read().trustedProxies).toHaveLength(1)
  expect(read({ "--listen": ":1" }).listen.port).toBe(1)
})

it("reads the file that --config names instead, which must be there", () => {
  writeFileSync(join(data, "latchkey.toml"), 'listen = ":9000"')
  const other = join(data, "other.toml")
  expect(() => read({ "--config": other })).toThrow(`${other} can't be read (ENOENT)`)
  writeFileSync(other, 'log_level = "debug"')
  expect(read({ "--config": other })).toMatchObject({ listen: { port: 8080 }, logLevel: "debug" })
})

it("names the file and the nearest key for a key it does not know", () => {
  writeFileSync(join(data, "latchkey.toml"), "lisden = 1")
  expect(() => read()).toThrow(
    `lisden in ${join(data, "latchkey.toml")} is not known; did you mean listen?`,
  )
})

it("never quotes what it can't parse", () => {
  writeFileSync(join(data, "latchkey.toml"), 'master_key = "hunter2')
  expect(() => read()).toThrow(/^\S+latchkey\.toml is not a TOML file that can be read$/)
})
