import { expect, it } from "vitest"
import { parseConfig, type Sources } from "../../src/kernel/config.ts"

const noSources: Sources = { flags: {}, env: {}, file: {} }
const readConfig = (some: Partial<Sources>) => parseConfig({ ...noSources, ...some })

it("has a default for everything a new user would have to set", () => {
  expect(readConfig({})).toEqual({
    acmeChallenge: "http-01",
    acmeDirectory: "https://acme-v02.api.letsencrypt.org/directory",
    backupEveryHours: 24,
    backupKeep: 14,
    data: "latchkey-data",
    listen: { host: "127.0.0.1", port: 8080 },
    grpcListen: { host: "127.0.0.1", port: 8081 },
    outboundAllow: [],
    mailAllow: [],
    s3Region: "us-east-1",
    tlsCert: [],
    tlsCiphers: "strict",
    tlsKey: [],
    systemUsers: [],
    trustedProxies: [],
    auditRetentionDays: 90,
    limits: 1,
    logLevel: "info",
    logFormat: "text",
    workers: 1,
  })
})

it("prefers flags over the environment, the file, and the default, in this order", () => {
  const file = { listen: "a:1", grpc_listen: "a:2", log_level: "debug", log_format: "json" }
  const env = { LATCHKEY_LISTEN: "b:1", LATCHKEY_GRPC_LISTEN: "b:2", LATCHKEY_LOG_LEVEL: "" }
  const config = readConfig({ file, env, flags: { "--listen": "c:1", "--public-url": undefined } })
  expect(config.listen).toEqual({ host: "c", port: 1 })
  expect(config.grpcListen).toEqual({ host: "b", port: 2 })
  expect(config.logLevel).toBe("debug")
  expect(config.logFormat).toBe("json")
})

it("rejects unknown keys and names the nearest known one", () => {
  expect(() => readConfig({ flags: { "--lisetn": "x" } })).toThrow(/--lisetn .* --listen\?/)
  expect(() => readConfig({ env: { LATCHKEY_PUBLIC_URI: "x" } })).toThrow(
    /did you mean LATCHKEY_PUBLIC_URL/,
  )
  expect(() => readConfig({ file: { grpclisten: "x" }, filePath: "/etc/l.toml" })).toThrow(
    "grpclisten in /etc/l.toml is unknown; did you mean grpc_listen?",
  )
})

it("ignores other variables of the environment", () => {
  const env = {
    PATH: "/bin",
    LATCHKEY_SERVICE_HOST: "10.0.0.1",
    LATCHKEY_SERVICE_PORT_HTTP: "8080",
    LATCHKEY_PORT: "tcp://10.0.0.1:8080",
    LATCHKEY_PORT_8080_TCP_ADDR: "10.0.0.1",
  }
  expect(readConfig({ env })).toEqual(readConfig({}))
})

it("names the source of an invalid value, and never repeats it", () => {
  expect(() => readConfig({ flags: { "--listen": "8080" } })).toThrow(/^--listen must be HOST:PORT/)
  expect(() => readConfig({ file: { listen: 8080 } })).toThrow(/^listen in .* must be HOST:PORT/)
  expect(() => readConfig({ env: { LATCHKEY_MASTER_KEY: "hunter2" } })).toThrow(
    /^LATCHKEY_MASTER_KEY must be 32 bytes in base64$/,
  )
  for (const wrong of ["id.example.com", "ftp://a", "https://a/b", "https://a?b", "https://u@a"]) {
    expect(() => readConfig({ flags: { "--public-url": wrong } })).toThrow(
      /--public-url must be .* without a path: the host name can't be shared/,
    )
  }
  for (const wrong of ["127.0.0.1", "host:", "a:65536", "::1:8080", "[::g]:1", "a b:1"]) {
    expect(() => readConfig({ flags: { "--listen": wrong } })).toThrow(/--listen must be/)
  }
  for (const wrong of ["10.0.0.0/33", "fd00::/129", "proxy.local", "10.0.0"]) {
    expect(() => readConfig({ flags: { "--trusted-proxies": wrong } })).toThrow(/must be addresses/)
  }
})

it("requires the retention of audit records as an integer above 0", () => {
  const days = (value: unknown) => readConfig({ file: { audit_retention_days: value } })
  expect([days("1"), days(3650)].map((config) => config.auditRetentionDays)).toEqual([1, 3650])
  for (const wrong of ["0", "-1", "1.5", "", "ninety", 1e9]) {
    expect(() => days(wrong), String(wrong)).toThrow(/must be a whole number of days/)
  }
})

