import type { Logger } from "@logtape/logtape"
import { findExposedKey } from "../boot/folder/master-key.ts"
import { openLog } from "../boot/logging.ts"
import type { StartInput } from "../boot/running.ts"
import { systemClock } from "../kernel/clock.ts"
import type { Services } from "../kernel/context.ts"
import { type Random, systemRandom } from "../kernel/crypto/random.ts"
import type { Secrets } from "../kernel/crypto/secret.ts"
import { errorText } from "../kernel/fault.ts"
import { createIds } from "../kernel/id.ts"
import { createLimits, type Limits } from "../kernel/limit.ts"
import { createMatcher, socketPeer } from "../kernel/net/address.ts"
import type { Outbound, Outside } from "../kernel/port/outbound.ts"
import type { SystemUser } from "../kernel/system-user.ts"
import { createDirectories } from "../notify/ldap.ts"
import { createOutbound, createReachCheck } from "../notify/outbound.ts"
import { createMailer } from "../notify/smtp.ts"
import { systemNetwork } from "../runtime/network.ts"
import {
  type CallFactory,
  type OpenOptions,
  openKeyring,
  openReadingStore,
  openStore,
  type PendingUpgrade,
  type ReaderProcesses,
  readKeyring,
  type Store,
  toDiskFault,
  type Writer,
} from "../store/index.ts"
import { watchDisk } from "./background/disk-watch.ts"
import { createReadiness, type Readiness } from "./background/readiness.ts"
import type { Meters } from "./metrics/meters.ts"
import { aggregates, views } from "./modules.ts"
import { joinStore } from "./node/join.ts"
import { createLeadership, type Leadership, staleFault } from "./node/leadership.ts"
import { createFiles } from "./operator/files.ts"
import { createFailedSignInLog } from "./rejection-log.ts"
import type { Tracing } from "./tracing/tracing.ts"

/** Options for opening the services. */
export type OpenServicesOptions = {
  readonly meters?: Meters | undefined
  readonly tracing?: ((log: Logger) => Tracing | undefined) | undefined
  /** The data directory is a copy, opened only for reading. */
  readonly isCopy?: boolean
  /** The other processes that read the file. */
  readonly readers?: ReaderProcesses | undefined
  /** Intercepts outgoing messages and requests. */
  readonly intercept?: ((outside: Outside) => Outside) | undefined
}

/** The services of the process. */
export type ServerServices = Services &
  Readiness & {
    readonly store: Store
    readonly log: Logger
    /** Whether a peer is a trusted proxy, whose forwarding headers are used. */
    readonly isProxy: (address: string) => boolean
    /** The client for user-configured URLs. */
    readonly outbound: Outbound
    /** The rate limits per address. */
    readonly limits: Limits
    /** The system users from the configuration. */
    readonly systemUsers: readonly SystemUser[]
    /** The public URL from the configuration, if set. */
    readonly publicUrl: string | undefined
    /** The metrics, if enabled. */
    readonly meters: Meters | undefined
    /** The traces, if enabled. */
    readonly tracing: Tracing | undefined
    /** Creates a call of the process itself on one instance. */
    readonly call: CallFactory
    /** Whether this process does the work that must be done only once. */
    readonly lead: Leadership
  }

/** Opens the store of the data directory and the services that all calls need. */
export function openServices(start: StartInput, opening: OpenServicesOptions = {}): ServerServices {
  const ground = createStoreSetup(start, opening)
  logExposedKey(ground.log, start)
  const { isCopy = false } = opening
  const store = ground.is(openStore({ ...ground.options, isCopy }))
  return createServices(start, ground, { store, ...opening, secrets: openKeyring })
}

/**
 * The same for a configuration that can name a log in PostgreSQL: joins it and resolves when the
 * node has all of it.
 */
export async function joinServices(
  start: StartInput,
  opening: OpenServicesOptions = {},
): Promise<ServerServices> {
  const { database: url } = start.config
  if (url === undefined) return openServices(start, opening)
  const ground = createStoreSetup(start, opening)
  logExposedKey(ground.log, start)
  const { store, secrets } = await joinStore({ ...start, url }, ground)
  ground.is(store)
  return createServices(start, ground, { store, ...opening, secrets: () => secrets })
}

/** The connection of a worker process to the process that writes the file. */
export type WriterConnection = {
  readonly part: number
  readonly writer: Writer
  /** Why the writer is not ready; undefined if it is. */
  readonly notReady: () => string | undefined
}

/** The same for a worker process that reads the file of the writer. */
export function openWorkerServices(
  start: StartInput,
  { part, writer, notReady }: WriterConnection,
  opening: OpenServicesOptions,
): ServerServices {
  const ground = createStoreSetup(start, opening)
  const store = ground.is(openReadingStore({ ...ground.options, part }, writer))
  const services = createServices(start, ground, { store, ...opening, secrets: readKeyring })
  return { ...services, notReady: () => notReady() ?? services.notReady() }
}

type StoreSetup = ReturnType<typeof createStoreSetup>

