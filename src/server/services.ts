import type { Logger } from "@logtape/logtape"
import { exposedKey } from "../boot/folder/master-key.ts"
import { openLog } from "../boot/logging.ts"
import type { Start } from "../boot/running.ts"
import { systemClock } from "../kernel/clock.ts"
import type { Services } from "../kernel/context.ts"
import { type Random, systemRandom } from "../kernel/crypto/random.ts"
import type { Secrets } from "../kernel/crypto/secret.ts"
import { reasonText } from "../kernel/fault.ts"
import { idsOf } from "../kernel/id.ts"
import { type Limits, limitsOf } from "../kernel/limit.ts"
import { matcherOf, socketPeer } from "../kernel/net/address.ts"
import type { Outbound, Outside } from "../kernel/port/outbound.ts"
import type { SystemUser } from "../kernel/system-user.ts"
import { directoriesOf } from "../notify/ldap.ts"
import { outboundOf, reachOf } from "../notify/outbound.ts"
import { mailerOf } from "../notify/smtp.ts"
import { systemNetwork } from "../runtime/network.ts"
import {
  type Calls,
  diskFaultOf,
  type OpenOptions,
  openKeyring,
  openReading,
  openStore,
  type Readers,
  readKeyring,
  type Store,
  type Upgrading,
  type Writer,
} from "../store/index.ts"
import { diskWatch } from "./background/disk-watch.ts"
import { type Readiness, readinessOf } from "./background/readiness.ts"
import type { Meters } from "./metrics/meters.ts"
import { aggregates, views } from "./modules.ts"
import { joinStore } from "./node/join.ts"
import { type Lead, leadOf, staleFault } from "./node/lead.ts"
import { filesIn } from "./operator/files.ts"
import { failedSignInLog } from "./refusal-log.ts"
import type { Tracing } from "./tracing/tracing.ts"

/** What is wanted of them beside the usual. */
export type Opening = {
  readonly meters?: Meters | undefined
  readonly tracing?: ((log: Logger) => Tracing | undefined) | undefined
  /** The data folder is a copy, to be looked at alone. */
  readonly isCopy?: boolean
  /** The processes that read the file beside this one. */
  readonly readers?: Readers | undefined
  /** Takes something that would go out. */
  readonly catching?: ((outside: Outside) => Outside) | undefined
}

/** What everything in the process stands on. */
export type ServerServices = Services &
  Readiness & {
    readonly store: Store
    readonly log: Logger
    /** Whether a peer is one of the proxies whose forwarded headers count. */
    readonly isProxy: (address: string) => boolean
    /** The way out, to what people entered. */
    readonly outbound: Outbound
    /** What each address may still cost. */
    readonly limits: Limits
    /** Who may manage instances, by the configuration. */
    readonly systemUsers: readonly SystemUser[]
    /** The public address, where the configuration says it. */
    readonly publicUrl: string | undefined
    /** Where metrics are wanted, what counts. */
    readonly meters: Meters | undefined
    /** Where traces are wanted, what traces. */
    readonly tracing: Tracing | undefined
    /** A call of the process itself, on one instance. */
    readonly call: Calls
    /** Whether this process does what must be done once. */
    readonly lead: Lead
  }

/** Opens the store of the data folder and everything that every call needs. */
export function openServices(start: Start, opening: Opening = {}): ServerServices {
  const ground = groundOf(start, opening)
  warnOfExposedKey(ground.log, start)
  const { isCopy = false } = opening
  const store = ground.is(openStore({ ...ground.options, isCopy }))
  return servicesOn(start, ground, { store, ...opening, secrets: openKeyring })
}

/**
 * The same where the configuration may name a log in PostgreSQL: joins it, and has all of it when
 * this resolves.
 */
export async function joinServices(start: Start, opening: Opening = {}): Promise<ServerServices> {
  const { database: url } = start.config
  if (url === undefined) return openServices(start, opening)
  const ground = groundOf(start, opening)
  warnOfExposedKey(ground.log, start)
  const { store, secrets } = await joinStore({ ...start, url }, ground)
  ground.is(store)
  return servicesOn(start, ground, { store, ...opening, secrets: () => secrets })
}

/** One of several processes that read the file which another one writes. */
export type Beside = {
  readonly part: number
  readonly writer: Writer
  /** Why the other one is not ready; undefined where it is. */
  readonly notReady: () => string | undefined
}

/** The same of a process that reads a file which another one has open, and writes. */
export function openServicesBeside(
  start: Start,
  { part, writer, notReady }: Beside,
  opening: Opening,
): ServerServices {
  const ground = groundOf(start, opening)
  const store = ground.is(openReading({ ...ground.options, part }, writer))
  const services = servicesOn(start, ground, { store, ...opening, secrets: readKeyring })
  return { ...services, notReady: () => notReady() ?? services.notReady() }
}

