// Certificates in files, and Unix domain sockets.
import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { connect } from "node:tls"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { checkCertificateFiles } from "../../src/boot/doctor/certificate.ts"
import { readCertificates } from "../../src/boot/edge/certificate.ts"
import { removeStaleSocket } from "../../src/boot/edge/socket-file.ts"
import { manualClock, systemClock } from "../../src/kernel/clock.ts"
import { parseConfig } from "../../src/kernel/config.ts"
import type { App } from "../../src/server/app.ts"
import { watchCertificateFiles } from "../../src/server/edge/certificates.ts"
import { type HttpListener, listenHttp } from "../../src/server/listener.ts"
import { writeCertificate } from "../support/certificate.ts"
import { temporaryFolder } from "../support/latchkey.ts"

const folder = temporaryFolder()
afterAll(() => folder.remove())
const at = (name: string) => join(folder.path, name)

/** A request to /slow has arrived and may be answered. */
const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]

const app: App = {
  publishedDocument: () => undefined,
  answer: async (request, peer) => {
    if (request.url.endsWith("/slow")) {
      arrived.resolve()
      await released.promise
    }
    return new Response(peer())
  },
  api: () => Promise.reject(new Error("unexpected call")),
  guarded: (_, response) => response,
  grpcHost: () => "",
  condition: { isReady: () => true, clock: systemClock },
}

/** The subject of the certificate that is presented for a host. */
const presentedSubject = (port: number, servername: string): Promise<string> =>
  new Promise((done, fail) => {
    const options = { port, host: "127.0.0.1", servername, rejectUnauthorized: false }
    const socket = connect(options, () => {
      done(String(socket.getPeerCertificate().subject.CN))
      socket.end()
    })
    socket.once("error", fail)
  })

const filesOf = (...names: readonly string[]) => ({
  tlsCert: names.map((name) => at(`${name}.crt`)),
  tlsKey: names.map((name) => at(`${name}.key`)),
})

/**
 * Below the ephemeral port range: an outgoing connection could otherwise take the port of a
 * listener while another listener replaces it.
 */
const fixedPort = 20_000 + (process.pid % 12_000)

beforeAll(async () => {
  await writeCertificate(at("one"), ["one.example.com"])
  await writeCertificate(at("two"), ["two.example.com", "*.two.example.com"])
  await writeCertificate(at("old"), ["one.example.com"], -0.5)
  await writeCertificate(at("soon"), ["one.example.com"], 5)
})

describe("certificates in files", () => {
  let listener: HttpListener
  beforeAll(() => {
    listener = listenHttp(
      app,
      {
        place: { host: "127.0.0.1", port: fixedPort },
        certificates: readCertificates(filesOf("one", "two")),
      },
      systemClock,
    )
  })
  afterAll(() => listener.stop())

  test.each([
    ["one.example.com", "one.example.com"],
    ["two.example.com", "two.example.com"],
    ["TWO.example.com", "two.example.com"],
    ["x.two.example.com", "two.example.com"],
    ["other.example.com", "one.example.com"],
  ])("%s gets the certificate of %s", async (request, displayed) => {
    expect(await presentedSubject(listener.port, request)).toBe(displayed)
  })

  test("are replaced at the same port; requests in flight are answered", async () => {
    const tls = { rejectUnauthorized: false }
    const slow = fetch(`https://127.0.0.1:${listener.port}/slow`, { tls })
    await arrived.promise
    listener.setCertificates(readCertificates(filesOf("two")))
    expect(await presentedSubject(listener.port, "one.example.com")).toBe("two.example.com")
    released.resolve()
    expect(await (await slow).text()).toBe("127.0.0.1")
  })

  test("are reloaded when they change; an unusable file changes nothing", async () => {
    const files = filesOf("live")
    const copy = (from: string, ending: "crt" | "key") =>
      copyFileSync(at(`${from}.${ending}`), at(`live.${ending}`))
    copy("one", "crt")
    copy("one", "key")
    const clock = manualClock(0)
    const told: string[] = []
    const presented: string[][] = []
    const log = {
      error: (text: string) => told.push(text),
      info: () => undefined,
    }
    const keeping = watchCertificateFiles({ clock, log }, files, {
      first: readCertificates(files),
      present: (fresh) => presented.push(fresh.flatMap(({ names }) => names)),
    })
    const later = async () => {
      await Promise.resolve()
      clock.advance(10_000)
      await Promise.resolve()
      await Promise.resolve()
    }
    await later()
    copy("two", "crt")
    await later()
    await later()
    expect(told).toHaveLength(1)
    expect(presented).toEqual([])
    copy("two", "key")
    await later()
    await later()
    expect(presented).toEqual([["two.example.com", "*.two.example.com"]])
    await keeping.stop()
  })

  test("are rejected by name if they can't be used, without their contents", () => {
    const read = (tlsCert: string, tlsKey: string) => () =>
      readCertificates({ tlsCert: [tlsCert], tlsKey: [tlsKey] })
    writeFileSync(at("junk"), "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n")
    expect(read(at("one.crt"), at("two.key"))).toThrow("does not match the first certificate")
    expect(read(at("none"), at("one.key"))).toThrow(`${at("none")} can't be read (ENOENT)`)
    expect(read(at("junk"), at("one.key"))).toThrow("is not a valid certificate in PEM")
    expect(read(at("one.crt"), at("junk"))).toThrow("is not a valid private key")
    expect(read(at("one.crt"), at("junk"))).not.toThrow("c2VjcmV0")
  })

  test("are rejected if the chain is incomplete, before the server listens", () => {
    const whole = readFileSync(at("one.crt"), "utf8")
    writeFileSync(at("half.crt"), `${whole}\n${whole.slice(0, 200)}`)
    const read = () => readCertificates({ tlsCert: [at("half.crt")], tlsKey: [at("one.key")] })
    expect(read).toThrow("is not a valid chain of certificates that TLS can use")
  })

  test("are reported by the doctor: valid, expiring, expired, unusable", () => {
    const config = parseConfig({ flags: {}, env: {}, file: {} })
    const states = (...names: readonly string[]) =>
      checkCertificateFiles({ ...config, ...filesOf(...names) }, Date.now()).map(
        ({ state }) => state,
      )
    expect(states("one", "soon", "old")).toEqual(["ok", "warning", "wrong"])
    expect(states("none")).toEqual(["wrong"])
    expect(states()).toEqual([])
  })
})

