// A secret in a sensitive field of a request or response appears nowhere else: in no log, metric,
// error, response, or event, nor in the data directory.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { DescMessage, JsonValue } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { callLog } from "../../src/api/log.ts"
import { eventsOf } from "../../src/domain/history/index.ts"
import { createMeters, type Meters } from "../../src/server/metrics/meters.ts"
import { hasSecrets, listSecrets, plantSecret, withoutSecrets } from "../support/sensitive.ts"
import { type Observers, openTestServer, type TestServer } from "./house.ts"
import type { Row } from "./row.ts"
import { rows } from "./rows/index.ts"
import { requireMethod, runRow } from "./run.ts"
import {
  type CallEncoding,
  type CallResult,
  closeConnections,
  type EncodedCall,
  encodingsOf,
} from "./ways.ts"

/** The unique prefix of every planted secret. */
const secret = "Xyzzy-plugh-42-"
let secretCount = 0

let server: TestServer
let meters: Meters
let observers: Observers
let logOutput = ""
let isBroken = false
/** Every requested or returned secret, by operation. */
const plantedSecrets = new Map<string, string>()

beforeAll(async () => {
  meters = createMeters()
  vi.spyOn(process.stderr, "write").mockImplementation((chunk) => {
    logOutput += chunk
    return true
  })
  observers = {
    logLevel: "trace",
    hooks: (log) => [callLog(log), meters.calls],
    isBroken: () => isBroken,
  }
  server = await openTestServer(undefined, observers)
})
afterAll(async () => {
  vi.restoreAllMocks()
  closeConnections()
  await server.close()
})

/** Lists read metadata, so it is in plain text in their tables until it is erased. */
const metadata = /\/SetUserMetadata$/

/** The destination of a SAML response, which is secret only if it contains the response. */
const acsUrl = "https://sp.example.com/acs"

/** Shorter ones occur in other texts by chance. */
const isDistinctive = (text: string) => text.length >= 8 && text !== acsUrl

const sensitiveRows = Object.values(rows)
  .flat()
  .filter(({ call }) => {
    const { input, output } = requireMethod(call)
    return hasSecrets(input) || hasSecrets(output)
  })

const input = (row: Row) => requireMethod(row.call).input

const plantSecrets = (row: Row, body: JsonValue) =>
  plantSecret(input(row), body, `${secret}${++secretCount}-end`)

/** Calls by Connect in JSON and records the secrets. */
async function callRow(
  row: Row,
  call: EncodedCall,
  change: (body: JsonValue) => JsonValue,
): Promise<CallResult> {
  const [, way] = encodingsOf(call.method).find(([name]) => name === "Connect JSON") ?? []
  if (!way) throw new Error(`no way to ${row.call}`)
  const note = (schema: DescMessage, json: JsonValue) => {
    for (const text of listSecrets(schema, json))
      if (isDistinctive(text)) plantedSecrets.set(text, row.call)
  }
  const body = Object(change(call.body))
  note(call.method.input, body)
  const told = await way({ ...call, body })
  if (told.code !== "ok") {
    expect(JSON.stringify(told)).not.toContain(secret)
    return told
  }
  note(call.method.output, told.body)
  expect(withoutSecrets(call.method.output, told.body)).not.toContain(secret)
  return told
}

/** Runs the row, but first with a failing handler, so that the request is logged. */
const runFailing =
  (row: Row): CallEncoding =>
  async (request) => {
    isBroken = true
    await callRow(row, request, (body) => plantSecrets(row, body))
    isBroken = false
    return callRow(row, request, (body) => body)
  }

const runNormally =
  (row: Row): CallEncoding =>
  (request) =>
    callRow(row, request, (body) => plantSecrets(row, body))

async function runAlone(row: Row, encoding: CallEncoding): Promise<void> {
  const own = row.once ? await openTestServer(undefined, observers) : server
  await runRow(own, row, encoding)
  if (row.once) await own.close()
}

describe("a secret appears only in the request or response of", () => {
  test.each(sensitiveRows.map((row) => [`${row.call} ${row.name ?? ""}`, row] as const))(
    "%s",
    async (_, row) => {
      await runAlone(row, runFailing(row))
      if (hasSecrets(input(row))) await runAlone(row, runNormally(row))
    },
  )

  test("several", () => {
    expect(plantedSecrets.size).toBeGreaterThan(50)
    expect(secretCount).toBeGreaterThan(100)
    expect(logOutput).toMatch(/UserService\/CreateUser'?: '?ok'? in/)
    expect(logOutput).toContain("a bug")
  })

  /** Including its encodings in URLs, headers, and bytes. */
  const formsOf = (secret: string) => [
    secret,
    encodeURIComponent(secret),
    Buffer.from(secret).toString("base64"),
  ]

  /** Searches for all at once by their prefixes: one by one would take a minute. */
  const found = (text: string, but?: RegExp) => {
    const sought = [...plantedSecrets]
      .filter(([, call]) => !but?.test(call))
      .flatMap(([each, call]) => formsOf(each).map((form) => ({ form, said: `${call}: ${each}` })))
    const length = Math.min(...sought.map(({ form }) => form.length))
    const byHead = Map.groupBy(sought, ({ form }) => form.slice(0, length))
    // Most positions are skipped by their first two characters, without slicing.
    const pairAt = (one: string, at: number) =>
      ((one.charCodeAt(at) & 255) << 8) | (one.charCodeAt(at + 1) & 255)
    const begins = new Uint8Array(65_536)
    for (const head of byHead.keys()) begins[pairAt(head, 0)] = 1
    const hits = new Set<string>()
    for (let at = 0; at + length <= text.length; at++) {
      if (!begins[pairAt(text, at)]) continue
      for (const { form, said } of byHead.get(text.slice(at, at + length)) ?? []) {
        if (text.startsWith(form, at)) hits.add(said)
      }
    }
    return [...hits]
  }

  test("is found in each of its forms", () => {
    const [secret = "", call = ""] = [...plantedSecrets].at(-1) ?? []
    for (const form of formsOf(secret)) {
      expect(found(`and ${form} in it`)).toContain(`${call}: ${secret}`)
    }
    expect(found("and nothing in it")).toEqual([])
  })

  test("and is not in the log", () => {
    expect(found(logOutput)).toEqual([])
  })

  test("and not in a metric", async () => {
    expect(found(await meters.registry.metrics())).toEqual([])
  })

  test("and not in a readable event", async () => {
    const page = { from: 0, asc: true, limit: 100_000 }
    const events = await eventsOf(server.within(), {}, page)
    expect(events.length).toBeGreaterThan(1000)
    expect(found(JSON.stringify(events))).toEqual([])
  })

  test("and not in the data directory", () => {
    const files = readdirSync(server.path, { recursive: true, withFileTypes: true })
    for (const file of files.filter((each) => each.isFile())) {
      const bytes = readFileSync(join(file.parentPath, file.name)).toString("latin1")
      expect([file.name, found(bytes, metadata)]).toEqual([file.name, []])
    }
  })
})
