import { expect, test } from "vitest"
import { readTraceSettings } from "../../src/server/tracing/settings.ts"

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/" }
const none = { traces: undefined, traceShare: undefined }

test("traces nothing without an endpoint", () => {
  expect(readTraceSettings(none, {}).settings).toBeUndefined()
  expect(readTraceSettings(none, { OTEL_SERVICE_NAME: "a" }).settings).toBeUndefined()
  expect(readTraceSettings(none, endpoint)).toEqual({
    settings: {
      url: "http://collector:4318/v1/traces",
      headers: {},
      timeoutMs: 10_000,
      resource: {},
      sampling: { byParent: true, share: 1 },
    },
    ignored: [],
  })
})

test("settings for traces take precedence over general ones", () => {
  const { settings } = readTraceSettings(none, {
    ...endpoint,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://traces.example.com/take",
    OTEL_EXPORTER_OTLP_HEADERS: "a=1",
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: "authorization=Bearer%20x%3Dy, b = 2 ",
    OTEL_EXPORTER_OTLP_TIMEOUT: "5000",
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: "700",
  })
  expect(settings).toMatchObject({ url: "https://traces.example.com/take", timeoutMs: 700 })
  expect(settings?.headers).toEqual({ authorization: "Bearer x=y", b: "2" })
})

test.each([
  ["always_on", undefined, { byParent: false, share: 1 }],
  ["always_off", undefined, { byParent: false, share: 0 }],
  ["traceidratio", "0.25", { byParent: false, share: 0.25 }],
  ["parentbased_always_off", undefined, { byParent: true, share: 0 }],
  ["parentbased_traceidratio", "0", { byParent: true, share: 0 }],
  ["parentbased_traceidratio", undefined, { byParent: true, share: 1 }],
])("the sampler %s with %s", (name, argument, sampling) => {
  const env = { ...endpoint, OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: argument }
  expect(readTraceSettings(none, env)).toMatchObject({ settings: { sampling }, ignored: [] })
  const own = { traces: "http://here/v1/traces", traceShare: 0.5 }
  expect(readTraceSettings(own, env).settings).toMatchObject({
    url: "http://here/v1/traces",
    sampling: { byParent: true, share: 0.5 },
  })
})

test.each([
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://x"],
  ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "no pair"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "a=%zz"],
  ["OTEL_EXPORTER_OTLP_TIMEOUT", "soon"],
  ["OTEL_RESOURCE_ATTRIBUTES", "=x"],
  ["OTEL_TRACES_SAMPLER", "constructor"],
  ["OTEL_TRACES_EXPORTER", "zipkin"],
])("%s=%s is reported and ignored", (name, value) => {
  expect(readTraceSettings(none, { ...endpoint, [name]: value }).ignored).toEqual([name])
})

test.each(["zipkin", "none"])("the exporter %s sends nothing", (name) => {
  const env = { ...endpoint, OTEL_TRACES_EXPORTER: name }
  expect(readTraceSettings(none, env).settings).toBeUndefined()
})

test("an invalid sampler argument is reported, too", () => {
  const env = { ...endpoint, OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "2" }
  expect(readTraceSettings(none, env)).toMatchObject({
    settings: { sampling: { share: 1 } },
    ignored: ["OTEL_TRACES_SAMPLER_ARG"],
  })
})
