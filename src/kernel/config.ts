import { keyLength } from "./crypto/secret.ts"
import { Fault } from "./fault.ts"
import { addressOf, placeOf, rangeOf } from "./net/address.ts"
import { mailAllowedOf, outboundAllowedOf } from "./setting/allow-list.ts"
import {
  acmeChallenges,
  type Described,
  described,
  logFormats,
  logLevels,
  type Source,
  tlsCipherKinds,
  tlsKinds,
} from "./setting/described.ts"
import { choice, list, optional, type Reading, table, text, usually } from "./setting/reading.ts"
import {
  countOf,
  databaseOf,
  daysOf,
  drainOf,
  emailOf,
  headerOf,
  limitsFactorOf,
  originOf,
  pathOf,
  recipientOf,
  secureUrlOf,
  shareOf,
  webUrlOf,
  withoutAll,
  withoutToken,
  workersOf,
} from "./setting/value.ts"
import { systemUsersOf } from "./system-user.ts"
import { nearest } from "./text/nearest.ts"

const letsEncrypt = "https://acme-v02.api.letsencrypt.org/directory"

/** Every setting: how what is given is read, and what holds where nothing is. */
const settings = {
  data: usually(text("the path of a folder", pathOf), "latchkey-data"),
  config: optional(text("the path of a TOML file", pathOf)),
  // Plain HTTP belongs behind a proxy: other machines reach it only when someone says so.
  listen: usually(
    text("HOST:PORT, such as 127.0.0.1:8080, or unix:PATH", placeOf),
    "127.0.0.1:8080",
  ),
  grpcListen: usually(text("HOST:PORT, such as 127.0.0.1:8081", addressOf), "127.0.0.1:8081"),
  metricsListen: optional(text("HOST:PORT, such as 127.0.0.1:9464", addressOf)),
  traces: optional(text("an address such as http://127.0.0.1:4318/v1/traces", webUrlOf)),
  traceShare: optional(text("a number above 0 and up to 1, such as 0.1", shareOf)),
  workers: usually(text("a whole number from 1 to 64, such as 2", workersOf), "1"),
  database: optional(text("an address such as postgres://user@host/name", databaseOf)),
  tlsCert: usually(list("paths of PEM files", pathOf), []),
  tlsKey: usually(list("paths of PEM files", pathOf), []),
  tls: optional(choice(tlsKinds)),
  tlsCiphers: usually(choice(tlsCipherKinds), "strict"),
  acmeDirectory: usually(text("an address with https://", secureUrlOf), letsEncrypt),
  acmeChallenge: usually(choice(acmeChallenges), "http-01"),
  acmeEmail: optional(text("an e-mail address", emailOf)),
  acmeTerms: optional(choice(["agreed"])),
  acmeRoot: optional(text("the path of a PEM file", pathOf)),
  redirectListen: optional(text("HOST:PORT, such as :80", addressOf)),
  publicUrl: optional(
    text(
      "an address such as https://id.example.com, without a path: the host name can't be shared",
      originOf,
    ),
  ),
  masterKey: optional(text("32 bytes in base64", masterKeyBytes)),
  masterKeyFile: optional(text("the path of a file", pathOf)),
  trustedProxies: usually(list("addresses or blocks, such as 10.0.0.0/8", rangeOf), []),
  outboundAllow: usually(
    list("addresses, blocks or host names, such as 10.0.0.0/8", outboundAllowedOf),
    [],
  ),
  mailAllow: usually(list("INSTANCE=HOST:PORT, such as 1=mail.lan:587", mailAllowedOf), []),
  transferFolder: optional(text("the path of a folder", pathOf)),
  auditRetentionDays: usually(text("a whole number of days, such as 90", daysOf), "90"),
  auditCollector: optional(text("an address such as https://logs.example.com/in", webUrlOf)),
  auditCollectorAuthorization: optional(text("a header's value, such as Bearer …", headerOf)),
  backupFolder: optional(text("the path of a folder, or s3://BUCKET/PREFIX", pathOf)),
  backupEveryHours: usually(text("a whole number of hours, such as 24", countOf), "24"),
  backupKeep: usually(text("a whole number, such as 14", countOf), "14"),
  backupRecipient: optional(text("a public key of age, age1…", recipientOf)),
  s3Endpoint: optional(text("an address such as https://s3.example.com", webUrlOf)),
  s3Region: usually(text("a name such as eu-central-1", headerOf), "us-east-1"),
  s3KeyId: optional(text("an access key", headerOf)),
  s3Secret: optional(text("the secret of an access key", headerOf)),
  s3SecretFile: optional(text("the path of a file", pathOf)),
  apply: optional(text("the path of a YAML file, or of a folder of them", pathOf)),
  systemUsers: { ...table(systemUsersOf), standard: [] },
  limits: usually(text("a number above 0, such as 2, or off", limitsFactorOf), "1"),
  drainSeconds: optional(text("a whole number of seconds from 0 to 300, such as 5", drainOf)),
  logLevel: usually(choice(logLevels), "info"),
  logFormat: usually(choice(logFormats), "text"),
} satisfies Readonly<Record<string, Reading<unknown>>>

