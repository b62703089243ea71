import type { Logger } from "@logtape/logtape"
import { exposedKey } from "../boot/folder/master-key.ts"
import { openLog } from "../boot/logging.ts"
import type { Start } from "../boot/running.ts"
import { systemClock } from "../kernel/clock.ts"
import type { Services } from "../kernel/context.ts"
import { systemRandom } from "../kernel/crypto/random.ts"
import { idsOf } from "../kernel/id.ts"
import { type Limits, limitsOf } from "../kernel/limit.ts"
import { matcherOf } from "../kernel/net/address.ts"
import { systemNetwork } from "../kernel/net/network.ts"
import type { Outbound, Outside } from "../kernel/net/outbound.ts"
import type { SystemUser } from "../kernel/system-user.ts"
import { directoriesOf } from "../notify/ldap.ts"
import { outboundOf } from "../notify/outbound.ts"
import { mailerOf } from "../notify/smtp.ts"
import { type Calls, diskFaultOf, openKeyring, openStore, type Store } from "../store/index.ts"
import { diskWatch } from "./background/disk-watch.ts"
import { type Readiness, readinessOf } from "./background/readiness.ts"
import type { Meters } from "./metrics/meters.ts"
import { aggregates, views } from "./modules.ts"

/** What stands around them where somebody wants that. */
export type Wrapping = {
  readonly meters?: Meters | undefined
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
    /** A call of the process itself, on one instance. */
    readonly call: Calls
  }

/** Opens the store of the data folder and everything that every call needs. */
export function openServices(
  { config, folder, master }: Start,
  { meters, catching = (outside) => outside }: Wrapping = {},
): ServerServices {
  const log = openLog(config)
  warnOfExposedKey(log, { config, folder })
  const readiness = readinessOf(log, (cause) => diskFaultOf(cause, folder.database))
  const { broke, mended } = readiness
  const rebuilding = (view: string) => `the view ${view} can't be rebuilt`
  const store: Store = openStore({
    file: folder.database,
    aggregates,
    views,
    // Nobody knows what is on disk any more: the next start reads what really is.
    fatal: (cause) => {
      log.fatal("the disk failed; stopping: {cause}", { cause: String(cause) })
      process.exit(1)
    },
    notReady: (view, cause) => broke(rebuilding(view), cause),
    ready: (view) => mended(rebuilding(view)),
    appended: meters?.appended,
    trouble: diskWatch({ ...readiness, clock: systemClock, store: () => store }),
    statesRebuilt: ({ streams, events }) =>
      log.info("folded the states of {streams} anew, from {events} events", {
        streams: streams.join(", "),
        events,
      }),
  })
  const random = systemRandom
  const secrets = openKeyring(store, random, master)
  const way = { ...systemNetwork, clock: systemClock, allow: config.outboundAllow }
  const outbound = outboundOf(way)
  const shared: Services = {
    clock: systemClock,
    ids: idsOf(systemClock, 0, store.newest()),
    random,
    secrets,
    outside: catching({
      ...{ send: outbound, texts: systemNetwork.texts },
      ...{ mail: mailerOf(way), directories: directoriesOf(way) },
    }),
    warn: (said) => log.warning("{said}", { said }),
  }
  return {
    ...shared,
    ...readiness,
    store,
    log,
    isProxy: matcherOf(config.trustedProxies),
    outbound,
    limits: limitsOf(systemClock, config.limits),
    systemUsers: config.systemUsers,
    publicUrl: config.publicUrl,
    meters,
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

function warnOfExposedKey(log: Logger, { config, folder }: Pick<Start, "config" | "folder">): void {
  const exposed = exposedKey(folder, config)
  if (exposed?.isBesideData)
    log.warning("others may use the master key ({mode}): run chmod 600 {file}", { ...exposed })
  else if (exposed) log.info("others may use the master key in {file} ({mode})", { ...exposed })
}
