import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { readCertificates } from "../../src/boot/edge/certificate.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import { parseConfig } from "../../src/kernel/config.ts"
import type { App } from "../../src/server/app.ts"
import { type HttpListener, listenHttp } from "../../src/server/listener.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

const app: App = {
  publishedDocument: () => undefined,
  answer: async () => new Response("here"),
  api: () => Promise.reject(new Error("unexpected call")),
  guarded: (_, response) => response,
  grpcHost: () => "",
  condition: { isReady: () => true, clock: systemClock },
}

const openssl = needs("openssl") ?? ""

describe.runIf(openssl)("the built-in TLS 1.2 with a certificate for an RSA key", () => {
  const folder = temporaryFolder()
  const [tlsCert, tlsKey] = ["rsa.crt", "rsa.key"].map((name) => join(folder.path, name))
  let listeners: Readonly<Record<"strict" | "compatible" | "two", HttpListener>>

  beforeAll(() => {
    const subject = ["-subj", "/CN=id.example.com", "-addext", "subjectAltName=DNS:id.example.com"]
    const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...subject]
    const { status } = spawnSync(openssl, [...made, "-keyout", `${tlsKey}`, "-out", `${tlsCert}`])
    expect(status).toBe(0)
    const certificates = readCertificates({ tlsCert: [`${tlsCert}`], tlsKey: [`${tlsKey}`] })
    const place = { host: "127.0.0.1", port: 0 }
    const listen = (more: object, all = certificates) =>
      listenHttp(app, { place, certificates: all, ...more }, systemClock)
    const others = certificates.map((each) => ({ ...each, names: ["other.example.com"] }))
    listeners = {
      strict: listen({}),
      compatible: listen({ tlsCiphers: "compatible" }),
      two: listen({}, [...certificates, ...others]),
    }
  })
  afterAll(async () => {
    await Promise.all(Object.values(listeners).map((each) => each.stop()))
    folder.remove()
  })

  /** The cipher that a client with this offer negotiates; undefined if that fails. */
  async function agreed(kind: keyof typeof listeners, offered: readonly string[]) {
    const to = ["s_client", "-connect", `127.0.0.1:${listeners[kind].port}`]
    const args = [...to, "-servername", "id.example.com", ...offered]
    const client = Bun.spawn([openssl, ...args], { stdin: "ignore", stderr: "ignore" })
    const cipher = /Cipher is (\S+)/.exec(await new Response(client.stdout).text())?.[1]
    return cipher === "(NONE)" ? undefined : cipher
  }
  const v12 = (cipher: string) => ["-tls1_2", "-cipher", `${cipher}:@SECLEVEL=0`]

  test.each([
    "AES128-SHA",
    "AES256-SHA",
    "AES128-GCM-SHA256",
    "AES256-GCM-SHA384",
    "ECDHE-RSA-AES128-SHA",
    "ECDHE-RSA-AES256-SHA",
  ])("rejects %s unless configured", async (cipher) => {
    expect(await agreed("strict", v12(cipher))).toBeUndefined()
    expect(await agreed("two", v12(cipher))).toBeUndefined()
    expect(await agreed("compatible", v12(cipher))).toBe(cipher)
  })

  test.each([
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-RSA-CHACHA20-POLY1305",
  ])("accepts %s", async (cipher) => {
    for (const kind of ["strict", "two", "compatible"] as const) {
      expect(await agreed(kind, v12(cipher))).toBe(cipher)
    }
  })

  test("accepts TLS 1.3, and nothing before 1.2", async () => {
    for (const kind of ["strict", "compatible"] as const) {
      expect(await agreed(kind, ["-tls1_3"])).toMatch(/^TLS_/)
      expect(await agreed(kind, ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"])).toBeUndefined()
    }
  })

  test("stays strict with a replaced certificate", async () => {
    const [cert, key] = [tlsCert, tlsKey].map((file) => readFileSync(`${file}`, "utf8"))
    const names = ["id.example.com"]
    listeners.strict.setCertificates([
      { cert: `${cert}`, key: `${key}`, names, expiresAt: Infinity },
    ])
    expect(await agreed("strict", v12("AES128-SHA"))).toBeUndefined()
    expect(await agreed("strict", v12("ECDHE-RSA-AES128-GCM-SHA256"))).toBeDefined()
  })
})

test("the setting has two values", () => {
  const flags = (value: string) => ({ flags: { "--tls-ciphers": value }, env: {}, file: {} })
  expect(parseConfig(flags("compatible")).tlsCiphers).toBe("compatible")
  expect(() => parseConfig(flags("AES128-SHA"))).toThrow("strict")
})
