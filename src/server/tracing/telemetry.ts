import type { Config } from "../../kernel/config.ts"
import { webUrlOf } from "../../kernel/setting/value.ts"

type Env = Readonly<Record<string, string | undefined>>

export type TraceSettings = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** Beside what we are by ourselves. */
  readonly resource: Readonly<Record<string, string>>
  readonly sampling: Sampling
}

export type Sampling = {
  /** Whether the decision of a trusted peer counts. */
  readonly byParent: boolean
  /** Which part of the requests is traced, 0 to 1. */
  readonly share: number
}

type Read = {
  /** Undefined where nothing is traced. */
  readonly settings: TraceSettings | undefined
  /** What is wrong with variables, which then count as not set; no value of them. */
  readonly ignored: readonly string[]
}

/**
 * How traces are wanted: by our own settings, and where those say nothing by the variables that
 * OpenTelemetry gives every program (https://opentelemetry.io/docs/specs/otel/configuration).
 */
export function traceSettings(config: Pick<Config, "traces" | "traceShare">, env: Env): Read {
  const ignored: string[] = []
  const read = readerOf(env, ignored)
  const url = config.traces ?? endpointIn(read, env)
  if (url === undefined) return { settings: undefined, ignored }
  const resource = pairs(read, "OTEL_RESOURCE_ATTRIBUTES") ?? {}
  const name = env.OTEL_SERVICE_NAME
  const share = config.traceShare
  const settings = {
    url,
    headers:
      pairs(read, "OTEL_EXPORTER_OTLP_TRACES_HEADERS") ??
      pairs(read, "OTEL_EXPORTER_OTLP_HEADERS") ??
      {},
    timeoutMs:
      read("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", msOf) ??
      read("OTEL_EXPORTER_OTLP_TIMEOUT", msOf) ??
      10_000,
    resource: { ...resource, ...(name && { "service.name": name }) },
    sampling: share === undefined ? samplingIn(read) : { byParent: true, share },
  }
  return { settings, ignored }
}

type Reader = <T>(name: string, parse: (text: string) => T | undefined) => T | undefined

/** An empty variable counts as not set, and so does one that can't be read. */
const readerOf =
  (env: Env, ignored: string[]): Reader =>
  (name, parse) => {
    const text = env[name]?.trim()
    if (!text) return undefined
    const value = parse(text)
    if (value === undefined) ignored.push(name)
    return value
  }

/** Nowhere, unless a variable says where: a server sends nothing anywhere by itself. */
function endpointIn(read: Reader, env: Env): string | undefined {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === "true") return undefined
  // Whoever names something that we don't speak wants no traces of another kind.
  const isOurs = Object.entries(spoken).every(
    ([name, known]) => !env[name]?.trim() || read(name, (text) => one(known, text)) !== undefined,
  )
  if (!isOurs || env.OTEL_TRACES_EXPORTER?.trim() === "none") return undefined
  const base = () => read("OTEL_EXPORTER_OTLP_ENDPOINT", webUrlOf)
  return read("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", webUrlOf) ?? below(base())
}

const spoken: Readonly<Record<string, readonly string[]>> = {
  OTEL_TRACES_EXPORTER: ["otlp", "none"],
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: ["http/protobuf"],
  OTEL_EXPORTER_OTLP_PROTOCOL: ["http/protobuf"],
}

const below = (base: string | undefined) => base && `${base.replace(/\/$/, "")}/v1/traces`

const one = (known: readonly string[], text: string) => known.find((each) => each === text)

const msOf = (text: string) => (/^[1-9]\d{0,6}$/.test(text) ? Number(text) : undefined)

/** `a=1,b=2`, each value encoded as in an address. */
function pairs(read: Reader, name: string): Readonly<Record<string, string>> | undefined {
  return read(name, (text) => {
    const all = text.split(",").map((part) => /^\s*([!-+\--<>-~]+)\s*=\s*([ -~]*?)\s*$/.exec(part))
    try {
      return Object.fromEntries(
        all.map((found) => {
          if (!found) throw new Error("it is no pair")
          const [, key = "", value = ""] = found
          return [decodeURIComponent(key), decodeURIComponent(value)]
        }),
      )
    } catch {
      return undefined
    }
  })
}

/** Everything, unless a trusted peer has decided otherwise. */
const standard: Sampling = { byParent: true, share: 1 }

function samplingIn(read: Reader): Sampling {
  const share = () => read("OTEL_TRACES_SAMPLER_ARG", ratioOf) ?? 1
  const known: Readonly<Record<string, () => Sampling>> = {
    always_on: () => ({ byParent: false, share: 1 }),
    always_off: () => ({ byParent: false, share: 0 }),
    traceidratio: () => ({ byParent: false, share: share() }),
    parentbased_always_on: () => standard,
    parentbased_always_off: () => ({ byParent: true, share: 0 }),
    parentbased_traceidratio: () => ({ byParent: true, share: share() }),
  }
  const named = (text: string) => (Object.hasOwn(known, text) ? known[text] : undefined)
  return read("OTEL_TRACES_SAMPLER", named)?.() ?? standard
}

const ratioOf = (text: string) =>
  /^(0|1|[01]?\.\d{1,18}|1\.0+)$/.test(text) && Number(text) <= 1 ? Number(text) : undefined
