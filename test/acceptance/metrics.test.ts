import { readFileSync } from "node:fs"
import { join } from "node:path"
import parsePrometheus from "parse-prometheus-text-format"
import { afterAll, beforeAll, expect, test } from "vitest"
import {
  freePort,
  type RunningServer,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"

const folder = temporaryFolder()
const data = join(folder.path, "data")
let running: RunningServer
let scrapeUrl: string

beforeAll(async () => {
  const [port, metricsPort] = [await freePort(), await freePort()]
  await setUp(data, `http://localhost:${port}`)
  scrapeUrl = `http://127.0.0.1:${metricsPort}/metrics`
  running = await startLatchkey({
    data,
    port,
    args: ["--metrics-listen", `127.0.0.1:${metricsPort}`],
  })
})
afterAll(async () => {
  await running?.stop()
  folder.remove()
})

type Family = ReturnType<typeof parsePrometheus>[number]

async function scrapeMetrics(): Promise<ReadonlyMap<string, Family>> {
  const answer = await fetch(scrapeUrl)
  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8")
  const text = await answer.text()
  const families = new Map(parsePrometheus(text).map((family) => [family.name, family]))
  // The parser keeps the labels of histograms only if their parts are separate metrics.
  for (const part of parsePrometheus(text.replace(/^# TYPE .* histogram$/gm, ""))) {
    const before = families.get(part.name)
    if (part.type !== "UNTYPED" || part.metrics.length === 0) continue
    const metrics = [...(before?.metrics ?? []), ...part.metrics]
    families.set(part.name, { ...part, metrics })
  }
  return families
}

const findMetric = (family: Family | undefined, labels: Record<string, string> = {}) =>
  family?.metrics.find((metric) =>
    Object.entries(labels).every(([name, value]) => metric.labels?.[name] === value),
  )

const createSession = (body: object) =>
  fetch(`${running.url}/core.session.v2.SessionService/CreateSession`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  })

test("counts operations with labels that callers can't choose", async () => {
  await fetch(`${running.url}/oauth/v2/keys`)
  await fetch(`${running.url}/made/up/by/zorro`)
  await fetch(`${running.url}/oauth/v2/token`, {
    method: "POST",
    body: new URLSearchParams({ grant_type: "invented", client_id: "invented" }),
  })
  expect((await createSession({})).status).toBe(401)
  const families = await scrapeMetrics()
  const duration = "latchkey_http_request_duration_seconds"
  expect(families.get(duration)?.type).toBe("HISTOGRAM")
  const requests = families.get(`${duration}_count`)
  expect(findMetric(requests, { group: "keys", status: "2xx" })).toMatchObject({ value: "1" })
  expect(findMetric(requests, { group: "other", status: "4xx" })).toMatchObject({ value: "1" })
  expect(
    findMetric(families.get("latchkey_requests_refused_total"), {
      endpoint: "token",
      error: "unsupported_grant_type",
    }),
  ).toMatchObject({ value: "1" })
  expect(
    findMetric(families.get("latchkey_api_call_duration_seconds_count"), {
      encoding: "connect",
      code: "unauthenticated",
    }),
  ).toMatchObject({ value: "1" })
  const said = await (await fetch(scrapeUrl)).text()
  expect(said).not.toMatch(/invented|zorro|acme/i)
})

test("reports the state of the process", async () => {
  const families = await scrapeMetrics()
  expect(findMetric(families.get("latchkey_ready"))).toMatchObject({ value: "1" })
  expect(findMetric(families.get("latchkey_instances"))).toMatchObject({ value: "1" })
  expect(findMetric(families.get("latchkey_hashing_waiting"), { kind: "own" })).toMatchObject({
    value: "0",
  })
  expect(Number(findMetric(families.get("latchkey_wal_bytes"))?.value)).toBeGreaterThan(0)
  expect(families.get("latchkey_reactor_lag_events")?.metrics.length).toBeGreaterThan(5)
  const keys = families.get("latchkey_signing_key_age_seconds")
  expect(keys?.metrics.map(({ labels }) => labels?.algorithm).sort()).toEqual(["ES256", "RS256"])
  expect(Number(findMetric(families.get("process_resident_memory_bytes"))?.value)).toBeGreaterThan(
    1e7,
  )
})

test("serves nothing else at its address", async () => {
  for (const [path, method] of [
    ["/metrics", "POST"],
    ["/", "GET"],
    ["/debug/ready", "GET"],
  ] as const) {
    expect((await fetch(new URL(path, scrapeUrl), { method })).status).toBe(404)
  }
  expect((await fetch(`${running.url}/metrics`)).status).toBe(404)
})

test("the dashboard uses exactly the existing metrics", async () => {
  const file = join(import.meta.dirname, "../../docs/grafana.json")
  const { panels } = JSON.parse(readFileSync(file, "utf8"))
  const names: string[] = panels.flatMap((panel: { targets: { expr: string }[] }) =>
    panel.targets.flatMap(({ expr }) => expr.match(/[a-z]\w+(?=\{)/g) ?? []),
  )
  const families = await scrapeMetrics()
  expect(names.length).toBeGreaterThan(20)
  expect(names.filter((name) => !families.has(name))).toEqual([])
  const plain = (name: string) => name.replace(/_(bucket|count|sum)$/, "")
  const shown = new Set(names.map(plain))
  const own = [...families.keys()].filter((name) => name.startsWith("latchkey_"))
  expect(own.filter((name) => !shown.has(plain(name)))).toEqual([])
})
