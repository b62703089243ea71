import { keyLength } from "./crypto/secret.ts"
import { Fault } from "./fault.ts"
import { addressOf, parseListenAddress, parseRange } from "./net/address.ts"
import { parseAllowedMailServer, parseAllowedOutbound } from "./setting/allow-list.ts"
import {
  acmeChallenges,
  logFormats,
  logLevels,
  type SettingDescription,
  type Source,
  settingDescriptions,
  tlsCipherKinds,
  tlsKinds,
} from "./setting/description.ts"
import {
  choice,
  list,
  optional,
  type SettingParser,
  table,
  text,
  withDefault,
} from "./setting/parser.ts"
import {
  parseAgeRecipient,
  parseCount,
  parseDatabaseUrl,
  parseDays,
  parseDrainSeconds,
  parseEmail,
  parseFraction,
  parseHeaderValue,
  parseHttpsUrl,
  parseLimitsFactor,
  parseOrigin,
  parsePath,
  parseWebUrl,
  parseWorkerCount,
  redactAll,
  redactQuery,
} from "./setting/value.ts"
import { parseSystemUsers } from "./system-user.ts"
import { findNearest } from "./text/nearest.ts"

const letsEncrypt = "https://acme-v02.api.letsencrypt.org/directory"

/** Every setting: how its value is parsed, and its default. */
const settings = {
  data: withDefault(text("path of a folder", parsePath), "latchkey-data"),
  config: optional(text("path of a TOML file", parsePath)),
  // Plain HTTP belongs behind a proxy: it is only reachable from other machines if configured
  // explicitly.
  listen: withDefault(
    text("HOST:PORT, such as 127.0.0.1:8080, or unix:PATH", parseListenAddress),
    "127.0.0.1:8080",
  ),
  grpcListen: withDefault(text("HOST:PORT, such as 127.0.0.1:8081", addressOf), "127.0.0.1:8081"),
  metricsListen: optional(text("HOST:PORT, such as 127.0.0.1:9464", addressOf)),
  traces: optional(text("a URL such as http://127.0.0.1:4318/v1/traces", parseWebUrl)),
  traceShare: optional(text("a number greater than 0 and at most 1, such as 0.1", parseFraction)),
  workers: withDefault(text("a whole number from 1 to 64, such as 2", parseWorkerCount), "1"),
  database: optional(text("a URL such as postgres://user@host/name", parseDatabaseUrl)),
  tlsCert: withDefault(list("paths of PEM files", parsePath), []),
  tlsKey: withDefault(list("paths of PEM files", parsePath), []),
  tls: optional(choice(tlsKinds)),
  tlsCiphers: withDefault(choice(tlsCipherKinds), "strict"),
  acmeDirectory: withDefault(text("a URL that starts with https://", parseHttpsUrl), letsEncrypt),
  acmeChallenge: withDefault(choice(acmeChallenges), "http-01"),
  acmeEmail: optional(text("an email address", parseEmail)),
  acmeTerms: optional(choice(["agreed"])),
  acmeRoot: optional(text("path of a PEM file", parsePath)),
  redirectListen: optional(text("HOST:PORT, such as :80", addressOf)),
  publicUrl: optional(
    text(
      "a URL such as https://id.example.com, without a path: the host name can't be shared",
      parseOrigin,
    ),
  ),
  masterKey: optional(text("32 bytes in base64", parseMasterKey)),
  masterKeyFile: optional(text("path of a file", parsePath)),
  trustedProxies: withDefault(list("addresses or blocks, such as 10.0.0.0/8", parseRange), []),
  outboundAllow: withDefault(
    list("addresses, blocks or host names, such as 10.0.0.0/8", parseAllowedOutbound),
    [],
  ),
  mailAllow: withDefault(
    list("INSTANCE=HOST:PORT, such as 1=mail.lan:587", parseAllowedMailServer),
    [],
  ),
  transferFolder: optional(text("path of a folder", parsePath)),
  auditRetentionDays: withDefault(text("a whole number of days, such as 90", parseDays), "90"),
  auditCollector: optional(text("a URL such as https://logs.example.com/in", parseWebUrl)),
  auditCollectorAuthorization: optional(text("a header value such as Bearer …", parseHeaderValue)),
  backupFolder: optional(text("path of a folder, or s3://BUCKET/PREFIX", parsePath)),
  backupEveryHours: withDefault(text("a whole number of hours, such as 24", parseCount), "24"),
  backupKeep: withDefault(text("a whole number, such as 14", parseCount), "14"),
  backupRecipient: optional(text("a public age key, age1…", parseAgeRecipient)),
  s3Endpoint: optional(text("a URL such as https://s3.example.com", parseWebUrl)),
  s3Region: withDefault(text("a name such as eu-central-1", parseHeaderValue), "us-east-1"),
  s3KeyId: optional(text("an access key ID", parseHeaderValue)),
  s3Secret: optional(text("a secret access key", parseHeaderValue)),
  s3SecretFile: optional(text("path of a file", parsePath)),
  apply: optional(text("path of a YAML file, or of a folder with YAML files", parsePath)),
  systemUsers: { ...table(parseSystemUsers), defaultValue: [] },
  limits: withDefault(text("a number greater than 0, such as 2, or off", parseLimitsFactor), "1"),
  drainSeconds: optional(
    text("a whole number of seconds from 0 to 300, such as 5", parseDrainSeconds),
  ),
  logLevel: withDefault(choice(logLevels), "info"),
  logFormat: withDefault(choice(logFormats), "text"),
} satisfies Readonly<Record<string, SettingParser<unknown>>>