type Read = { readonly [K in keyof typeof settings]: ValueOf<(typeof settings)[K]> }

type ValueOf<R> = R extends Reading<infer T> ? T : never

/** What has a value only where one is given. */
type Optional = { [K in keyof Read]: undefined extends Read[K] ? K : never }[keyof Read]

/** Everything that can be configured, read and checked. */
export type Config = Readonly<Omit<Read, Optional> & Partial<Pick<Read, Optional>>>

type Key = keyof Config

/** Where each key may be given, and what it means to the reader. */
export const keys: Readonly<Record<Key, Described>> = described

/** Names and raw values as they were found. `filePath` only names the file in messages. */
export type Sources = {
  readonly flags: Readonly<Record<string, string | undefined>>
  readonly env: Readonly<Record<string, string | undefined>>
  readonly file: Readonly<Record<string, unknown>>
  readonly filePath?: string
}

/**
 * Reads the configuration: flags win over the environment (LATCHKEY_*), that over the file, that
 * over the defaults. Refuses unknown keys, naming the nearest known one, and bad values, naming
 * where they came from.
 */
export function configOf(sources: Sources): Config {
  const given = givenIn(sources)
  const config = readAll(given)
  if (config.masterKey && config.masterKeyFile) {
    const origins = [given.get("masterKey")?.origin, given.get("masterKeyFile")?.origin]
    throw refusalError("config.master_key_twice", `${origins.join(" and ")} exclude each other`)
  }
  const named = (key: Key) => given.get(key)?.origin ?? spelling.flag(key)
  checkTls(config, named)
  checkBackups(config, named)
  checkWorkers(config, named)
  return config
}

function readAll(given: ReadonlyMap<string, Given>): Config {
  const wrong: string[] = []
  const values = Object.entries<Reading<unknown>>(settings).flatMap(([key, { read, standard }]) => {
    const found = given.get(key)
    if (!found) return standard === undefined ? [] : [[key, standard]]
    const outcome = read(found.value)
    if ("value" in outcome) return [[key, outcome.value]]
    wrong.push(`${found.origin} ${outcome.wrong}`)
    return []
  })
  if (wrong.length > 0) throw refusalError("config.value_invalid", wrong.join("; "))
  // `Config` is made of what each setting reads; no type of the language follows a loop over them.
  return Object.fromEntries(values)
}

