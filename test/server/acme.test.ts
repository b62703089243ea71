// ACME certificates (RFC 8555): with a real authority, and with a failing one.
import { X509Certificate } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { checkManagedCertificates } from "../../src/boot/doctor/certificate.ts"
import { portHint } from "../../src/boot/edge/certificate-file.ts"
import { folderAt } from "../../src/boot/folder/folder.ts"
import { type Clock, manualClock, systemClock } from "../../src/kernel/clock.ts"
import { parseConfig } from "../../src/kernel/config.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { createDataKey, purposes, secretsOf } from "../../src/kernel/crypto/secret.ts"
import { Fault } from "../../src/kernel/fault.ts"
import type { OutboundReply, OutboundRequest } from "../../src/kernel/port/outbound.ts"
import { createAccountKey, openAccount } from "../../src/server/edge/acme/account.ts"
import {
  type AcmeChallenge,
  createHttpChallenge,
  respondToChallenge,
} from "../../src/server/edge/acme/challenge.ts"
import { createAcmeIssuer, isPublicName } from "../../src/server/edge/acme/issuer.ts"
import { orderCertificate } from "../../src/server/edge/acme/order.ts"
import {
  type IssuedCertificate,
  type Issuer,
  manageCertificates,
  openCertificateStore,
} from "../../src/server/edge/managed-certificates.ts"
import { createSelfSigned } from "../../src/server/edge/x509.ts"
import { freePort, temporaryFolder } from "../support/latchkey.ts"
import { type Pebble, startPebble } from "../support/pebble.ts"
import { needs } from "../support/prerequisite.ts"
import { startListener, validateHost } from "../support/tls-alpn.ts"

const dayMs = 86_400_000
const master = systemRandom.bytes(32)
const keys = purposes.map((each) => ({
  ...createDataKey(systemRandom, new Uint8Array(master), each),
  active: true,
}))
const secrets = secretsOf(systemRandom, new Uint8Array(master), keys)

/** Certificate storage in a temporary directory. */
function openStorage(clock: Clock) {
  const temporary = temporaryFolder()
  const folder = folderAt(temporary.path)
  const told: string[] = []
  const log = {
    error: (_: string, values: object) => told.push(JSON.stringify(values)),
    info: (_: string, values: object) => told.push(JSON.stringify(values)),
  }
  const parts = { clock, random: systemRandom, secrets, log }
  return { ...temporary, folder, told, parts, shelf: openCertificateStore(folder, parts) }
}

describe.runIf(needs("pebble"))("an authority that issues certificates", () => {
  const challenges = new Map<string, string>()
  let pebble: Pebble
  let plain: ReturnType<typeof Bun.serve>
  const place = openStorage(systemClock)
  beforeAll(async () => {
    const port = await freePort()
    plain = Bun.serve({
      port,
      hostname: "127.0.0.1",
      fetch: (request) =>
        respondToChallenge(challenges, request) ?? new Response(null, { status: 421 }),
    })
    pebble = await startPebble({ httpPort: port })
  })
  afterAll(async () => {
    await pebble.stop()
    await plain.stop()
    place.remove()
  })

  test("issues one for each host; keys and account are encrypted; a restart orders none", async () => {
    const { directory, root } = pebble
    const config = parseConfig({
      flags: {
        "--tls": "acme",
        "--acme-directory": directory,
        "--acme-root": root,
        "--acme-terms": "agreed",
        "--acme-email": "ada@example.com",
        "--redirect-listen": ":80",
      },
      env: {},
      file: {},
    })
    const { shelf, parts, folder } = place
    const proof = createHttpChallenge(challenges)
    const issuer = createAcmeIssuer(config, { clock: systemClock, shelf, proof })
    const hosts = () => ["id.example.com", "login.example.org"]
    const own = await manageCertificates(parts, shelf, { issuer, hosts })
    expect(own.first).toHaveLength(1)
    const shown = await new Promise<readonly { names: readonly string[] }[]>((done) => {
      const keeping = own.keep((fresh) => void keeping.stop().then(() => done(fresh)))
    })
    expect(place.told.join()).not.toContain("said")
    expect(shown.map(({ names }) => names)).toEqual([["id.example.com"], ["login.example.org"]])
    expect(challenges.size).toBe(0)
    const text = readFileSync(folder.certificates, "utf8")
    expect(text).not.toMatch(/PRIVATE KEY|"d":/)
    const never: Issuer = { by: directory, issue: () => Promise.reject(new Error("asked")) }
    const again = openCertificateStore(folder, parts)
    const { first } = await manageCertificates(parts, again, { issuer: never, hosts })
    expect(first).toEqual(shown)
    const states = checkManagedCertificates(folder, config, Date.now()).map(({ state }) => state)
    expect(states).toEqual(["ok", "ok"])
    expect(
      checkManagedCertificates(folder, config, Date.now() + 9e12).map(({ state }) => state),
    ).toContain("wrong")
  })
})

