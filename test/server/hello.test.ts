// What is read of a ClientHello before anybody is trusted with the rest of it.
import { beforeAll, describe, expect, test } from "vitest"
import { helloBytesMax, helloIn } from "../../src/server/edge/acme/hello.ts"
import { helloOf } from "../support/hello.ts"

const asked = { host: "id.example.com", protocols: ["acme-tls/1"] }

/** The same message in records of so many bytes each (RFC 8446 §5.1). */
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
    whole = await helloOf({ servername: "ID.example.com", protocols: ["acme-tls/1"] })
  })

  test("tells host and protocols", async () => {
    expect(helloIn(whole)).toEqual(asked)
    const other = await helloOf({ servername: "b.example.org", protocols: ["h2", "http/1.1"] })
    expect(helloIn(other)).toEqual({ host: "b.example.org", protocols: ["h2", "http/1.1"] })
    const neither = await helloOf({})
    expect(helloIn(neither)).toEqual({ host: undefined, protocols: [] })
  })

  test("is waited for as long as it has not come to its end, wherever it is cut", () => {
    for (let length = 0; length < whole.length; length++) {
      expect(helloIn(whole.subarray(0, length))).toBe("more")
    }
    // What follows is not looked at.
    expect(helloIn(Buffer.concat([whole, inRecords(whole, 100)]))).toEqual(asked)
  })

  test.each([2, 7, 100])("may come in records of %i bytes", (size) => {
    const cut = inRecords(whole, size)
    expect(helloIn(cut)).toEqual(asked)
    expect(helloIn(cut.subarray(0, -1))).toBe("more")
  })

  test("has an end: more than the most is none", () => {
    const claimed = Buffer.from(whole)
    claimed.writeUIntBE(helloBytesMax, 6, 3)
    expect(helloIn(claimed)).toBeUndefined()
    // Records of a byte each bring so little that the limit comes first.
    const long = Buffer.concat([whole.subarray(5), Buffer.alloc(4000)])
    long.writeUIntBE(long.length - 4, 1, 3)
    const slow = inRecords(Buffer.concat([Buffer.alloc(5), long]), 1)
    expect(helloIn(slow.subarray(0, helloBytesMax - 1))).toBe("more")
    expect(helloIn(slow.subarray(0, helloBytesMax))).toBeUndefined()
  })

  test.each([
    ["HTTP", Buffer.from("GET / HTTP/1.1\r\n\r\n")],
    ["one byte of something else", Buffer.from([0x80])],
    ["an alert", Buffer.from([21, 3, 1, 0, 2, 2, 40])],
    ["another version", Buffer.from([22, 2, 0, 0, 1, 1])],
    ["an empty record", Buffer.from([22, 3, 1, 0, 0])],
    ["a record that is too long", Buffer.from([22, 3, 1, 0x40, 1, 1])],
    ["another message", Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])],
    ["nothing in it", Buffer.from([22, 3, 1, 0, 4, 1, 0, 0, 0])],
  ])("%s is none", (_, bytes) => {
    expect(helloIn(bytes)).toBeUndefined()
  })

  test("whose lengths lead astray is none, and nothing breaks", () => {
    const outcomes = new Set<string>()
    for (let at = 5; at < whole.length; at++) {
      for (const value of [0, 1, 0x7f, 0xff]) {
        const bent = Buffer.from(whole)
        bent[at] = value
        const read = helloIn(bent)
        outcomes.add(typeof read === "object" ? "hello" : String(read))
      }
    }
    expect([...outcomes].sort()).toEqual(["hello", "more", "undefined"])
  })

  test("of before there were extensions asks for nothing", () => {
    const body = Buffer.concat([
      Buffer.from([3, 1]),
      Buffer.alloc(32),
      // No session, one cipher suite, no compression.
      Buffer.from([0, 0, 2, 0, 0x2f, 1, 0]),
    ])
    const head = Buffer.from([22, 3, 1, 0, body.length + 4, 1, 0, 0, body.length])
    const none = { host: undefined, protocols: [] }
    expect(helloIn(Buffer.concat([head, body]))).toEqual(none)
  })
})
