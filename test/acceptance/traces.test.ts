import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  freePort,
  owner,
  type ServiceKey,
  serviceToken,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { decodeTraces, type Span } from "../support/otlp.ts"
import { measureTime } from "../support/scaled-time.ts"
import { openGrpc } from "./grpc.ts"
import { connect, humanInput } from "./service.ts"

const secret = "Xyzzy-plugh-42-traced"
const remoteContext = { trace: "4bf92f3577b34da6a3ce929d0e0e4736", span: "00f067aa0ba902b7" }
const traceparent = `00-${remoteContext.trace}-${remoteContext.span}-01`

const folder = temporaryFolder()
const data = `${folder.path}/data`
let port: number
let key: ServiceKey

beforeAll(async () => {
  port = await freePort()
  key = await setUp(data, `http://localhost:${port}`)
})
afterAll(() => folder.remove())

/** An OTLP receiver that stores what it receives. */
function openReceiver() {
  const bodies: Uint8Array[] = []
  const asked: string[] = []
  const keys: string[] = []
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const { pathname } = new URL(request.url)
      asked.push(`${request.method} ${pathname} ${request.headers.get("content-type")}`)
      keys.push(request.headers.get("x-api-key") ?? "")
      bodies.push(new Uint8Array(await request.arrayBuffer()))
      return new Response(new Uint8Array())
    },
  })
  const url = `http://127.0.0.1:${server.port}/v1/traces`
  return { url, asked, keys, bodies, stop: () => server.stop(true) }
}

/** The spans that a server exports during `work`. */
async function collectTraces(
  args: readonly string[],
  work: (url: string, grpc: number) => unknown,
) {
  const receiver = openReceiver()
  const running = await startLatchkey({ data, port, args: ["--traces", receiver.url, ...args] })
  try {
    await work(running.url, running.grpcPort)
  } finally {
    await running.stop()
    await receiver.stop()
  }
  return { ...receiver, output: running.output(), spans: decodeTraces(receiver.bodies) }
}

const spansNamed = (spans: readonly Span[], name: string) =>
  spans.filter((span) => span.name === name)

describe("a server with tracing", () => {
  let told: Awaited<ReturnType<typeof collectTraces>>
  beforeAll(async () => {
    told = await collectTraces(["--log-level", "trace"], async (url, grpcPort) => {
      const token = await serviceToken(url, key)
      await fetch(`${url}/oauth/v2/keys`, { headers: { traceparent } })
      await fetch(`${url}/made/up/${secret}?password=${secret}`, { method: "POST" })
      const { body } = await connect(url, "ListOrganizations", { request: {}, token })
      const organizationId = body.result[0].id
      const human = { ...humanInput("traced"), password: { password: secret } }
      const request = { organizationId, username: "traced", human }
      expect((await connect(url, "CreateUser", { request, token })).status).toBe(200)
      const grpc = openGrpc(grpcPort, token)
      await grpc.call("ListOrganizations", {})
      grpc.close()
    })
  })

  test("exports spans as OTLP/HTTP, and they decode", () => {
    expect(new Set(told.asked)).toEqual(new Set(["POST /v1/traces application/x-protobuf"]))
    expect(told.spans.length).toBeGreaterThan(5)
    const [first] = told.spans
    expect(first?.resource).toMatchObject({ "service.name": "latchkey" })
    for (const { traceId, spanId, from, until } of told.spans) {
      expect([traceId.length, spanId.length]).toEqual([32, 16])
      expect(until).toBeGreaterThanOrEqual(from)
      expect(Math.abs(Number(from / 1_000_000n) - Date.now())).toBeLessThan(60_000)
    }
  })

  test("names requests by their route or operation, with the result", () => {
    expect(spansNamed(told.spans, "GET /oauth/v2/keys")[0]).toMatchObject({
      kind: 2,
      attributes: {
        "http.request.method": "GET",
        "http.route": "/oauth/v2/keys",
        "http.response.status_code": 200,
      },
    })
    expect(spansNamed(told.spans, "POST /*")[0]?.attributes["http.response.status_code"]).toBe(404)
    const listing = "core.org.v2.OrganizationService/ListOrganizations"
    const calls = spansNamed(told.spans, listing)
    expect(calls.map(({ attributes }) => attributes["latchkey.encoding"])).toEqual([
      "connect",
      "grpc",
    ])
    expect(calls[0]?.attributes["rpc.response.status_code"]).toBe("OK")
    expect(calls[0]?.attributes["http.route"]).toBe(`/${listing}`)
  })

  test("records what a request waited for as child spans", () => {
    const [created] = spansNamed(told.spans, "core.user.v2.UserService/CreateUser")
    const children = told.spans.filter(({ parentId }) => parentId === created?.spanId)
    expect(children.map(({ name }) => name).sort()).toEqual(["password", "store"])
    for (const { traceId, kind } of children) expect([traceId, kind]).toEqual([created?.traceId, 1])
  })

  test("accepts no trace context from an untrusted sender", () => {
    expect(told.spans.filter(({ traceId }) => traceId === remoteContext.trace)).toEqual([])
  })

  test("records no user and no secret", () => {
    const text = told.bodies.map((body) => Buffer.from(body).toString("latin1")).join("")
    for (const each of [secret, "traced@", owner.loginName, "127.0.0.1", key.userId]) {
      expect(text, each).not.toContain(each)
    }
  })
})