describe.runIf(needs("pebble"))("an authority that validates by TLS", () => {
  const place = openStorage(systemClock)
  let stop: () => Promise<void>
  afterAll(async () => {
    await stop()
    place.remove()
  })

  test("issues one for each host, two concurrently, and validation certificates are removed", async () => {
    const { listener, show } = await startListener()
    const pebble = await startPebble({ tlsPort: listener.port })
    stop = async () => {
      await Promise.all([pebble.stop(), listener.stop()])
    }
    const { directory, root } = pebble
    const config = parseConfig({
      flags: {
        "--tls": "acme",
        "--acme-directory": directory,
        "--acme-root": root,
        "--acme-terms": "agreed",
        "--acme-challenge": "tls-alpn-01",
      },
      env: {},
      file: {},
    })
    const proof = { type: "tls-alpn-01", show } as const
    const { shelf } = place
    const issuer = createAcmeIssuer(config, { clock: systemClock, shelf, proof })
    const hosts = ["id.example.com", "login.example.org"]
    const issued = await Promise.all(hosts.map((host) => issuer.issue(host)))
    expect(issued.map(({ cert }) => new X509Certificate(cert).subjectAltName)).toEqual(
      hosts.map((host) => `DNS:${host}`),
    )
    expect(await validateHost(listener.port)).toBe("none")
    // Calls the HTTP challenge that it can't observe.
    const blind = { type: "tls-alpn-01", hint: "none", show: async () => () => {} } as const
    const unseen = createAcmeIssuer(config, { clock: systemClock, shelf, proof: blind })
    await expect(unseen.issue("id.example.com")).rejects.toThrow(
      /^the authority could not validate the name: .*acme-tls\/1.* \(none\)$/,
    )
  })
})

/** A fake authority; `answers` replaces its responses by step. */
async function fakeAuthority(
  answers: Readonly<Record<string, Partial<OutboundReply>>>,
  shownBy: (challenges: Map<string, string>) => AcmeChallenge = createHttpChallenge,
) {
  const base = "https://ca.example.com"
  const seen: string[] = []
  const usual: Readonly<Record<string, Partial<OutboundReply>>> = {
    directory: {
      body: JSON.stringify({
        newNonce: `${base}/nonce`,
        newAccount: `${base}/account`,
        newOrder: `${base}/order`,
      }),
    },
    nonce: { status: 204 },
    account: { status: 201, headers: { location: `${base}/account/1` } },
    order: {
      status: 201,
      headers: { location: `${base}/order-state` },
      body: JSON.stringify({
        status: "pending",
        authorizations: [`${base}/authorization`],
        finalize: `${base}/finalize`,
      }),
    },
    authorization: {
      body: JSON.stringify({
        status: "pending",
        challenges: [{ type: "http-01", url: `${base}/challenge`, token: "abc" }],
      }),
    },
    challenge: {},
  }
  const send = async ({ url }: OutboundRequest): Promise<OutboundReply> => {
    const step = url.slice(base.length + 1)
    seen.push(step)
    const answer = { ...usual[step], ...answers[step] }
    const headers = { "replay-nonce": "n", ...answer.headers }
    return { status: 200, body: "{}", ...answer, headers }
  }
  // Timers run immediately.
  const clock: Clock = { ...systemClock, after: (_, call) => systemClock.after(0, call) }
  const challenges = new Map<string, string>()
  const proof = shownBy(challenges)
  const key = await createAccountKey()
  const registration = { directory: `${base}/directory`, email: undefined, key, send }
  const outcome = await openAccount({ ...registration, now: clock.now })
    .then((account) => orderCertificate(account, { host: "id.example.com", clock, proof }))
    .catch((cause: unknown) => cause)
  return { outcome, seen, challenges }
}

const problem = (type: string, detail: string) =>
  JSON.stringify({ type: `urn:ietf:params:acme:error:${type}`, detail })
const rateLimited = problem("rateLimited", "too many\ncertificates")
const unauthorized = { type: "x", detail: "it said 404" }
const failedChallenge = JSON.stringify({
  status: "invalid",
  challenges: [
    { type: "http-01", url: "https://ca.example.com/c", token: "a", error: unauthorized },
  ],
})
const pendingAuthorization = (more: object) =>
  JSON.stringify({
    status: "pending",
    challenges: [{ type: "http-01", url: "https://ca.example.com/challenge", ...more }],
  })