it("accepts limits as a factor, also from the file, or none", () => {
  const limits = (value: unknown) => readConfig({ file: { limits: value } }).limits
  expect([limits("2"), limits(0.5), limits("off")]).toEqual([2, 0.5, Number.POSITIVE_INFINITY])
  for (const wrong of ["0", "-1", "1e3", "Infinity", "on", "", true, 1e9]) {
    expect(() => limits(wrong), String(wrong)).toThrow(
      /^limits in .* must be a number greater than 0/,
    )
  }
})

it("never reads the master key from a flag, nor the data directory from the file in it", () => {
  expect(() => readConfig({ flags: { "--master-key": "x" } })).toThrow(/use LATCHKEY_MASTER_KEY$/)
  expect(() => readConfig({ file: { data: "x" } })).toThrow(/use LATCHKEY_DATA$/)
  const key = Buffer.alloc(32, 7).toString("base64")
  expect(readConfig({ env: { LATCHKEY_MASTER_KEY: key } }).masterKey).toEqual(
    new Uint8Array(32).fill(7),
  )
  const both = { master_key: key, master_key_file: "f" }
  expect(() => readConfig({ file: both })).toThrow(/are mutually exclusive/)
})

it("reads lists with commas or as arrays, and addresses in every common form", () => {
  const ranges = [
    { address: "10.0.0.0", bits: 8, family: 4 },
    { address: "::1", bits: 128, family: 6 },
  ]
  const env = { LATCHKEY_TRUSTED_PROXIES: "10.0.0.0/8, ::1" }
  expect(readConfig({ env }).trustedProxies).toEqual(ranges)
  expect(readConfig({ file: { trusted_proxies: ["10.0.0.0/8", "::1"] } }).trustedProxies).toEqual(
    ranges,
  )
  expect(readConfig({ flags: { "--listen": ":80" } }).listen).toEqual({ host: "0.0.0.0", port: 80 })
  expect(readConfig({ flags: { "--listen": "[::1]:80" } }).listen).toEqual({
    host: "::1",
    port: 80,
  })
  const url = readConfig({ flags: { "--public-url": "https://ID.example.com.:443/" } }).publicUrl
  expect(url).toBe("https://id.example.com")
})

it.each([
  ["a log elsewhere", { database: "postgres://db/latchkey" }, "start several nodes"],
  ["a socket", { listen: "unix:/run/latchkey.sock" }, "above 1 requires a port"],
  ["certificates of its own", { tls: "internal" }, "set certificate files with --tls-cert"],
])("rejects several workers with %s", (_, file, reason) => {
  expect(() => readConfig({ file: { ...file, workers: "2" } })).toThrow(reason)
  expect(() => readConfig({ file })).not.toThrow()
})

it.each(["301", "-1", "1.5", "long"])("rejects a drain of %s seconds", (drain_seconds) => {
  expect(() => readConfig({ file: { drain_seconds } })).toThrow(
    "a whole number of seconds from 0 to 300",
  )
})

it("drains for the given time, and not at all for 0", () => {
  expect(readConfig({ env: { LATCHKEY_DRAIN_SECONDS: "0" } }).drainSeconds).toBe(0)
  expect(readConfig({ flags: { "--drain-seconds": "300" } }).drainSeconds).toBe(300)
})

it.each(["0", "65", "many", "-1", "1.5"])("rejects %s workers", (workers) => {
  expect(() => readConfig({ file: { workers } })).toThrow("a whole number from 1 to 64")
})

it("reads the mail servers of local networks by instance", () => {
  const given = ["7=mail.lan:587", "8=[FD12::1]:25", "8=127.0.0.1:1025"]
  expect(readConfig({ file: { mail_allow: given } }).mailAllow).toEqual([
    { instance: "7", host: "mail.lan", port: 587 },
    { instance: "8", host: "fd12::1", port: 25 },
    { instance: "8", host: "127.0.0.1", port: 1025 },
  ])
  for (const wrong of ["mail.lan:587", "7=mail.lan", "=mail.lan:25", "7=mail.lan:0", "7=a b:25"]) {
    expect(() => readConfig({ file: { mail_allow: [wrong] } })).toThrow(/INSTANCE=HOST:PORT/)
  }
})