test("continues the trace of a trusted proxy, and respects its sampling decision", async () => {
  const { spans } = await collectTraces(["--trusted-proxies", "127.0.0.1"], async (url) => {
    await fetch(`${url}/oauth/v2/keys`, { headers: { traceparent } })
    await fetch(`${url}/debug/ready`, { headers: { traceparent: traceparent.replace(/1$/, "0") } })
  })
  expect(spansNamed(spans, "GET /oauth/v2/keys")).toMatchObject([
    { traceId: remoteContext.trace, parentId: remoteContext.span },
  ])
  expect(
    spansNamed(spans, "GET /debug/ready").filter(({ traceId }) => traceId === remoteContext.trace),
  ).toEqual([])
})

test("an unavailable receiver delays no request, and is logged once", async () => {
  const args = ["--traces", `http://127.0.0.1:${await freePort()}/v1/traces`]
  const running = await startLatchkey({ data, port, args })
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => fetch(`${running.url}/oauth/v2/keys`)),
  )
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  const [code, ms] = await measureTime(() => running.stop())
  expect(code).toBe(0)
  expect(ms).toBeLessThan(4_000)
  expect(running.output().match(/traces are lost/g)).toHaveLength(1)
})

test("samples requests if configured", async () => {
  const { spans } = await collectTraces(["--trace-share", "0.000001"], async (url) => {
    for (let count = 0; count < 20; count++) await fetch(`${url}/oauth/v2/keys`)
  })
  expect(spans.length).toBeLessThan(3)
})

describe("the OpenTelemetry variables apply if our own settings are absent", () => {
  const planted = "planted key,1"
  async function tracedBy(env: Readonly<Record<string, string>>, args: readonly string[] = []) {
    const receiver = openReceiver()
    const base = receiver.url.replace("/v1/traces", "")
    const running = await startLatchkey({
      data,
      port,
      args,
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: base, ...env },
    })
    try {
      for (let count = 0; count < 5; count++) await fetch(`${running.url}/oauth/v2/keys`)
    } finally {
      await running.stop()
      await receiver.stop()
    }
    return { ...receiver, output: running.output(), spans: decodeTraces(receiver.bodies) }
  }

  test("endpoint, headers and service name", async () => {
    const { spans, asked, keys, output } = await tracedBy({
      OTEL_EXPORTER_OTLP_HEADERS: `x-api-key=${encodeURIComponent(planted)},x-other=1`,
      OTEL_SERVICE_NAME: "sign-in",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=test%20bed,service.name=other",
    })
    expect(new Set(asked)).toEqual(new Set(["POST /v1/traces application/x-protobuf"]))
    expect(new Set(keys)).toEqual(new Set([planted]))
    const [first] = spansNamed(spans, "GET /oauth/v2/keys")
    expect(first?.resource).toMatchObject({
      "service.name": "sign-in",
      "deployment.environment": "test bed",
    })
    expect(output).not.toContain(planted)
  })

  test.each([
    ["switched off", { OTEL_SDK_DISABLED: "true" }],
    ["no exporter", { OTEL_TRACES_EXPORTER: "none" }],
    ["nothing sampled", { OTEL_TRACES_SAMPLER: "always_off" }],
  ])("%s: nothing is sent", async (_, env) => {
    expect((await tracedBy(env)).asked).toEqual([])
  })

  test("unsupported values are reported, without the value", async () => {
    const { asked, output } = await tracedBy({ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" })
    expect(asked).toEqual([])
    expect(output).toMatch(/OTEL_EXPORTER_OTLP_PROTOCOL.* is invalid and was ignored/)
  })

  test("our own settings take precedence", async () => {
    const own = openReceiver()
    const { asked } = await tracedBy({}, ["--traces", own.url])
    await own.stop()
    expect(asked).toEqual([])
    expect(own.asked).not.toEqual([])
  })
})
