// Validation by TLS-ALPN (RFC 8737): the authority's view, while clients are served.
import { createHash } from "node:crypto"
import "reflect-metadata"
import { X509Certificate } from "@peculiar/x509"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type Clock, manualClock, systemClock } from "../../src/kernel/clock.ts"
import { openRelay } from "../../src/server/edge/acme/relay.ts"
import {
  certificateFor,
  handshake,
  requestOnce,
  startListener,
  validateHost,
} from "../support/tls-alpn.ts"
import { until } from "../support/wait.ts"

const [one, two] = ["id.example.com", "login.example.org"]
const acme = ["acme-tls/1"]

describe("while a host is validated", () => {
  const clock = manualClock(Date.now())
  let place: Awaited<ReturnType<typeof startListener>>
  let port: number
  beforeAll(async () => {
    place = await startListener(clock)
    port = place.listener.port
  })
  afterAll(() => place.listener.stop())
  const show = (host: string, authorization = "a.b") =>
    place.show({ host, token: "a", authorization })
  const over = (end: () => void) => {
    end()
    clock.advance(3000)
  }

  test("presents the host and the hash of the authorization (RFC 8737 §3)", async () => {
    expect(await validateHost(port)).toBe("none")
    const end = await show(one, "token.thumbprint")
    const shown = await handshake({ port, host: "ID.example.com", protocols: acme })
    expect(shown?.protocol).toBe("acme-tls/1")
    expect(shown?.certificate.subjectAltName).toBe(`DNS:${one}`)
    expect(shown?.certificate.checkIssued(shown.certificate)).toBe(true)
    const read = new X509Certificate(shown?.certificate.toString() ?? "")
    const identifier = read.getExtension("1.3.6.1.5.5.7.1.31")
    expect(identifier?.critical).toBe(true)
    const hash = createHash("sha256").update("token.thumbprint").digest("hex")
    expect(Buffer.from(identifier?.value ?? new ArrayBuffer()).toString("hex")).toBe(`0420${hash}`)
    over(end)
    expect(await validateHost(port)).toBe("none")
  })

  test("passes all other clients to the listener", async () => {
    const end = await show(one)
    const others = [
      { host: two, protocols: acme },
      { protocols: acme },
      { host: one },
      { host: one, protocols: ["http/1.1"] },
      { host: one, protocols: [...acme, "http/1.1"] },
    ]
    for (const other of others) {
      const shown = await handshake({ port, ...other })
      expect(shown?.certificate.subjectAltName).toBe("DNS:listener.example.com")
    }
    over(end)
  })

  test("keeps client addresses, and answers every client", async () => {
    const from = "127.0.0.5"
    const { slow } = place
    const begun = requestOnce(port, "/slow", from)
    await until(() => slow.arrived() === 1)
    const end = await show(one)
    expect(await requestOnce(port, "/", from)).toBe(from)
    expect(await requestOnce(port)).toBe("127.0.0.1")
    const going = requestOnce(port, "/slow", from)
    await until(() => slow.arrived() === 2)
    over(end)
    expect(await requestOnce(port, "/", from)).toBe(from)
    slow.release()
    expect([await begun, await going]).toEqual([from, from])
  })

  test("validates two hosts at once", async () => {
    const ends = await Promise.all([show(one), show(two)])
    expect([await validateHost(port, one), await validateHost(port, two)]).toEqual([
      ...acme,
      ...acme,
    ])
    ends[0]?.()
    expect([await validateHost(port, one), await validateHost(port, two)]).toEqual([
      "none",
      ...acme,
    ])
    over(() => ends[1]?.())
    expect([await validateHost(port, one), await validateHost(port, two)]).toEqual(["none", "none"])
  })

  test("validates a host twice, and presents the later certificate", async () => {
    const first = await show(one, "1")
    const second = await show(one, "2")
    first()
    expect(await validateHost(port)).toBe("acme-tls/1")
    over(second)
    expect(await validateHost(port)).toBe("none")
    expect(await requestOnce(port)).toBe("127.0.0.1")
  })

  test("transfers requests and responses completely", async () => {
    const end = await show(one)
    const body = Buffer.alloc(8_000_000, "latchkey")
    const answer = await fetch(`https://127.0.0.1:${port}/`, {
      method: "POST",
      body,
      tls: { rejectUnauthorized: false },
    })
    expect(Buffer.from(await answer.arrayBuffer()).equals(body)).toBe(true)
    over(end)
  })

  test("replaces the listener once for consecutive changes: a host, a certificate", async () => {
    const before = place.steps()
    const first = await show(one)
    first()
    clock.advance(2000)
    const second = await show(two)
    clock.advance(2000)
    expect([await validateHost(port, one), await validateHost(port, two)]).toEqual([
      "none",
      ...acme,
    ])
    second()
    place.listener.setCertificates([await certificateFor("renewed.example.com")])
    expect(place.steps()).toBe(before + 1)
    clock.advance(3000)
    const shown = await handshake({ port, host: one })
    expect(shown?.certificate.subjectAltName).toBe("DNS:renewed.example.com")
  })
})