type Ground = ReturnType<typeof groundOf>

/** What the store is opened with, and what it tells of itself. */
function groundOf({ config, folder }: Start, { meters, readers }: Opening) {
  const log = openLog(config)
  const readiness = readinessOf(log, (cause) => diskFaultOf(cause, folder.database))
  const failedSignIns = failedSignInLog(log, systemClock)
  const { broke, mended } = readiness
  const rebuilding = (view: string) => `the view ${view} can't be rebuilt`
  let opened: Store | undefined
  const store = () => {
    if (!opened) throw new Error("the store is being opened")
    return opened
  }
  const options: OpenOptions = {
    file: folder.database,
    aggregates,
    views,
    // Nobody knows what is on disk any more: the next start reads what really is.
    fatal: (cause) => {
      log.fatal("the disk failed; stopping: {cause}", { cause: reasonText(cause) })
      process.exit(1)
    },
    notReady: (view, cause) => broke(rebuilding(view), cause),
    ready: (view) => mended(rebuilding(view)),
    appended: (events) => {
      meters?.appended(events)
      failedSignIns.appended(events)
    },
    workers: readers,
    trouble: diskWatch({ ...readiness, clock: systemClock, store }),
    upgrading: (what) => tellUpgrading(log, what),
    statesRebuilt: ({ streams, events }) =>
      log.info("folded the states of {streams} anew, from {events} events", {
        streams: streams.join(", "),
        events,
      }),
  }
  const is = (made: Store): Store => {
    opened = made
    return made
  }
  return { log, readiness, options, is, noteStranger: failedSignIns.stranger }
}

function tellUpgrading(log: Logger, { bytes, notCopied, ...what }: Upgrading): void {
  const told = { ...what, mega: Math.ceil(bytes / 1e6), because: notCopied }
  const states = "computing states of an earlier version again: about {seconds} s"
  if (what.from !== what.to)
    log.info(
      "upgrading the tables from {from} to {to}: about {seconds} s; {mega} MB are copied first",
      told,
    )
  else if (notCopied === undefined) log.info(`${states}; {mega} MB were copied first`, told)
  else log.warning(`${states}; the data is not copied first: {because}`, told)
}

type Made = Opening & {
  readonly store: Store
  readonly secrets: (store: Store, random: Random, master: Uint8Array) => Secrets
}

function servicesOn(
  { config, master }: Start,
  { log, readiness, noteStranger }: Ground,
  { store, secrets, meters, tracing, catching = (outside) => outside }: Made,
): ServerServices {
  const way = { ...systemNetwork, clock: systemClock, allow: config.outboundAllow }
  const web = { ...way, ownPorts: portsOf(config) }
  const outbound = outboundOf(web)
  const shared: Services = {
    clock: systemClock,
    ids: idsOf(systemClock, (store.node ?? store.worker)?.part ?? 0, store.newest()),
    random: systemRandom,
    secrets: secrets(store, systemRandom, master),
    outside: catching({
      send: outbound,
      reach: reachOf(web),
      texts: systemNetwork.texts,
      mail: mailerOf({ ...way, mailAllow: config.mailAllow }),
      directories: directoriesOf(way),
      ...(config.transferFolder && { files: filesIn(config.transferFolder) }),
    }),
    warn: (said) => log.warning("{said}", { said }),
    noteStranger,
  }
  return {
    ...shared,
    ...readiness,
    // Why the log can't be followed says more than that it was not.
    notReady: () => readiness.notReady() ?? staleFault(store)?.message,
    store,
    log,
    isProxy: isProxyOf(config),
    outbound,
    limits: limitsOf(systemClock, config.limits),
    systemUsers: config.systemUsers,
    publicUrl: config.publicUrl,
    meters,
    tracing: tracing?.(log),
    lead: leadOf({ store, log, clock: systemClock }),
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

/** The ports that this process answers at, whatever it is behind. */
const portsOf = (config: Start["config"]): readonly number[] =>
  [config.listen, config.grpcListen, config.metricsListen, config.redirectListen].flatMap(
    (place) => (place && "port" in place ? [place.port] : []),
  )

/** Who comes by our socket was let through by its mode. */
function isProxyOf({ trustedProxies }: Start["config"]): ServerServices["isProxy"] {
  const isTrusted = matcherOf(trustedProxies)
  return (address) => address === socketPeer || isTrusted(address)
}

function warnOfExposedKey(log: Logger, { config, folder }: Pick<Start, "config" | "folder">): void {
  const exposed = exposedKey(folder, config)
  if (exposed?.isBesideData)
    log.warning("others may use the master key ({mode}): run chmod 600 {file}", { ...exposed })
  else if (exposed) log.info("others may use the master key in {file} ({mode})", { ...exposed })
}