type ParsedSettings = { readonly [K in keyof typeof settings]: ValueOf<(typeof settings)[K]> }

type ValueOf<R> = R extends SettingParser<infer T> ? T : never

/** The settings without a default. */
type OptionalKey = {
  [K in keyof ParsedSettings]: undefined extends ParsedSettings[K] ? K : never
}[keyof ParsedSettings]

/** The complete, validated configuration. */
export type Config = Readonly<
  Omit<ParsedSettings, OptionalKey> & Partial<Pick<ParsedSettings, OptionalKey>>
>

type Key = keyof Config

/** Where each setting can be configured, and its description. */
export const keys: Readonly<Record<Key, SettingDescription>> = settingDescriptions

/** Names and raw values of all sources. `filePath` is only used in messages. */
export type Sources = {
  readonly flags: Readonly<Record<string, string | undefined>>
  readonly env: Readonly<Record<string, string | undefined>>
  readonly file: Readonly<Record<string, unknown>>
  readonly filePath?: string
}

/**
 * Returns the configuration: flags take precedence over environment variables (LATCHKEY_*), then
 * the file, then the defaults. Rejects unknown keys, suggesting the closest known one, and invalid
 * values, naming their source.
 */
export function parseConfig(sources: Sources): Config {
  const sourceValues = sourceValuesIn(sources)
  const config = parseSettings(sourceValues)
  if (config.masterKey && config.masterKeyFile) {
    const origins = [
      sourceValues.get("masterKey")?.origin,
      sourceValues.get("masterKeyFile")?.origin,
    ]
    throw configError(
      "config.master_key_twice",
      `${origins.join(" and ")} are mutually exclusive; set only one`,
    )
  }
  const sourceNameOf = (key: Key) => sourceValues.get(key)?.origin ?? keyNames.flag(key)
  validateTls(config, sourceNameOf)
  validateBackups(config, sourceNameOf)
  validateWorkers(config, sourceNameOf)
  return config
}

function parseSettings(sourceValues: ReadonlyMap<string, SourceValue>): Config {
  const problems: string[] = []
  const values = Object.entries<SettingParser<unknown>>(settings).flatMap(
    ([key, { parse: read, defaultValue: standard }]) => {
      const configured = sourceValues.get(key)
      if (!configured) return standard === undefined ? [] : [[key, standard]]
      const outcome = read(configured.value)
      if ("value" in outcome) return [[key, outcome.value]]
      problems.push(`${configured.origin} ${outcome.error}`)
      return []
    },
  )
  if (problems.length > 0) throw configError("config.value_invalid", problems.join("; "))
  // `Config` is derived from `settings`; TypeScript can't infer the type of this loop.
  return Object.fromEntries(values)
}

