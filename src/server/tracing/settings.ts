import type { Config } from "../../kernel/config.ts"
import { parseWebUrl } from "../../kernel/setting/value.ts"

type Env = Readonly<Record<string, string | undefined>>

export type TraceSettings = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** Additional resource attributes. */
  readonly resource: Readonly<Record<string, string>>
  readonly sampling: Sampling
}

export type Sampling = {
  /** Whether the decision of a trusted peer is used. */
  readonly byParent: boolean
  /** The share of requests to trace, 0 to 1. */
  readonly share: number
}

type TraceSettingsResult = {
  /** Undefined if tracing is disabled. */
  readonly settings: TraceSettings | undefined
  /** Problems with variables, which are then ignored; without their values. */
  readonly ignored: readonly string[]
}

/**
 * The trace settings: from the configuration, otherwise from the standard OpenTelemetry variables
 * (https://opentelemetry.io/docs/specs/otel/configuration).
 */
export function readTraceSettings(
  config: Pick<Config, "traces" | "traceShare">,
  env: Env,
): TraceSettingsResult {
  const ignored: string[] = []
  const read = createReader(env, ignored)
  const url = config.traces ?? readEndpoint(read, env)
  if (url === undefined) return { settings: undefined, ignored }
  const resource = parsePairs(read, "OTEL_RESOURCE_ATTRIBUTES") ?? {}
  const name = env.OTEL_SERVICE_NAME
  const share = config.traceShare
  const settings = {
    url,
    headers:
      parsePairs(read, "OTEL_EXPORTER_OTLP_TRACES_HEADERS") ??
      parsePairs(read, "OTEL_EXPORTER_OTLP_HEADERS") ??
      {},
    timeoutMs:
      read("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", parseMs) ??
      read("OTEL_EXPORTER_OTLP_TIMEOUT", parseMs) ??
      10_000,
    resource: { ...resource, ...(name && { "service.name": name }) },
    sampling: share === undefined ? readSampling(read) : { byParent: true, share },
  }
  return { settings, ignored }
}

type Reader = <T>(name: string, parse: (text: string) => T | undefined) => T | undefined

/** Empty and invalid variables are ignored. */
const createReader =
  (env: Env, ignored: string[]): Reader =>
  (name, parse) => {
    const text = env[name]?.trim()
    if (!text) return undefined
    const value = parse(text)
    if (value === undefined) ignored.push(name)
    return value
  }

/** Undefined unless a variable sets it: nothing is sent by default. */
function readEndpoint(read: Reader, env: Env): string | undefined {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === "true") return undefined
  // A variable that requires an unsupported format disables tracing.
  const isOurs = Object.entries(supportedValues).every(
    ([name, known]) =>
      !env[name]?.trim() || read(name, (text) => parseOneOf(known, text)) !== undefined,
  )
  if (!isOurs || env.OTEL_TRACES_EXPORTER?.trim() === "none") return undefined
  const base = () => read("OTEL_EXPORTER_OTLP_ENDPOINT", parseWebUrl)
  return read("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", parseWebUrl) ?? tracesUrl(base())
}

const supportedValues: Readonly<Record<string, readonly string[]>> = {
  OTEL_TRACES_EXPORTER: ["otlp", "none"],
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: ["http/protobuf"],
  OTEL_EXPORTER_OTLP_PROTOCOL: ["http/protobuf"],
}

const tracesUrl = (base: string | undefined) => base && `${base.replace(/\/$/, "")}/v1/traces`

const parseOneOf = (values: readonly string[], text: string) => values.find((each) => each === text)

const parseMs = (text: string) => (/^[1-9]\d{0,6}$/.test(text) ? Number(text) : undefined)

/** `a=1,b=2`, with percent-encoded values. */
function parsePairs(read: Reader, name: string): Readonly<Record<string, string>> | undefined {
  return read(name, (text) => {
    const all = text.split(",").map((part) => /^\s*([!-+\--<>-~]+)\s*=\s*([ -~]*?)\s*$/.exec(part))
    try {
      return Object.fromEntries(
        all.map((match) => {
          if (!match) throw new Error("the value is not a key-value pair")
          const [, key = "", value = ""] = match
          return [decodeURIComponent(key), decodeURIComponent(value)]
        }),
      )
    } catch {
      return undefined
    }
  })
}

/** All requests, unless a trusted peer has decided otherwise. */
const defaultSampling: Sampling = { byParent: true, share: 1 }

function readSampling(read: Reader): Sampling {
  const share = () => read("OTEL_TRACES_SAMPLER_ARG", parseRatio) ?? 1
  const known: Readonly<Record<string, () => Sampling>> = {
    always_on: () => ({ byParent: false, share: 1 }),
    always_off: () => ({ byParent: false, share: 0 }),
    traceidratio: () => ({ byParent: false, share: share() }),
    parentbased_always_on: () => defaultSampling,
    parentbased_always_off: () => ({ byParent: true, share: 0 }),
    parentbased_traceidratio: () => ({ byParent: true, share: share() }),
  }
  const named = (text: string) => (Object.hasOwn(known, text) ? known[text] : undefined)
  return read("OTEL_TRACES_SAMPLER", named)?.() ?? defaultSampling
}

const parseRatio = (text: string) =>
  /^(0|1|[01]?\.\d{1,18}|1\.0+)$/.test(text) && Number(text) <= 1 ? Number(text) : undefined
