// A service that is called: a real HTTP server, which is not ours.
import { createHmac } from "node:crypto"
import { createServer, type ServerResponse } from "node:http"
import { systemClock } from "../../../src/kernel/clock.ts"
import { rangeOf } from "../../../src/kernel/net/address.ts"
import type { Outside } from "../../../src/kernel/port/outbound.ts"
import { outboundOf } from "../../../src/notify/outbound.ts"
import { nowhere } from "../../support/outside.ts"

export type Received = {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

type Answering = (response: ServerResponse, received: Received) => void

export type Receiver = {
  readonly url: string
  readonly received: Received[]
  /** Bodies as JSON of what came to a path. */
  readonly at: (path: string) => readonly any[]
  /** How a path answers from now on; any other does so with status 200 and nothing. */
  readonly answer: (path: string, how: Answering) => void
  readonly close: () => Promise<void>
}

export async function openReceiver(): Promise<Receiver> {
  const received: Received[] = []
  const answers = new Map<string, Answering>()
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
    answer: (path, how) => void answers.set(path, how),
    close: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

export const json =
  (value: unknown): Answering =>
  (response) =>
    void response.setHeader("content-type", "application/json").end(JSON.stringify(value))

export const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Answering =>
  (response) =>
    void response.writeHead(code, headers).end()

/** The guarded way out, to this machine too. */
export function outsideHere(): Outside {
  const allow = ["127.0.0.1"].flatMap((text) => rangeOf(text) ?? [])
  const send = outboundOf({ resolve: async () => [], send: fetch, clock: systemClock, allow })
  return { ...nowhere, send }
}

/** As a receiver does it who knows its key and nothing of us: t=…, v1=…. */
export function isSigned({ headers, body }: Received, key: string): boolean {
  const parts = (headers["core-signature"] ?? "").split(",").map((part) => part.split("="))
  const time = parts.find(([name]) => name === "t")?.[1] ?? ""
  const signed = createHmac("sha256", key).update(`${time}.${body}`).digest("hex")
  const isNew = Math.abs(Date.now() / 1000 - Number(time)) < 300
  return isNew && parts.some(([name, value]) => name === "v1" && value === signed)
}
