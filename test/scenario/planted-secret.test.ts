// A secret in a field that the book marks as sensitive, be it asked or answered, is found nowhere
// else: in no log, metric, error, answer or event, nor in a byte of the data folder.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { DescMessage, JsonValue } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { callLog } from "../../src/api/log.ts"
import { eventsOf } from "../../src/domain/history/index.ts"
import { type Meters, metersOf } from "../../src/server/metrics/meters.ts"
import { hasSecrets, planted, secretsIn, shownOf } from "../support/sensitive.ts"
import { type House, openHouse, type Watching } from "./house.ts"
import type { Row } from "./row.ts"
import { rows } from "./rows/index.ts"
import { methodOf, runRow } from "./run.ts"
import { type Asked, closeWays, type Told, type Way, waysOf } from "./ways.ts"

/** What every planted secret has, and nothing else. */
const secret = "Xyzzy-plugh-42-"
let planting = 0

let house: House
let meters: Meters
let watching: Watching
let logged = ""
let isBroken = false
/** Every secret that was asked or answered, by the operation. */
const seen = new Map<string, string>()

beforeAll(async () => {
  meters = metersOf()
  vi.spyOn(process.stderr, "write").mockImplementation((chunk) => {
    logged += chunk
    return true
  })
  watching = {
    logLevel: "trace",
    hooks: (log) => [callLog(log), meters.calls],
    isBroken: () => isBroken,
  }
  house = await openHouse(undefined, watching)
})
afterAll(async () => {
  vi.restoreAllMocks()
  closeWays()
  await house.close()
})

/** Lists read it, and so it stands in the clear in their tables, until it is erased. */
const metadata = /\/SetUserMetadata$/

/** Where an answer of SAML is sent, which is a secret only where the answer stands in it. */
const acsUrl = "https://sp.example.com/acs"

/** Shorter ones stand in other texts by chance. */
const isTelling = (text: string) => text.length >= 8 && text !== acsUrl

const sensitiveRows = Object.values(rows)
  .flat()
  .filter(({ call }) => {
    const { input, output } = methodOf(call)
    return hasSecrets(input) || hasSecrets(output)
  })

const input = (row: Row) => methodOf(row.call).input

const plant = (row: Row, body: JsonValue) => planted(input(row), body, `${secret}${++planting}-end`)

/** Asks by Connect in JSON, and notes what is secret in it. */
async function ask(row: Row, asked: Asked, change: (body: JsonValue) => JsonValue): Promise<Told> {
  const [, way] = waysOf(asked.method).find(([name]) => name === "Connect JSON") ?? []
  if (!way) throw new Error(`no way to ${row.call}`)
  const note = (schema: DescMessage, json: JsonValue) => {
    for (const text of secretsIn(schema, json)) if (isTelling(text)) seen.set(text, row.call)
  }
  const body = Object(change(asked.body))
  note(asked.method.input, body)
  const told = await way({ ...asked, body })
  if (told.code !== "ok") {
    expect(JSON.stringify(told)).not.toContain(secret)
    return told
  }
  note(asked.method.output, told.body)
  expect(shownOf(asked.method.output, told.body)).not.toContain(secret)
  return told
}

/** As the row says; but first with a bug in the handler, for then the request is logged. */
const first =
  (row: Row): Way =>
  async (asked) => {
    isBroken = true
    await ask(row, asked, (body) => plant(row, body))
    isBroken = false
    return ask(row, asked, (body) => body)
  }

const second =
  (row: Row): Way =>
  (asked) =>
    ask(row, asked, (body) => plant(row, body))

async function runAlone(row: Row, way: Way): Promise<void> {
  const own = row.once ? await openHouse(undefined, watching) : house
  await runRow(own, row, way)
  if (row.once) await own.close()
}

describe("a secret stays where it was asked or answered, by", () => {
  test.each(sensitiveRows.map((row) => [`${row.call} ${row.name ?? ""}`, row] as const))(
    "%s",
    async (_, row) => {
      await runAlone(row, first(row))
      if (hasSecrets(input(row))) await runAlone(row, second(row))
    },
  )

  test("which speak of many", () => {
    expect(seen.size).toBeGreaterThan(50)
    expect(planting).toBeGreaterThan(100)
    expect(logged).toMatch(/UserService\/CreateUser'?: '?ok'? in/)
    expect(logged).toContain("a bug")
  })

  /** Also as it looks in addresses, headers and bytes. */
  const formsOf = (secret: string) => [
    secret,
    encodeURIComponent(secret),
    Buffer.from(secret).toString("base64"),
  ]

  /** Looks for all at once, by how they begin: one after the other would take a minute. */
  const found = (text: string, but?: RegExp) => {
    const sought = [...seen]
      .filter(([, call]) => !but?.test(call))
      .flatMap(([each, call]) => formsOf(each).map((form) => ({ form, said: `${call}: ${each}` })))
    const length = Math.min(...sought.map(({ form }) => form.length))
    const byHead = Map.groupBy(sought, ({ form }) => form.slice(0, length))
    // Most places are passed over by their first two characters alone, without cutting a head out.
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

  test("is found where there is one, in each of its forms", () => {
    const [secret = "", call = ""] = [...seen].at(-1) ?? []
    for (const form of formsOf(secret)) {
      expect(found(`and ${form} in it`)).toContain(`${call}: ${secret}`)
    }
    expect(found("and nothing in it")).toEqual([])
  })

  test("and is in no line of the log", () => {
    expect(found(logged)).toEqual([])
  })

  test("and in no metric", async () => {
    expect(found(await meters.registry.metrics())).toEqual([])
  })

  test("and in no event, as anybody is shown it", async () => {
    const page = { from: 0, asc: true, limit: 100_000 }
    const events = await eventsOf(house.within(), {}, page)
    expect(events.length).toBeGreaterThan(1000)
    expect(found(JSON.stringify(events))).toEqual([])
  })

  test("and in no byte of the data folder", () => {
    const files = readdirSync(house.path, { recursive: true, withFileTypes: true })
    for (const file of files.filter((each) => each.isFile())) {
      const bytes = readFileSync(join(file.parentPath, file.name)).toString("latin1")
      expect([file.name, found(bytes, metadata)]).toEqual([file.name, []])
    }
  })
})
