import { connect } from "node:net"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { readBytes, readForm } from "../../src/protocol/body.ts"
import { pause } from "../support/wait.ts"

const max = 10
let server: ReturnType<typeof Bun.serve>
beforeAll(() => {
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const bytes = await readBytes(request, max)
      return new Response(`read ${bytes && Buffer.from(bytes).toString()}`)
    },
  })
})
afterAll(() => server.stop(true))

/** The raw response to a raw request. */
const answerTo = (head: string, body: string) =>
  new Promise<string>((resolve) => {
    let answer = ""
    const socket = connect(server.port ?? 0, "127.0.0.1")
    socket.on("data", (data) => {
      answer += data
    })
    socket.on("close", () => resolve(answer))
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${head}\r\n\r\n${body}`)
    void pause(150, "some of these get no answer, and nothing signals that").then(() =>
      socket.end(),
    )
  })

const toChunks = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`

describe("a body", () => {
  const cases: readonly (readonly [string, string, string, RegExp])[] = [
    ["of a declared length", "Content-Length: 5", "12345", /read 12345$/],
    ["at the limit", "Content-Length: 10", "1234567890", /read 1234567890$/],
    ["declared above the limit", "Content-Length: 11", "12345678901", /read undefined$/],
    ["in chunks", "Transfer-Encoding: chunked", toChunks("12345"), /read 12345$/],
    [
      "in chunks above the limit",
      "Transfer-Encoding: chunked",
      toChunks("12345678901"),
      /undefined/,
    ],
  ]
  test.each(cases)("%s", async (_, head, body, options) => {
    expect(await answerTo(head, body)).toMatch(options)
  })

  test("longer than its declared length is truncated", async () => {
    expect(await answerTo("Content-Length: 5", "1".repeat(100_000))).toMatch(/read 11111/)
    expect(await answerTo("Content-Length: 5", "1".repeat(100_000))).not.toMatch(/read 111111/)
  })

  test.each([
    "Content-Length: 5\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\r\nContent-Length: 5",
    "Content-Length: 5\r\nContent-Length: 50",
    "Content-Length: +5",
    "Content-Length: 5, 5",
  ])("is rejected with the declared length %j", async (head) => {
    const answer = await answerTo(head, toChunks("1".repeat(50)))
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).not.toContain("read")
  })
})

describe("a form", () => {
  const formType = "application/x-www-form-urlencoded"
  const sent = (body: string, type = formType) =>
    new Request("http://id.test", { method: "POST", body, headers: { "content-type": type } })

  test.each<[string, Request, unknown]>([
    ["of another type", sent("a=b", "text/plain"), "other type"],
    ["of 65,537 bytes", sent(`a=${"b".repeat(65_535)}`), "too large"],
    ["of 501 parameters", sent("a&".repeat(500)), "too many"],
    ["of 65,536 bytes", sent(`a=${"b".repeat(65_534)}`), expect.any(URLSearchParams)],
    ["of 500 parameters", sent(`${"a&".repeat(499)}a`), expect.any(URLSearchParams)],
  ])("%s is read only within the general limits", async (_, request, options) => {
    expect(await readForm(request)).toEqual(options)
  })

  test("has the size limit of its endpoint", async () => {
    const max = { bytes: 10, parameters: 2 }
    expect(await readForm(sent("a=b&c=d&e"), max)).toBe("too many")
    expect(await readForm(sent("a=bbbbbbbbb"), max)).toBe("too large")
  })
})