describe("a listener that moves behind another one", () => {
  const validations = new Map<string, number>()
  const ground = { clock: systemClock, validations }
  const noneLost = (cause: unknown) => {
    throw cause
  }

  test("serves only connections that were passed on", async () => {
    const { listener } = await startListener()
    let inner = 0
    const back = listener.stepBehind((at, port) => {
      inner = port
      return openRelay(ground, at, port)
    }, noneLost)
    const answer = await fetch(`https://127.0.0.1:${inner}/`, {
      tls: { rejectUnauthorized: false },
    })
    expect(answer.status).toBe(421)
    expect(() =>
      listener.stepBehind(() => ({ peerOfPort: () => "", stop: () => {} }), noneLost),
    ).toThrow()
    back()
    await listener.stop()
  })

  test("serves as before if the other one can't listen", async () => {
    const { listener } = await startListener()
    const taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } })
    const elsewhere = { host: "127.0.0.1", port: taken.port }
    const attempt = () =>
      listener.stepBehind((_, port) => openRelay(ground, elsewhere, port), noneLost)
    expect(attempt).toThrow(`could not listen on 127.0.0.1:${taken.port} for the validation`)
    expect(await requestOnce(listener.port)).toBe("127.0.0.1")
    taken.stop()
    attempt()()
    expect(await requestOnce(listener.port)).toBe("127.0.0.1")
    await listener.stop()
  })

  test("returns once a program that took its port is gone", async () => {
    let timers = 0
    const after: Clock["after"] = (...options) => {
      timers++
      return systemClock.after(...options)
    }
    const { listener } = await startListener(systemClock, { ...systemClock, after })
    const told: string[] = []
    const lost = (cause: unknown) => told.push(String(cause))
    let thief: { readonly stop: () => void } | undefined
    const back = listener.stepBehind((at, port) => {
      const relay = openRelay(ground, at, port)
      const stop = () => {
        relay.stop()
        thief = Bun.listen({ hostname: at.host, port: at.port, socket: { data() {} } })
      }
      return { ...relay, stop }
    }, lost)
    back()
    // One for the passed on connections, the others for attempts.
    await until(() => timers >= 4)
    expect(told).toEqual([expect.stringContaining("another program already listens")])
    listener.setCertificates([await certificateFor("renewed.example.com")])
    thief?.stop()
    await expect.poll(() => requestOnce(listener.port).catch(() => "")).toBe("127.0.0.1")
    const shown = await handshake({ port: listener.port })
    expect(shown?.certificate.subjectAltName).toBe("DNS:renewed.example.com")
    // However often it was tried.
    expect(told).toHaveLength(1)
    await listener.stop()
  })

  test("can stop there and release its port", async () => {
    const { listener, show, slow } = await startListener()
    const end = await show({ host: one, token: "a", authorization: "a.b" })
    const going = requestOnce(listener.port, "/slow")
    await until(() => slow.arrived() === 1)
    const stopped = listener.stop()
    slow.release()
    await stopped
    expect(await going).toBe("127.0.0.1")
    end()
    const other = Bun.listen({
      hostname: "127.0.0.1",
      port: listener.port,
      socket: { data() {} },
    })
    other.stop()
  })
})