describe("an authority that fails", () => {
  test.each<[string, Record<string, Partial<OutboundReply>>, string, string]>([
    [
      "down",
      { directory: { status: 503, body: "<html>" } },
      "acme.answer",
      "rejected the request (503",
    ],
    ["half a directory", { directory: { body: '{"newNonce":' } }, "acme.answer", "a directory"],
    [
      "an address in plain",
      {
        directory: {
          body: JSON.stringify({
            newNonce: "http://a/",
            newAccount: "https://a/",
            newOrder: "https://a/",
          }),
        },
      },
      ...(["acme.answer", "without https"] as const),
    ],
    [
      "rate limited",
      { order: { status: 429, body: rateLimited, headers: { "retry-after": "3600" } } },
      ...(["acme.rateLimited", "too many certificates"] as const),
    ],
    ["no place of the order", { order: { headers: {} } }, "acme.answer", "did not return its URL"],
    [
      "a nonce that is never right",
      { account: { status: 400, body: problem("badNonce", "") } },
      "acme.badNonce",
      "400",
    ],
    [
      "a wrong challenge",
      { authorization: { body: failedChallenge } },
      "acme.answer",
      "could not validate the name: it said 404",
    ],
    [
      "no challenge",
      { authorization: { body: '{"status":"pending","challenges":[]}' } },
      "acme.answer",
      "does not offer the challenge HTTP",
    ],
    [
      "a token that is a path",
      { authorization: { body: pendingAuthorization({ token: "../x" }) } },
      "acme.answer",
      "malformed token",
    ],
    [
      "other challenges alone",
      {
        authorization: {
          body: JSON.stringify({
            status: "pending",
            challenges: ["dns-01", "tls-alpn-01", "a\nb"].map((type) => ({
              type,
              url: "https://ca.example.com/challenge",
              token: "abc",
            })),
          }),
        },
      },
      "acme.answer",
      "does not offer the challenge HTTP (http-01), but dns-01, tls-alpn-01",
    ],
    ["no end", {}, "acme.late", "in time"],
  ])("%s", async (_, answers, id, words) => {
    const { outcome, challenges } = await fakeAuthority(answers)
    expect(outcome).toBeInstanceOf(Fault)
    expect(outcome).toMatchObject({ id, message: expect.stringContaining(words) })
    expect(challenges.size).toBe(0)
  })

  test.each([
    [
      { authorization: { body: pendingAuthorization({}) } },
      "does not offer the challenge TLS (tls-alpn-01), but http-01",
    ],
    [
      { authorization: { body: failedChallenge.replace("http-01", "tls-alpn-01") } },
      "could not validate the name: it said 404 (it comes to port 443)",
    ],
    [{ challenge: { status: 429, body: rateLimited } }, "too many certificates"],
  ])("fails by TLS as well, and no validation certificate remains: %#", async (answers, words) => {
    const pending = pendingAuthorization({ token: "abc" }).replace("http-01", "tls-alpn-01")
    const { outcome, challenges } = await fakeAuthority(
      { authorization: { body: pending }, ...answers },
      (map) => ({ ...createHttpChallenge(map), type: "tls-alpn-01", hint: "it comes to port 443" }),
    )
    expect(outcome).toMatchObject({ message: expect.stringContaining(words) })
    expect(challenges.size).toBe(0)
  })

  test("sets the time of the next attempt", async () => {
    const headers = { "retry-after": "3600" }
    const { outcome } = await fakeAuthority({ order: { status: 429, body: rateLimited, headers } })
    expect(outcome).toMatchObject({ retryAfterSeconds: 3600 })
  })

  test("gets a new nonce for a limited number of attempts (§6.5)", async () => {
    const body = problem("badNonce", "")
    const { seen } = await fakeAuthority({ account: { status: 400, body } })
    expect(seen.filter((step) => step === "account")).toHaveLength(5)
  })
})

