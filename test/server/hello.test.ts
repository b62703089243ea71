// Parsing of a ClientHello before the connection is passed on.
import { beforeAll, describe, expect, test } from "vitest"
import { helloBytesMax, parseClientHello } from "../../src/server/edge/acme/client-hello.ts"
import { createClientHello } from "../support/client-hello.ts"

const requested = { host: "id.example.com", protocols: ["acme-tls/1"] }

/** The same message in records of the given size in bytes (RFC 8446 §5.1). */
function inRecords(whole: Buffer, size: number): Buffer {
  const message = whole.subarray(5)
  const parts: Buffer[] = []
  for (let at = 0; at < message.length; at += size) {
    const part = message.subarray(at, at + size)
    parts.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 0xff]), part)
  }
  return Buffer.concat(parts)
}

describe("a ClientHello", () => {
  let whole: Buffer
  beforeAll(async () => {
    whole = await createClientHello({ servername: "ID.example.com", protocols: ["acme-tls/1"] })
  })

  test("contains host and protocols", async () => {
    expect(parseClientHello(whole)).toEqual(requested)
    const other = await createClientHello({
      servername: "b.example.org",
      protocols: ["h2", "http/1.1"],
    })
    expect(parseClientHello(other)).toEqual({
      host: "b.example.org",
      protocols: ["h2", "http/1.1"],
    })
    const neither = await createClientHello({})
    expect(parseClientHello(neither)).toEqual({ host: undefined, protocols: [] })
  })

  test("is incomplete until its end, wherever it is cut", () => {
    for (let length = 0; length < whole.length; length++) {
      expect(parseClientHello(whole.subarray(0, length))).toBe("more")
    }
    // Data after the message is ignored.
    expect(parseClientHello(Buffer.concat([whole, inRecords(whole, 100)]))).toEqual(requested)
  })

  test.each([2, 7, 100])("can consist of records of %i bytes", (size) => {
    const cut = inRecords(whole, size)
    expect(parseClientHello(cut)).toEqual(requested)
    expect(parseClientHello(cut.subarray(0, -1))).toBe("more")
  })

  test("is limited: a longer one is rejected", () => {
    const claimed = Buffer.from(whole)
    claimed.writeUIntBE(helloBytesMax, 6, 3)
    expect(parseClientHello(claimed)).toBeUndefined()
    // Records of one byte each reach the limit first.
    const long = Buffer.concat([whole.subarray(5), Buffer.alloc(4000)])
    long.writeUIntBE(long.length - 4, 1, 3)
    const slow = inRecords(Buffer.concat([Buffer.alloc(5), long]), 1)
    expect(parseClientHello(slow.subarray(0, helloBytesMax - 1))).toBe("more")
    expect(parseClientHello(slow.subarray(0, helloBytesMax))).toBeUndefined()
  })

  test.each([
    ["HTTP", Buffer.from("GET / HTTP/1.1\r\n\r\n")],
    ["one byte of another resource", Buffer.from([0x80])],
    ["an alert", Buffer.from([21, 3, 1, 0, 2, 2, 40])],
    ["another version", Buffer.from([22, 2, 0, 0, 1, 1])],
    ["an empty record", Buffer.from([22, 3, 1, 0, 0])],
    ["a record that is too long", Buffer.from([22, 3, 1, 0x40, 1, 1])],
    ["another message", Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])],
    ["nothing in it", Buffer.from([22, 3, 1, 0, 4, 1, 0, 0, 0])],
  ])("rejects %s", (_, bytes) => {
    expect(parseClientHello(bytes)).toBeUndefined()
  })

  test("with invalid lengths is rejected without a fault", () => {
    const outcomes = new Set<string>()
    for (let at = 5; at < whole.length; at++) {
      for (const value of [0, 1, 0x7f, 0xff]) {
        const bent = Buffer.from(whole)
        bent[at] = value
        const read = parseClientHello(bent)
        outcomes.add(typeof read === "object" ? "hello" : String(read))
      }
    }
    expect([...outcomes].sort()).toEqual(["hello", "more", "undefined"])
  })

  test("without extensions requests nothing", () => {
    const body = Buffer.concat([
      Buffer.from([3, 1]),
      Buffer.alloc(32),
      // No session, one cipher suite, no compression.
      Buffer.from([0, 0, 2, 0, 0x2f, 1, 0]),
    ])
    const head = Buffer.from([22, 3, 1, 0, body.length + 4, 1, 0, 0, body.length])
    const none = { host: undefined, protocols: [] }
    expect(parseClientHello(Buffer.concat([head, body]))).toEqual(none)
  })
})