/** The options of the store and its log messages. */
function createStoreSetup(
  { config, folder }: StartInput,
  { meters, readers }: OpenServicesOptions,
) {
  const log = openLog(config)
  const readiness = createReadiness(log, (cause) => toDiskFault(cause, folder.database))
  const failedSignIns = createFailedSignInLog(log, systemClock)
  const { reportProblem, clearProblem } = readiness
  const rebuilding = (view: string) => `the view ${view} could not be rebuilt`
  let opened: Store | undefined
  const store = () => {
    if (!opened) throw new Error("the store is being opened")
    return opened
  }
  const options: OpenOptions = {
    file: folder.database,
    aggregates,
    views,
    // After this error, the content of the disk is unknown; the next start reads it again.
    fatal: (cause) => {
      log.fatal("disk error, stopping: {cause}", { cause: errorText(cause) })
      process.exit(1)
    },
    notReady: (view, cause) => reportProblem(rebuilding(view), cause),
    ready: (view) => clearProblem(rebuilding(view)),
    appended: (events) => {
      meters?.appended(events)
      failedSignIns.appended(events)
    },
    workers: readers,
    trouble: watchDisk({ ...readiness, clock: systemClock, store }),
    upgrading: (upgrade) => logUpgrade(log, upgrade),
    statesRebuilt: ({ streams, events }) =>
      log.info("rebuilt the states of {streams} from {events} events", {
        streams: streams.join(", "),
        events,
      }),
  }
  const is = (openedStore: Store): Store => {
    opened = openedStore
    return openedStore
  }
  return { log, readiness, options, is, noteStranger: failedSignIns.unknownAccount }
}

function logUpgrade(log: Logger, { bytes, notCopied, ...upgrade }: PendingUpgrade): void {
  const logValues = { ...upgrade, mega: Math.ceil(bytes / 1e6), because: notCopied }
  const states = "rebuilding states of an earlier version: about {seconds} s"
  if (upgrade.from !== upgrade.to)
    log.info(
      "upgrading the tables from version {from} to {to}: about {seconds} s; {mega} MB are " +
        "copied first",
      logValues,
    )
  else if (notCopied === undefined) log.info(`${states}; {mega} MB were copied first`, logValues)
  else log.warning(`${states}; the data could not be copied first: {because}`, logValues)
}

type ServicesParts = OpenServicesOptions & {
  readonly store: Store
  readonly secrets: (store: Store, random: Random, master: Uint8Array) => Secrets
}

function createServices(
  { config, master }: StartInput,
  { log, readiness, noteStranger }: StoreSetup,
  { store, secrets, meters, tracing, intercept = (outside) => outside }: ServicesParts,
): ServerServices {
  const way = { ...systemNetwork, clock: systemClock, allow: config.outboundAllow }
  const web = { ...way, ownPorts: portsIn(config) }
  const outbound = createOutbound(web)
  const shared: Services = {
    clock: systemClock,
    ids: createIds(systemClock, (store.node ?? store.worker)?.part ?? 0, store.newest()),
    random: systemRandom,
    secrets: secrets(store, systemRandom, master),
    outside: intercept({
      send: outbound,
      reach: createReachCheck(web),
      txtRecords: systemNetwork.txtRecords,
      mail: createMailer({ ...way, mailAllow: config.mailAllow }),
      directories: createDirectories(way),
      ...(config.transferFolder && { files: createFiles(config.transferFolder) }),
    }),
    warn: (text) => log.warning("{said}", { said: text }),
    noteStranger,
  }
  return {
    ...shared,
    ...readiness,
    // The reason for a missing log is more specific.
    notReady: () => readiness.notReady() ?? staleFault(store)?.message,
    store,
    log,
    isProxy: createProxyCheck(config),
    outbound,
    limits: createLimits(systemClock, config.limits),
    systemUsers: config.systemUsers,
    publicUrl: config.publicUrl,
    meters,
    tracing: tracing?.(log),
    lead: createLeadership({ store, log, clock: systemClock }),
    call: (instance, name) => ({
      ...shared,
      store,
      instance,
      caller: { kind: "system", name },
      requestId: shared.ids.next(),
      languages: [],
    }),
  }
}

/** The ports of this process. */
const portsIn = (config: StartInput["config"]): readonly number[] =>
  [config.listen, config.grpcListen, config.metricsListen, config.redirectListen].flatMap(
    (location) => (location && "port" in location ? [location.port] : []),
  )

/** Connections to the socket are trusted because of its file permissions. */
function createProxyCheck({ trustedProxies }: StartInput["config"]): ServerServices["isProxy"] {
  const isTrusted = createMatcher(trustedProxies)
  return (address) => address === socketPeer || isTrusted(address)
}

function logExposedKey(
  log: Logger,
  { config, folder }: Pick<StartInput, "config" | "folder">,
): void {
  const exposed = findExposedKey(folder, config)
  if (exposed?.isBesideData)
    log.warning("other users can read the master key ({mode}): run chmod 600 {file}", {
      ...exposed,
    })
  else if (exposed)
    log.info("other users can read the master key in {file} ({mode})", { ...exposed })
}