describe("renewal", () => {
  const issued = async (clock: Clock, days: number): Promise<IssuedCertificate> => {
    const [from, ends] = [clock.now(), clock.now() + days * dayMs]
    return { ...(await createSelfSigned("id.example.com", { from, to: ends })), from, ends }
  }
  const later = async (clock: ReturnType<typeof manualClock>, ms: number) => {
    for (let round = 0; round < 20; round++) await new Promise((done) => setImmediate(done))
    clock.advance(ms)
    for (let round = 0; round < 20; round++) await new Promise((done) => setImmediate(done))
  }

  test("starts with a third of the lifetime left; failures back off; the old certificate stays in use", async () => {
    const clock = manualClock(Date.UTC(2026, 0, 1))
    const { shelf, parts, told, folder, remove } = openStorage(clock)
    const tries: number[] = []
    let isDown = false
    const began = clock.now()
    const issuer: Issuer = {
      by: "https://ca.example.com/",
      issue: async () => {
        tries.push(clock.now())
        if (isDown) throw new Fault("unavailable", "acme.unreachable", "no response")
        return issued(clock, 90)
      },
    }
    const shown: string[] = []
    const hosts = () => ["id.example.com"]
    const own = await manageCertificates(parts, shelf, { issuer, hosts })
    const keeping = own.keep(([certificate]) => void shown.push(certificate?.cert ?? ""))
    await expect.poll(() => shown.length).toBe(1)
    expect(tries).toHaveLength(1)
    isDown = true
    const days = async (count: number) => {
      await later(clock, count * dayMs)
      await later(clock, 10_000)
    }
    await days(56)
    expect(tries).toHaveLength(1)
    await days(5)
    await expect.poll(() => tries.length).toBe(2)
    expect(tries[1] ?? 0).toBeGreaterThan(began + 56 * dayMs)
    for (let minute = 0; minute < 60; minute++) await later(clock, 60_000)
    // Five, ten, and twenty minutes: Let's Encrypt allows five failures an hour.
    expect(tries.length).toBeLessThanOrEqual(5)
    expect(tries.length).toBeGreaterThanOrEqual(4)
    expect(shown).toHaveLength(1)
    expect(told.at(-1)).toContain("no response")
    const config = parseConfig({
      flags: {
        "--tls": "acme",
        "--acme-directory": issuer.by,
        "--acme-terms": "agreed",
        "--redirect-listen": ":80",
      },
      env: {},
      file: {},
    })
    const [finding] = checkManagedCertificates(folder, config, clock.now())
    expect(finding).toMatchObject({ state: "warning" })
    expect(finding?.said).toMatch(/valid for 2\d days, could not be renewed: no response/)
    const todoOf = (flags: Record<string, string>) => {
      const by = { "--acme-directory": issuer.by, "--acme-terms": "agreed", "--tls": "acme" }
      const read = parseConfig({ flags: { ...by, ...flags }, env: {}, file: {} })
      return {
        todo: checkManagedCertificates(folder, read, clock.now())[0]?.remedy,
        hint: portHint(read),
      }
    }
    expect(todoOf({ "--redirect-listen": ":80" }).todo).toContain(
      "forward port 80 to --redirect-listen;",
    )
    const byTls = { "--acme-challenge": "tls-alpn-01" }
    const usual = todoOf({ ...byTls, "--listen": ":443" })
    expect(usual.todo).toContain(
      "make the name resolve to this server, and forward port 443 to --listen; next attempt",
    )
    expect(usual.hint).toBeUndefined()
    const other = todoOf({ ...byTls, "--listen": ":8443" })
    expect(other.todo).toContain("port 443 to --listen, at port 8443; next attempt")
    expect(other.hint).toBe(
      "the authority connects to port 443, which must be forwarded to --listen, at port 8443",
    )
    isDown = false
    await days(1)
    await expect.poll(() => shown.length).toBe(2)
    expect(shelf.content().failures).toEqual([])
    await keeping.stop()
    remove()
  })

  test("waits for the authority's delay, even after a restart", async () => {
    const clock = manualClock(Date.UTC(2026, 0, 1))
    const { shelf, parts, folder, remove } = openStorage(clock)
    let tries = 0
    const issuer: Issuer = {
      by: "https://ca.example.com/",
      issue: async () => {
        tries++
        const options = { retryAfterSeconds: 90_000 }
        throw new Fault("unavailable", "acme.rateLimited", "too many", options)
      },
    }
    const hosts = () => ["id.example.com"]
    for (const start of [() => shelf, () => openCertificateStore(folder, parts)]) {
      const own = await manageCertificates(parts, start(), { issuer, hosts })
      const keeping = own.keep(() => undefined)
      await later(clock, 10_000)
      await later(clock, 3_600_000)
      await keeping.stop()
    }
    expect(tries).toBe(1)
    remove()
  })
})

test("a file of another data directory is rejected with a message", () => {
  const { folder, parts, remove } = openStorage(systemClock)
  writeFileSync(folder.certificates, "{")
  expect(() => openCertificateStore(folder, parts)).toThrow("move it away")
  remove()
})

test.each([
  ["id.example.com", true],
  ["localhost", false],
  ["192.168.1.2", false],
  ["[::1]", false],
  ["nas.local", false],
  ["auth.corp.internal", false],
])("whether a public authority issues certificates for %s: %s", (host, may) => {
  expect(isPublicName(host)).toBe(may)
})
