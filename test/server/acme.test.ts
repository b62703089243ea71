// Certificates of an authority (RFC 8555): with a real one, and with one that has bad days.
import { X509Certificate } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { checkKept } from "../../src/boot/doctor/certificate.ts"
import { portHint } from "../../src/boot/edge/kept.ts"
import { folderAt } from "../../src/boot/folder/folder.ts"
import { type Clock, manualClock, systemClock } from "../../src/kernel/clock.ts"
import { configOf } from "../../src/kernel/config.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { createDataKey, purposes, secretsOf } from "../../src/kernel/crypto/secret.ts"
import { Fault } from "../../src/kernel/fault.ts"
import type { OutboundReply, OutboundRequest } from "../../src/kernel/port/outbound.ts"
import { accountOf, createAccountKey } from "../../src/server/edge/acme/account.ts"
import { answeredPlain, httpProof, type Proof } from "../../src/server/edge/acme/challenge.ts"
import { acmeIssuer, isPublicName } from "../../src/server/edge/acme/issuer.ts"
import { orderCertificate } from "../../src/server/edge/acme/order.ts"
import {
  type Issued,
  type Issuer,
  openShelf,
  ownCertificates,
} from "../../src/server/edge/own-certificates.ts"
import { createStandIn } from "../../src/server/edge/x509.ts"
import { freePort, temporaryFolder } from "../support/latchkey.ts"
import { type Pebble, startPebble } from "../support/pebble.ts"
import { needs } from "../support/prerequisite.ts"
import { listening, validated } from "../support/tls-alpn.ts"

const dayMs = 86_400_000
const master = systemRandom.bytes(32)
const keys = purposes.map((each) => ({
  ...createDataKey(systemRandom, new Uint8Array(master), each),
  active: true,
}))
const secrets = secretsOf(systemRandom, new Uint8Array(master), keys)

/** Everything that keeps certificates, in a folder of its own. */
function estate(clock: Clock) {
  const temporary = temporaryFolder()
  const folder = folderAt(temporary.path)
  const told: string[] = []
  const log = {
    error: (_: string, values: object) => told.push(JSON.stringify(values)),
    info: (_: string, values: object) => told.push(JSON.stringify(values)),
  }
  const parts = { clock, random: systemRandom, secrets, log }
  return { ...temporary, folder, told, parts, shelf: openShelf(folder, parts) }
}