/** Rejects certificates without keys, and settings that require a certificate. */
function validateTls(config: Config, sourceNameOf: (key: Key) => string): void {
  const { tls, tlsCert, tlsKey, redirectListen, listen, acmeChallenge } = config
  const hasTls = tls !== undefined || tlsCert.length > 0
  const createError = (message: string) => configError("config.tls_incomplete", message)
  if (tlsCert.length !== tlsKey.length) {
    throw createError(
      `${sourceNameOf("tlsCert")} and ${sourceNameOf("tlsKey")} must name the same number of files`,
    )
  }
  if (redirectListen && !hasTls) {
    throw createError(
      `${sourceNameOf("redirectListen")} requires ${keyNames.flag("tlsCert")} or --tls`,
    )
  }
  if ("path" in listen && hasTls) {
    const sourceValues = tls ? sourceNameOf("tls") : sourceNameOf("tlsCert")
    throw createError(`${sourceValues} requires a port: TLS is not available on a Unix socket`)
  }
  if (acmeChallenge !== "http-01" && tls !== "acme") {
    throw createError(
      `${sourceNameOf("acmeChallenge")} ${acmeChallenge} requires ${keyNames.flag("tls")} acme`,
    )
  }
  if (tls) validateAutomaticTls(config, sourceNameOf, createError)
}

/** With the event log in PostgreSQL, the data directory contains nothing to back up. */
function validateBackups(
  { backupFolder, database }: Config,
  sourceNameOf: (key: Key) => string,
): void {
  if (backupFolder === undefined || database === undefined) return
  const alternative = `back up ${sourceNameOf("database")} with PostgreSQL's own tools`
  throw configError(
    "config.backup_elsewhere",
    `${sourceNameOf("backupFolder")} can't back up a PostgreSQL log: ${alternative}`,
  )
}

/** Worker processes share a port; features that only one process can have are rejected. */
function validateWorkers(
  { workers, database, tls, listen }: Config,
  sourceNameOf: (key: Key) => string,
): void {
  if (workers === 1) return
  const createError = (reason: string) =>
    configError("config.workers_alone", `${sourceNameOf("workers")} above 1 ${reason}`)
  if (database !== undefined) {
    const alternative = "start several nodes instead, each with its own data directory"
    throw createError(
      "requires the event log in the data directory, without " +
        `${sourceNameOf("database")}; ${alternative}`,
    )
  }
  if ("path" in listen)
    throw createError(`requires a port: ${sourceNameOf("listen")} names a socket`)
  if (tls) {
    const certificateFlag = keyNames.flag("tlsCert")
    const alternative = `set certificate files with ${certificateFlag}, or use a proxy for TLS`
    throw createError(`can't be combined with ${sourceNameOf("tls")}; ${alternative}`)
  }
}

/**
 * Rejects automatic certificates that are combined with certificate files, or can't be obtained.
 */
function validateAutomaticTls(
  { tls, tlsCert, database, redirectListen, acmeChallenge, acmeTerms, acmeDirectory }: Config,
  sourceNameOf: (key: Key) => string,
  createError: (message: string) => Fault,
): void {
  if (tlsCert.length > 0) {
    throw createError(
      `${sourceNameOf("tls")} and ${sourceNameOf("tlsCert")} are mutually exclusive; set only one`,
    )
  }
  if (database !== undefined) {
    const alternative = "terminate TLS at the proxy in front of the nodes, or set certificate files"
    throw createError(
      `${sourceNameOf("tls")} requires a single node, without ` +
        `${sourceNameOf("database")}; ${alternative}`,
    )
  }
  if (tls !== "acme") return
  if (!redirectListen && acmeChallenge === "http-01") {
    const reason = "the certificate authority validates the host name on that port"
    const otherChallenge = `${keyNames.flag("acmeChallenge")} tls-alpn-01 does not need it`
    const requiredFlag = `${keyNames.flag("redirectListen")} :80`
    throw createError(
      `${sourceNameOf("tls")} acme requires ${requiredFlag}: ${reason}; ${otherChallenge}`,
    )
  }
  if (acmeTerms !== "agreed") {
    const host = new URL(acmeDirectory).host
    const requiredTerms = `${keyNames.flag("acmeTerms")} agreed`
    throw createError(
      `${sourceNameOf("tls")} acme requires ${requiredTerms}, which accepts the terms of ${host}`,
    )
  }
}

/** The configured values by key, after precedence. Rejects unknown keys. */
function sourceValuesIn(sources: Sources): ReadonlyMap<string, SourceValue> {
  const all = [...readFile(sources), ...readEnv(sources.env), ...readFlags(sources.flags)]
  return new Map(all.map((entry) => [entry.key, entry]))
}