/** Refuses certificates without their keys, and what makes no sense without a certificate. */
function checkTls(config: Config, named: (key: Key) => string): void {
  const { tls, tlsCert, tlsKey, redirectListen, listen, acmeChallenge } = config
  const hasTls = tls !== undefined || tlsCert.length > 0
  const refuse = (message: string) => refusalError("config.tls_incomplete", message)
  if (tlsCert.length !== tlsKey.length) {
    throw refuse(`${named("tlsCert")} and ${named("tlsKey")} must name as many files`)
  }
  if (redirectListen && !hasTls) {
    throw refuse(`${named("redirectListen")} needs ${spelling.flag("tlsCert")} or --tls`)
  }
  if ("path" in listen && hasTls) {
    const given = tls ? named("tls") : named("tlsCert")
    throw refuse(`${given} needs a port: nobody speaks TLS over a socket`)
  }
  if (acmeChallenge !== "http-01" && tls !== "acme") {
    throw refuse(`${named("acmeChallenge")} ${acmeChallenge} needs ${spelling.flag("tls")} acme`)
  }
  if (tls) checkOwnTls(config, named, refuse)
}

/** Where the log is in PostgreSQL, the folder has nothing that would be missed. */
function checkBackups({ backupFolder, database }: Config, named: (key: Key) => string): void {
  if (backupFolder === undefined || database === undefined) return
  const instead = `what ${named("database")} names is saved by PostgreSQL's own means`
  throw refusalError(
    "config.backup_elsewhere",
    `${named("backupFolder")} saves nothing: ${instead}`,
  )
}

/** Several processes share a port; what only one can have leads to none of the others. */
function checkWorkers(
  { workers, database, tls, listen }: Config,
  named: (key: Key) => string,
): void {
  if (workers === 1) return
  const refuse = (why: string) =>
    refusalError("config.workers_alone", `${named("workers")} above 1 ${why}`)
  if (database !== undefined) {
    const instead = "start several nodes instead, each with a folder of its own"
    throw refuse(`is for a log in the data folder, without ${named("database")}; ${instead}`)
  }
  if ("path" in listen) throw refuse(`needs a port: ${named("listen")} names a socket`)
  if (tls) {
    const instead = `name files with ${spelling.flag("tlsCert")}, or have a proxy do it`
    throw refuse(`can't be had with ${named("tls")}; ${instead}`)
  }
}

/** Refuses certificates by themselves beside others, and where they could not be got. */
function checkOwnTls(
  { tls, tlsCert, database, redirectListen, acmeChallenge, acmeTerms, acmeDirectory }: Config,
  named: (key: Key) => string,
  refuse: (message: string) => Fault,
): void {
  if (tlsCert.length > 0) {
    throw refuse(`${named("tls")} and ${named("tlsCert")} exclude each other`)
  }
  if (database !== undefined) {
    const instead = "leave TLS to the proxy in front of the nodes, or name files"
    throw refuse(`${named("tls")} is for one node alone, without ${named("database")}; ${instead}`)
  }
  if (tls !== "acme") return
  if (!redirectListen && acmeChallenge === "http-01") {
    const why = "the authority comes there to see whose the name is"
    const without = `${spelling.flag("acmeChallenge")} tls-alpn-01 does without`
    const wanted = `${spelling.flag("redirectListen")} :80`
    throw refuse(`${named("tls")} acme needs ${wanted}; ${why}; ${without}`)
  }
  if (acmeTerms !== "agreed") {
    const host = new URL(acmeDirectory).host
    const how = `${spelling.flag("acmeTerms")} agreed`
    throw refuse(`${named("tls")} acme needs ${how}: that you accept the terms of ${host}`)
  }
}

/** What was given, by key, as it counts. Refuses what is not known. */
function givenIn(sources: Sources): ReadonlyMap<string, Given> {
  const all = [...fromFile(sources), ...fromEnv(sources.env), ...fromFlags(sources.flags)]
  return new Map(all.map((entry) => [entry.key, entry]))
}

/** A setting as an operator looks at it; `value` is null where nothing was given. */
export type Setting = {
  /** As the file spells it. */
  readonly name: string
  readonly value: unknown
  /** Where it was given; "default" where nowhere. */
  readonly from: string
}

