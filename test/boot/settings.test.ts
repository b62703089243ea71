import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { formatSettings, readConfig, readSettings } from "../../src/boot/settings.ts"

let data: string

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), "latchkey-settings-"))
})

afterEach(() => rmSync(data, { recursive: true, force: true }))

const readConfigSettings = (flags: Record<string, string> = {}) =>
  readConfig({ flags: { "--data": data, ...flags }, env: {} })

it("reads latchkey.toml in the data directory if it exists", () => {
  expect(readConfigSettings().listen).toMatchObject({ port: 8080 })
  const text = 'listen = ":9000"\ntrusted_proxies = ["10.0.0.0/8"]\n'
  writeFileSync(join(data, "latchkey.toml"), text)
  expect(readConfigSettings().listen).toEqual({ host: "0.0.0.0", port: 9000 })
  expect(readConfigSettings().trustedProxies).toHaveLength(1)
  expect(readConfigSettings({ "--listen": ":1" }).listen).toMatchObject({ port: 1 })
})

it("reads the file that --config names instead, and requires it", () => {
  writeFileSync(join(data, "latchkey.toml"), 'listen = ":9000"')
  const other = join(data, "other.toml")
  expect(() => readConfigSettings({ "--config": other })).toThrow(`${other} can't be read (ENOENT)`)
  writeFileSync(other, 'log_level = "debug"')
  expect(readConfigSettings({ "--config": other })).toMatchObject({
    listen: { port: 8080 },
    logLevel: "debug",
  })
})

it("names the file and the nearest key for an unknown key", () => {
  writeFileSync(join(data, "latchkey.toml"), "lisden = 1")
  expect(() => readConfigSettings()).toThrow(
    `lisden in ${join(data, "latchkey.toml")} is unknown; did you mean listen?`,
  )
})

it("never quotes a file that it can't parse", () => {
  writeFileSync(join(data, "latchkey.toml"), 'master_key = "hunter2')
  expect(() => readConfigSettings()).toThrow(/^\S+latchkey\.toml is not valid TOML$/)
})

it("shows the source of each setting, and no secret", () => {
  const secret = Buffer.alloc(32, 7).toString("base64")
  const file = join(data, "latchkey.toml")
  writeFileSync(
    file,
    `master_key = "${secret}"\nlisten = ":9000"\ntrusted_proxies = ["10.0.0.0/8"]`,
  )
  const flags = { "--data": data, "--listen": ":9001" }
  const env = { LATCHKEY_LOG_LEVEL: "debug" }
  const shown = readSettings({ flags, env })
  expect(shown.filter(({ from }) => from !== "default")).toEqual([
    { name: "data", value: data, from: "--data" },
    { name: "listen", value: ":9001", from: "--listen" },
    { name: "master_key", value: "(secret)", from: `master_key in ${file}` },
    { name: "trusted_proxies", value: ["10.0.0.0/8"], from: `trusted_proxies in ${file}` },
    { name: "log_level", value: "debug", from: "LATCHKEY_LOG_LEVEL" },
  ])
  expect(formatSettings(shown)).not.toContain(secret)
  expect(formatSettings(shown)).toMatch(/log_format +default/)
  expect(() => readSettings({ flags: { ...flags, "--listen": "x" }, env })).toThrow(/--listen must/)
})

it("hides the token in the URL of a collector", () => {
  const shown = (value: string) => {
    const env = { LATCHKEY_AUDIT_COLLECTOR: value, LATCHKEY_TRACES: value }
    const all = readSettings({ flags: { "--data": data }, env })
    return all.flatMap(({ from, value: told }) => (from.startsWith("LATCHKEY_") ? [told] : []))
  }
  const plain = "https://logs.example.com/in"
  expect(shown(plain)).toEqual([plain, plain])
  for (const secret of ["?token=hunter2", "?hunter2", "#hunter2", "?a=?hunter2#b"]) {
    expect(shown(plain + secret)).toEqual([`${plain}?(secret)`, `${plain}?(secret)`])
  }
  expect(() => shown("https://me:hunter2@logs.example.com/in")).toThrow(/^(?!.*hunter2)/)
})
