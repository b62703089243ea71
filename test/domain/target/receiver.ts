// A service that targets call: a real, independent HTTP server.
import { createHmac } from "node:crypto"
import { createServer, type ServerResponse } from "node:http"
import { systemClock } from "../../../src/kernel/clock.ts"
import { parseRange } from "../../../src/kernel/net/address.ts"
import type { Outside } from "../../../src/kernel/port/outbound.ts"
import { createOutbound } from "../../../src/notify/outbound.ts"
import { unreachableOutside } from "../../support/outside.ts"

export type ReceivedRequest = {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

type RespondWith = (response: ServerResponse, received: ReceivedRequest) => void

export type Receiver = {
  readonly url: string
  readonly received: ReceivedRequest[]
  /** The JSON bodies received at a path. */
  readonly at: (path: string) => readonly any[]
  /** Sets the response of a path; the default is status 200 without a body. */
  readonly answer: (path: string, respond: RespondWith) => void
  readonly close: () => Promise<void>
}

export async function openReceiver(): Promise<Receiver> {
  const received: ReceivedRequest[] = []
  const answers = new Map<string, RespondWith>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const path = request.url ?? ""
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      )
      const one = { path, headers, body: Buffer.concat(chunks).toString() }
      received.push(one)
      const how = answers.get(path)
      if (how) how(response, one)
      else response.end()
    })
  })
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  const address = server.address()
  const port = typeof address === "object" && address ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    at: (path) => received.filter((each) => each.path === path).map(({ body }) => JSON.parse(body)),
    answer: (path, options) => void answers.set(path, options),
    close: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

export const json =
  (value: unknown): RespondWith =>
  (response) =>
    void response.setHeader("content-type", "application/json").end(JSON.stringify(value))

export const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): RespondWith =>
  (response) =>
    void response.writeHead(code, headers).end()

/** The guarded HTTP client, with access to this machine. */
export function localOutside(): Outside {
  const allow = ["127.0.0.1"].flatMap((text) => parseRange(text) ?? [])
  const send = createOutbound({ resolve: async () => [], send: fetch, clock: systemClock, allow })
  return { ...unreachableOutside, send }
}

/** Verifies the signature as a receiver with only the key does: t=…, v1=…. */
export function isSigned({ headers, body }: ReceivedRequest, key: string): boolean {
  const parts = (headers["core-signature"] ?? "").split(",").map((part) => part.split("="))
  const time = parts.find(([name]) => name === "t")?.[1] ?? ""
  const signed = createHmac("sha256", key).update(`${time}.${body}`).digest("hex")
  const isNew = Math.abs(Date.now() / 1000 - Number(time)) < 300
  return isNew && parts.some(([name, value]) => name === "v1" && value === signed)
}