/** Every setting, where it comes from, and what was given; no secret. */
export function settingsOf(sources: Sources): readonly Setting[] {
  const given = givenIn(sources)
  return Object.keys(keys).map((key) => {
    const found = given.get(key)
    const value = found ? (hiding[key]?.(found.value) ?? found.value) : null
    return { name: spelling.file(key), value, from: found?.origin ?? "default" }
  })
}

/** What is shown instead, where a secret is given or may be in it. */
const hiding: Readonly<Record<string, (value: unknown) => string>> = {
  masterKey: withoutAll,
  database: withoutAll,
  s3Secret: withoutAll,
  auditCollectorAuthorization: withoutAll,
  auditCollector: withoutToken,
  traces: withoutToken,
} satisfies Partial<Record<Key, unknown>>

/**
 * Whether a file holds what is not shown, however it is spelled. Faults where it has what is not
 * known: that may be anything.
 */
export const hasSecret = (file: Sources["file"]): boolean =>
  settingsOf({ flags: {}, env: {}, file }).some(
    ({ name, value, from }) => from !== "default" && value !== file[name],
  )

/** What settings are called in the file whose values may be secret. */
export const secretNames = (): readonly string[] => Object.keys(hiding).map(spelling.file)

/** How a key is spelled in each source. */
export const spelling: Readonly<Record<Source, (key: string) => string>> = {
  flag: (key) => `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
  env: (key) => `LATCHKEY_${spelling.file(key).toUpperCase()}`,
  file: (key) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
}

/** The keys that may be given in `source`. */
export const keysFrom = (source: Source): string[] =>
  Object.entries(keys).flatMap(([key, { from }]) => (from.includes(source) ? [key] : []))

type Given = { readonly key: string; readonly value: unknown; readonly origin: string }

function fromFlags(flags: Sources["flags"]): Given[] {
  return Object.entries(flags).flatMap(([name, value]) =>
    value === undefined ? [] : [given("flag", name, { value, origin: name })],
  )
}

/** An empty variable counts as not set, as compose files can hardly leave one out. */
function fromEnv(env: Sources["env"]): Given[] {
  return Object.entries(env).flatMap(([name, value]) =>
    value && name.startsWith("LATCHKEY_") && !serviceLink.test(name)
      ? [given("env", name, { value, origin: name })]
      : [],
  )
}

/** Kubernetes sets these in every pod of a namespace that has a service called "latchkey". */
const serviceLink = /^LATCHKEY_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP)(_\w+)?)?)$/

function fromFile({ file, filePath = "the configuration file" }: Sources): Given[] {
  return Object.entries(file).map(([name, value]) =>
    given("file", name, { value, origin: `${name} in ${filePath}` }),
  )
}

function given(source: Source, name: string, found: Omit<Given, "key">): Given {
  const spell = spelling[source]
  const key = keysFrom(source).find((known) => spell(known) === name)
  if (key) return { key, ...found }

  const elsewhere = Object.keys(keys).find((known) => spell(known) === name)
  if (elsewhere) {
    const instead = spelling.env(elsewhere)
    throw refusalError("config.key_misplaced", `${found.origin} is not allowed; use ${instead}`)
  }
  const closest = nearest(name, keysFrom(source).map(spell))
  const help = closest ? `did you mean ${closest}?` : "latchkey serve --help lists the settings"
  throw refusalError("config.key_unknown", `${found.origin} is not known; ${help}`)
}

const refusalError = (id: string, message: string) => new Fault("invalid_argument", id, message)

/** Reads a master key in base64 or base64url; undefined unless it is 32 bytes, spelled cleanly. */
export function masterKeyBytes(value: string): Uint8Array | undefined {
  const plain = value.trim().replace(/=+$/, "").replaceAll("+", "-").replaceAll("/", "_")
  const bytes = Buffer.from(plain, "base64url")
  const clean = bytes.length === keyLength && bytes.toString("base64url") === plain
  return clean ? new Uint8Array(bytes) : undefined
}