describe("the configuration of TLS", () => {
  const read = (flags: Record<string, string>) => () => parseConfig({ flags, env: {}, file: {} })
  const byTls = { "--acme-challenge": "tls-alpn-01" }
  const acme = { "--tls": "acme", "--acme-terms": "agreed" }

  test("needs no port for plain HTTP if the authority validates by TLS", () => {
    const config = read({ ...byTls, ...acme })()
    expect([config.acmeChallenge, config.redirectListen]).toEqual(["tls-alpn-01", undefined])
  })

  test.each<[Record<string, string>, string]>([
    [{ "--tls-cert": "a.crt" }, "--tls-cert and --tls-key must name the same number of files"],
    [{ "--tls-cert": "a,b", "--tls-key": "a" }, "must name the same number of files"],
    [{ "--redirect-listen": ":80" }, "--redirect-listen requires --tls-cert"],
    [
      { "--tls": "acme", "--tls-cert": "a", "--tls-key": "a" },
      "--tls and --tls-cert are mutually exclusive",
    ],
    [{ "--tls": "acme" }, "--tls acme requires --redirect-listen :80"],
    [{ "--tls": "acme", "--redirect-listen": ":80" }, "requires --acme-terms agreed"],
    [{ "--tls": "acme", "--database": "postgres://a/b" }, "--tls requires a single node"],
    [{ "--tls": "acme", "--listen": "unix:/s" }, "--tls requires a port"],
    [{ "--tls": "acme" }, "--acme-challenge tls-alpn-01 does not need it"],
    [{ ...byTls, "--tls": "internal" }, "--acme-challenge tls-alpn-01 requires --tls acme"],
    [{ ...byTls, "--tls-cert": "a", "--tls-key": "a" }, "requires --tls acme"],
    [byTls, "requires --tls acme"],
    [{ ...byTls, "--tls": "acme" }, "requires --acme-terms agreed"],
    [{ ...byTls, "--tls": "acme", "--listen": "unix:/s" }, "TLS is not available on a Unix socket"],
    [{ ...byTls, ...acme, "--workers": "2" }, "--workers above 1 can't be combined with --tls"],
    [{ ...byTls, ...acme, "--database": "postgres://a/b" }, "--tls requires a single node"],
    [{ "--acme-challenge": "dns-01" }, "must be one of http-01, tls-alpn-01"],
    [{ "--tls": "magic" }, "--tls must be one of"],
    [{ "--acme-directory": "http://ca.example.com/" }, "--acme-directory must be"],
    [{ "--acme-email": "ada" }, "--acme-email must be"],
    [{ "--listen": "unix:/s", "--tls-cert": "a", "--tls-key": "a" }, "--tls-cert requires a port"],
  ])("%o is rejected", (flags, words) => {
    expect(read({ ...flags })).toThrow(words)
  })

  test.each([
    ["unix:/run/latchkey/http.sock", { path: "/run/latchkey/http.sock", mode: 0o660 }],
    ["unix:s|0600", { path: "s", mode: 0o600 }],
    ["unix:s|666", { path: "s", mode: 0o666 }],
  ])("%s is a socket", (listen, location) => {
    expect(read({ "--listen": listen })().listen).toEqual(location)
  })

  test.each(["unix:", "unix:s|", "unix:s|999", "unix:a|6660"])("%s is not a socket", (listen) => {
    expect(read({ "--listen": listen })).toThrow("--listen must be")
  })
})

describe("a Unix domain socket", () => {
  const place = { path: at("http.sock"), mode: 0o660 }

  test("is accessible to its owner and group, and its clients are proxies", async () => {
    const listener = listenHttp(app, { place, certificates: [] }, systemClock)
    expect(statSync(place.path).mode & 0o777).toBe(0o660)
    const answer = await fetch("http://id.example.com/", { unix: place.path })
    expect(await answer.text()).toBe("unix:")
    await expect(removeStaleSocket(place)).rejects.toThrow("is in use by another program")
    await listener.stop()
    expect(existsSync(place.path)).toBe(false)
  })

  test("is removed if a killed process left it; other files are not", async () => {
    const left = { path: at("left.sock"), mode: 0o600 }
    const program = `Bun.listen({ unix: ${JSON.stringify(left.path)}, socket: { data() {} } });
      process.kill(process.pid, "SIGKILL")`
    Bun.spawnSync([process.execPath, "-e", program])
    expect(existsSync(left.path)).toBe(true)
    await removeStaleSocket(left)
    expect(existsSync(left.path)).toBe(false)
    await removeStaleSocket(left)
    writeFileSync(at("file"), "")
    await expect(removeStaleSocket({ path: at("file"), mode: 0o600 })).rejects.toThrow(
      "is not a socket",
    )
  })
})