describe.runIf(needs("pebble"))("an authority that gives certificates", () => {
  const challenges = new Map<string, string>()
  let pebble: Pebble
  let plain: ReturnType<typeof Bun.serve>
  const place = estate(systemClock)
  beforeAll(async () => {
    const port = await freePort()
    plain = Bun.serve({
      port,
      hostname: "127.0.0.1",
      fetch: (request) => answeredPlain(challenges, request) ?? new Response(null, { status: 421 }),
    })
    pebble = await startPebble({ httpPort: port })
  })
  afterAll(async () => {
    await pebble.stop()
    await plain.stop()
    place.remove()
  })

  test("gives one for each host; keys and account are sealed; a restart asks nobody", async () => {
    const { directory, root } = pebble
    const config = configOf({
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
    const proof = httpProof(challenges)
    const issuer = acmeIssuer(config, { clock: systemClock, shelf, proof })
    const hosts = () => ["id.example.com", "login.example.org"]
    const own = await ownCertificates(parts, shelf, { issuer, hosts })
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
    const again = openShelf(folder, parts)
    const { first } = await ownCertificates(parts, again, { issuer: never, hosts })
    expect(first).toEqual(shown)
    const states = checkKept(folder, config, Date.now()).map(({ state }) => state)
    expect(states).toEqual(["ok", "ok"])
    expect(checkKept(folder, config, Date.now() + 9e12).map(({ state }) => state)).toContain(
      "wrong",
    )
  })
})

describe.runIf(needs("pebble"))("an authority that looks by TLS", () => {
  const place = estate(systemClock)
  let stop: () => Promise<void>
  afterAll(async () => {
    await stop()
    place.remove()
  })

  test("gives one for each host, two at once, and is shown nothing afterwards", async () => {
    const { listener, show } = await listening()
    const pebble = await startPebble({ tlsPort: listener.port })
    stop = async () => {
      await Promise.all([pebble.stop(), listener.stop()])
    }
    const { directory, root } = pebble
    const config = configOf({
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
    const issuer = acmeIssuer(config, { clock: systemClock, shelf, proof })
    const hosts = ["id.example.com", "login.example.org"]
    const issued = await Promise.all(hosts.map((host) => issuer.issue(host)))
    expect(issued.map(({ cert }) => new X509Certificate(cert).subjectAltName)).toEqual(
      hosts.map((host) => `DNS:${host}`),
    )
    expect(await validated(listener.port)).toBe("none")
    // What it does not see, it says.
    const blind = { type: "tls-alpn-01", hint: "as told", show: async () => () => {} } as const
    const unseen = acmeIssuer(config, { clock: systemClock, shelf, proof: blind })
    await expect(unseen.issue("id.example.com")).rejects.toThrow(
      /^the authority could not see that the name leads here: .*acme-tls\/1.* \(as told\)$/,
    )
  })
})

/** An authority in memory: `answers` says what it answers otherwise than it should, by step. */
async function authority(
  answers: Readonly<Record<string, Partial<OutboundReply>>>,
  shownBy: (challenges: Map<string, string>) => Proof = httpProof,
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
  // Nobody has the time to wait here.
  const clock: Clock = { ...systemClock, after: (_, call) => systemClock.after(0, call) }
  const challenges = new Map<string, string>()
  const proof = shownBy(challenges)
  const key = await createAccountKey()
  const registration = { directory: `${base}/directory`, email: undefined, key, send }
  const outcome = await accountOf({ ...registration, now: clock.now })
    .then((account) => orderCertificate(account, { host: "id.example.com", clock, proof }))
    .catch((cause: unknown) => cause)
  return { outcome, seen, challenges }
}

const problem = (type: string, detail: string) =>
  JSON.stringify({ type: `urn:ietf:params:acme:error:${type}`, detail })
const limited = problem("rateLimited", "too many\ncertificates")
const unauthorized = { type: "x", detail: "it said 404" }
const failedChallenge = JSON.stringify({
  status: "invalid",
  challenges: [
    { type: "http-01", url: "https://ca.example.com/c", token: "a", error: unauthorized },
  ],
})
const offered = (more: object) =>
  JSON.stringify({
    status: "pending",
    challenges: [{ type: "http-01", url: "https://ca.example.com/challenge", ...more }],
  })

describe("an authority on a bad day", () => {
  test.each<[string, Record<string, Partial<OutboundReply>>, string, string]>([
    ["down", { directory: { status: 503, body: "<html>" } }, "acme.answer", "refused (503"],
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
      { order: { status: 429, body: limited, headers: { "retry-after": "3600" } } },
      ...(["acme.rateLimited", "too many certificates"] as const),
    ],
    ["no place of the order", { order: { headers: {} } }, "acme.answer", "does not say which"],
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
      "that the name leads here: it said 404",
    ],
    [
      "no challenge",
      { authorization: { body: '{"status":"pending","challenges":[]}' } },
      "acme.answer",
      "no proof by HTTP",
    ],
    [
      "a token that is a path",
      { authorization: { body: offered({ token: "../x" }) } },
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
      "no proof by HTTP (http-01), but dns-01, tls-alpn-01",
    ],
    ["no end", {}, "acme.late", "in time"],
  ])("%s", async (_, answers, id, words) => {
    const { outcome, challenges } = await authority(answers)
    expect(outcome).toBeInstanceOf(Fault)
    expect(outcome).toMatchObject({ id, message: expect.stringContaining(words) })
    expect(challenges.size).toBe(0)
  })

  test.each([
    [{ authorization: { body: offered({}) } }, "no proof by TLS (tls-alpn-01), but http-01"],
    [
      { authorization: { body: failedChallenge.replace("http-01", "tls-alpn-01") } },
      "that the name leads here: it said 404 (it comes to port 443)",
    ],
    [{ challenge: { status: 429, body: limited } }, "too many certificates"],
  ])("by TLS it is told as well, and nothing stays shown: %#", async (answers, words) => {
    const pending = offered({ token: "abc" }).replace("http-01", "tls-alpn-01")
    const { outcome, challenges } = await authority(
      { authorization: { body: pending }, ...answers },
      (map) => ({ ...httpProof(map), type: "tls-alpn-01", hint: "it comes to port 443" }),
    )
    expect(outcome).toMatchObject({ message: expect.stringContaining(words) })
    expect(challenges.size).toBe(0)
  })

  test("says itself when to come again", async () => {
    const headers = { "retry-after": "3600" }
    const { outcome } = await authority({ order: { status: 429, body: limited, headers } })
    expect(outcome).toMatchObject({ retryAfterSeconds: 3600 })
  })

  test("is given another nonce, and not for ever (§6.5)", async () => {
    const body = problem("badNonce", "")
    const { seen } = await authority({ account: { status: 400, body } })
    expect(seen.filter((step) => step === "account")).toHaveLength(5)
  })
})

describe("renewal", () => {
  const issued = async (clock: Clock, days: number): Promise<Issued> => {
    const [from, ends] = [clock.now(), clock.now() + days * dayMs]
    return { ...(await createStandIn("id.example.com", { from, to: ends })), from, ends }
  }
  const later = async (clock: ReturnType<typeof manualClock>, ms: number) => {
    for (let round = 0; round < 20; round++) await new Promise((done) => setImmediate(done))
    clock.advance(ms)
    for (let round = 0; round < 20; round++) await new Promise((done) => setImmediate(done))
  }

  test("comes with a third of life left; failures back off; the old one serves on", async () => {
    const clock = manualClock(Date.UTC(2026, 0, 1))
    const { shelf, parts, told, folder, remove } = estate(clock)
    const tries: number[] = []
    let isDown = false
    const began = clock.now()
    const issuer: Issuer = {
      by: "https://ca.example.com/",
      issue: async () => {
        tries.push(clock.now())
        if (isDown) throw new Fault("unavailable", "acme.unreachable", "nobody answers")
        return issued(clock, 90)
      },
    }
    const shown: string[] = []
    const hosts = () => ["id.example.com"]
    const own = await ownCertificates(parts, shelf, { issuer, hosts })
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
    // Five minutes, ten, twenty: Let's Encrypt allows five failures in an hour.
    expect(tries.length).toBeLessThanOrEqual(5)
    expect(tries.length).toBeGreaterThanOrEqual(4)
    expect(shown).toHaveLength(1)
    expect(told.at(-1)).toContain("nobody answers")
    const config = configOf({
      flags: {
        "--tls": "acme",
        "--acme-directory": issuer.by,
        "--acme-terms": "agreed",
        "--redirect-listen": ":80",
      },
      env: {},
      file: {},
    })
    const [finding] = checkKept(folder, config, clock.now())
    expect(finding).toMatchObject({ state: "warning" })
    expect(finding?.said).toMatch(/good for 2\d days, is not renewed: nobody answers/)
    const todoOf = (flags: Record<string, string>) => {
      const by = { "--acme-directory": issuer.by, "--acme-terms": "agreed", "--tls": "acme" }
      const read = configOf({ flags: { ...by, ...flags }, env: {}, file: {} })
      return { todo: checkKept(folder, read, clock.now())[0]?.remedy, hint: portHint(read) }
    }
    expect(todoOf({ "--redirect-listen": ":80" }).todo).toContain("port 80 to --redirect-listen;")
    const byTls = { "--acme-challenge": "tls-alpn-01" }
    const usual = todoOf({ ...byTls, "--listen": ":443" })
    expect(usual.todo).toContain("have the name lead here, and port 443 to --listen; next try")
    expect(usual.hint).toBeUndefined()
    const other = todoOf({ ...byTls, "--listen": ":8443" })
    expect(other.todo).toContain("port 443 to --listen, at port 8443; next try")
    expect(other.hint).toBe("it comes to port 443, which must lead to --listen, at port 8443")
    isDown = false
    await days(1)
    await expect.poll(() => shown.length).toBe(2)
    expect(shelf.kept().failures).toEqual([])
    await keeping.stop()
    remove()
  })

  test("waits as long as the authority wants, and over a restart", async () => {
    const clock = manualClock(Date.UTC(2026, 0, 1))
    const { shelf, parts, folder, remove } = estate(clock)
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
    for (const start of [() => shelf, () => openShelf(folder, parts)]) {
      const own = await ownCertificates(parts, start(), { issuer, hosts })
      const keeping = own.keep(() => undefined)
      await later(clock, 10_000)
      await later(clock, 3_600_000)
      await keeping.stop()
    }
    expect(tries).toBe(1)
    remove()
  })
})

test("a file of other data is refused, in words", () => {
  const { folder, parts, remove } = estate(systemClock)
  writeFileSync(folder.certificates, "{")
  expect(() => openShelf(folder, parts)).toThrow("move it away")
  remove()
})

test.each([
  ["id.example.com", true],
  ["localhost", false],
  ["192.168.1.2", false],
  ["[::1]", false],
  ["nas.local", false],
  ["auth.corp.internal", false],
])("whether a public authority speaks for %s: %s", (host, may) => {
  expect(isPublicName(host)).toBe(may)
})
