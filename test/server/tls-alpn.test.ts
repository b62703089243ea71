// Validation by TLS (RFC 8737): what an authority is shown, while people go on being answered.
import { createHash } from "node:crypto"
import "reflect-metadata"
import { X509Certificate } from "@peculiar/x509"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type Clock, manualClock, systemClock } from "../../src/kernel/clock.ts"
import { openRelay } from "../../src/server/edge/acme/relay.ts"
import { asked, certificateFor, listening, shownTo, validated } from "../support/tls-alpn.ts"
import { until } from "../support/wait.ts"

const [one, two] = ["id.example.com", "login.example.org"]
const acme = ["acme-tls/1"]

describe("while a host is validated", () => {
  const clock = manualClock(Date.now())
  let place: Awaited<ReturnType<typeof listening>>
  let port: number
  beforeAll(async () => {
    place = await listening(clock)
    port = place.listener.port
  })
  afterAll(() => place.listener.stop())
  const show = (host: string, authorization = "a.b") =>
    place.show({ host, token: "a", authorization })
  const over = (end: () => void) => {
    end()
    clock.advance(3000)
  }

  test("it is shown the host and the hash of the authorization (RFC 8737 §3)", async () => {
    expect(await validated(port)).toBe("none")
    const end = await show(one, "token.thumbprint")
    const shown = await shownTo({ port, host: "ID.example.com", protocols: acme })
    expect(shown?.protocol).toBe("acme-tls/1")
    expect(shown?.certificate.subjectAltName).toBe(`DNS:${one}`)
    expect(shown?.certificate.checkIssued(shown.certificate)).toBe(true)
    const read = new X509Certificate(shown?.certificate.toString() ?? "")
    const identifier = read.getExtension("1.3.6.1.5.5.7.1.31")
    expect(identifier?.critical).toBe(true)
    const hash = createHash("sha256").update("token.thumbprint").digest("hex")
    expect(Buffer.from(identifier?.value ?? new ArrayBuffer()).toString("hex")).toBe(`0420${hash}`)
    over(end)
    expect(await validated(port)).toBe("none")
  })

  test("everybody else comes to the listener", async () => {
    const end = await show(one)
    const others = [
      { host: two, protocols: acme },
      { protocols: acme },
      { host: one },
      { host: one, protocols: ["http/1.1"] },
      { host: one, protocols: [...acme, "http/1.1"] },
    ]
    for (const other of others) {
      const shown = await shownTo({ port, ...other })
      expect(shown?.certificate.subjectAltName).toBe("DNS:listener.example.com")
    }
    over(end)
  })

  test("addresses stay true, and nobody is left without an answer", async () => {
    const from = "127.0.0.5"
    const { slow } = place
    const begun = asked(port, "/slow", from)
    await until(() => slow.arrived() === 1)
    const end = await show(one)
    expect(await asked(port, "/", from)).toBe(from)
    expect(await asked(port)).toBe("127.0.0.1")
    const going = asked(port, "/slow", from)
    await until(() => slow.arrived() === 2)
    over(end)
    expect(await asked(port, "/", from)).toBe(from)
    slow.release()
    expect([await begun, await going]).toEqual([from, from])
  })

  test("two hosts may be, at once", async () => {
    const ends = await Promise.all([show(one), show(two)])
    expect([await validated(port, one), await validated(port, two)]).toEqual([...acme, ...acme])
    ends[0]?.()
    expect([await validated(port, one), await validated(port, two)]).toEqual(["none", ...acme])
    over(() => ends[1]?.())
    expect([await validated(port, one), await validated(port, two)]).toEqual(["none", "none"])
  })

  test("a host may be twice, and what is shown is the later", async () => {
    const first = await show(one, "1")
    const second = await show(one, "2")
    first()
    expect(await validated(port)).toBe("acme-tls/1")
    over(second)
    expect(await validated(port)).toBe("none")
    expect(await asked(port)).toBe("127.0.0.1")
  })

  test("what is sent and answered is whole", async () => {
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

  test("the port changes hands once for what comes soon after: a host, a certificate", async () => {
    const before = place.steps()
    const first = await show(one)
    first()
    clock.advance(2000)
    const second = await show(two)
    clock.advance(2000)
    expect([await validated(port, one), await validated(port, two)]).toEqual(["none", ...acme])
    second()
    place.listener.present([await certificateFor("renewed.example.com")])
    expect(place.steps()).toBe(before + 1)
    clock.advance(3000)
    const shown = await shownTo({ port, host: one })
    expect(shown?.certificate.subjectAltName).toBe("DNS:renewed.example.com")
  })
})

describe("a listener that steps behind another", () => {
  const validations = new Map<string, number>()
  const ground = { clock: systemClock, validations }
  const noneLost = (cause: unknown) => {
    throw cause
  }

  test("answers nobody there who was not passed on", async () => {
    const { listener } = await listening()
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
      listener.stepBehind(() => ({ peerAt: () => "", stop: () => {} }), noneLost),
    ).toThrow()
    back()
    await listener.stop()
  })

  test("serves as before where the other one can't listen", async () => {
    const { listener } = await listening()
    const taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } })
    const elsewhere = { host: "127.0.0.1", port: taken.port }
    const attempt = () =>
      listener.stepBehind((_, port) => openRelay(ground, elsewhere, port), noneLost)
    expect(attempt).toThrow(`nothing could listen at 127.0.0.1:${taken.port}`)
    expect(await asked(listener.port)).toBe("127.0.0.1")
    taken.stop()
    attempt()()
    expect(await asked(listener.port)).toBe("127.0.0.1")
    await listener.stop()
  })

  test("comes back once a program that took its port has gone", async () => {
    let timers = 0
    const after: Clock["after"] = (...how) => {
      timers++
      return systemClock.after(...how)
    }
    const { listener } = await listening(systemClock, { ...systemClock, after })
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
    // One for the connections that were passed on, the others for tries.
    await until(() => timers >= 4)
    expect(told).toEqual([expect.stringContaining("another program already listens")])
    listener.present([await certificateFor("renewed.example.com")])
    thief?.stop()
    await expect.poll(() => asked(listener.port).catch(() => "")).toBe("127.0.0.1")
    const shown = await shownTo({ port: listener.port })
    expect(shown?.certificate.subjectAltName).toBe("DNS:renewed.example.com")
    // However often it was tried.
    expect(told).toHaveLength(1)
    await listener.stop()
  })

  test("may stop there, and leaves its port to others", async () => {
    const { listener, show, slow } = await listening()
    const end = await show({ host: one, token: "a", authorization: "a.b" })
    const going = asked(listener.port, "/slow")
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