/** A setting as shown to operators; `value` is null if it is not configured. */
export type Setting = {
  /** Its name in the configuration file. */
  readonly name: string
  readonly value: unknown
  /** Where it is configured; "default" if it is not. */
  readonly from: string
}

/** Every setting with its source and value; secrets are redacted. */
export function listSettings(sources: Sources): readonly Setting[] {
  const sourceValues = sourceValuesIn(sources)
  return Object.keys(keys).map((key) => {
    const configured = sourceValues.get(key)
    const value = configured ? (redactions[key]?.(configured.value) ?? configured.value) : null
    return { name: keyNames.file(key), value, from: configured?.origin ?? "default" }
  })
}

/** Redaction of values that are or contain secrets. */
const redactions: Readonly<Record<string, (value: unknown) => string>> = {
  masterKey: redactAll,
  database: redactAll,
  s3Secret: redactAll,
  auditCollectorAuthorization: redactAll,
  auditCollector: redactQuery,
  traces: redactQuery,
} satisfies Partial<Record<Key, unknown>>

/**
 * Whether a file contains secrets, in any spelling. Throws on unknown keys, which could be
 * anything.
 */
export const containsSecret = (file: Sources["file"]): boolean =>
  listSettings({ flags: {}, env: {}, file }).some(
    ({ name, value, from }) => from !== "default" && value !== file[name],
  )

/** File names of the settings whose values can be secret. */
export const listSecretNames = (): readonly string[] => Object.keys(redactions).map(keyNames.file)

/** The name of a key in each source. */
export const keyNames: Readonly<Record<Source, (key: string) => string>> = {
  flag: (key) => `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
  env: (key) => `LATCHKEY_${keyNames.file(key).toUpperCase()}`,
  file: (key) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
}

/** The keys allowed in a source. */
export const keysAllowedIn = (source: Source): string[] =>
  Object.entries(keys).flatMap(([key, { sources: from }]) => (from.includes(source) ? [key] : []))

type SourceValue = { readonly key: string; readonly value: unknown; readonly origin: string }

function readFlags(flags: Sources["flags"]): SourceValue[] {
  return Object.entries(flags).flatMap(([name, value]) =>
    value === undefined ? [] : [createSourceValue("flag", name, { value, origin: name })],
  )
}

/** Empty variables are ignored, because compose files can hardly omit a variable. */
function readEnv(env: Sources["env"]): SourceValue[] {
  return Object.entries(env).flatMap(([name, value]) =>
    value && name.startsWith("LATCHKEY_") && !serviceLink.test(name)
      ? [createSourceValue("env", name, { value, origin: name })]
      : [],
  )
}

/** Kubernetes sets these in every pod of a namespace that has a service called "latchkey". */
const serviceLink = /^LATCHKEY_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP)(_\w+)?)?)$/

function readFile({ file, filePath = "the configuration file" }: Sources): SourceValue[] {
  return Object.entries(file).map(([name, value]) =>
    createSourceValue("file", name, { value, origin: `${name} in ${filePath}` }),
  )
}

function createSourceValue(
  source: Source,
  name: string,
  configured: Omit<SourceValue, "key">,
): SourceValue {
  const nameIn = keyNames[source]
  const key = keysAllowedIn(source).find((candidate) => nameIn(candidate) === name)
  if (key) return { key, ...configured }

  const misplaced = Object.keys(keys).find((candidate) => nameIn(candidate) === name)
  if (misplaced) {
    const alternative = keyNames.env(misplaced)
    throw configError(
      "config.key_misplaced",
      `${configured.origin} is not allowed; use ${alternative}`,
    )
  }
  const closest = findNearest(name, keysAllowedIn(source).map(nameIn))
  const help = closest ? `did you mean ${closest}?` : "latchkey serve --help lists the settings"
  throw configError("config.key_unknown", `${configured.origin} is unknown; ${help}`)
}

const configError = (id: string, message: string) => new Fault("invalid_argument", id, message)

/**
 * Parses a master key in base64 or base64url; undefined unless it is exactly 32 bytes, canonically
 * encoded.
 */
export function parseMasterKey(value: string): Uint8Array | undefined {
  const normalized = value.trim().replace(/=+$/, "").replaceAll("+", "-").replaceAll("/", "_")
  const bytes = Buffer.from(normalized, "base64url")
  const isCanonical = bytes.length === keyLength && bytes.toString("base64url") === normalized
  return isCanonical ? new Uint8Array(bytes) : undefined
}
