import { readCertificates } from "../boot/edge/certificate.ts"
import {
  type RecoveryPreview,
  type RecoveryRequest,
  type RecoveryResult,
  recoveryRequest,
} from "../boot/recovery.ts"
import type { RunningServer, StartInput } from "../boot/running.ts"
import { type SetupRequest, setupRequest } from "../boot/setup.ts"
import { saveSetupLink } from "../boot/setup-link.ts"
import { type ListenAddress, localOrigin, socketPeer } from "../kernel/net/address.ts"
import { createApp, watchersOf } from "./app.ts"
import type { CollectorHandle } from "./background/audit-collector.ts"
import { type Background, startBackground } from "./background/background.ts"
import { startCacheRelease } from "./background/cache-release.ts"
import { startApplicationExpiry } from "./background/expiring.ts"
import { startInspection } from "./background/inspecting.ts"
import { startMemoryTrim } from "./background/memory-trim.ts"
import { startDroppingUpgradeCopy } from "./background/old-tables.ts"
import { watchOwners } from "./background/owner-watch.ts"
import { startPurging } from "./background/purging.ts"
import { startKeyRotation } from "./background/rotation.ts"
import { limitConnections } from "./edge/connections.ts"
import { openHttpEdge } from "./edge/http.ts"
import { type Listener, listenGrpc, listenMetrics } from "./listener.ts"
import { reactors } from "./modules.ts"
import { createDoctorControl, doctorRoutes } from "./operator/doctor.ts"
import { createEventControl } from "./operator/events.ts"
import { createSelfCheckControl, startRemovingTemporary } from "./operator/self-check.ts"
import { createTransferControl } from "./operator/transfer.ts"
import { joinServices, type ServerServices } from "./services.ts"
import { previewRecovery, recover } from "./setup/recovery.ts"
import { applyPublicUrl, setUpByRequest } from "./setup/setup.ts"
import { setupLinks } from "./setup/setup-links.ts"
import { createSetupToken, type SetupToken } from "./setup/setup-token.ts"
import { loadTracing } from "./tracing/start.ts"
import { createWorkers, type Workers } from "./worker/workers.ts"

export { type DrillResult, drill } from "./operator/drill.ts"
export { prepareMaster, takeMaster } from "./operator/master-key.ts"
export { moveLogFromPostgres, moveLogToPostgres } from "./operator/move.ts"
export { runLocalSelfCheck } from "./operator/self-check.ts"
export { withLocalTransfer } from "./operator/transfer.ts"
export { planUpgrade } from "./operator/upgrade.ts"

/** Opens the data directory, serves both listeners, and returns the URLs. */
export async function serve(start: StartInput): Promise<RunningServer> {
  const { config, folder } = start
  const meters = config.metricsListen && (await import("./metrics/meters.ts")).createMeters()
  const files = readCertificates(config)
  const development = await loadDevelopment(start)
  const { catching: intercept } = development ?? {}
  const tracing = await loadTracing(start)
  const workers = createWorkers(start)
  const readers = workers?.readers
  const services = await joinServices(start, { meters, tracing, intercept, readers })
  await services.lead.begin()
  await applyPublicUrl(services, config.publicUrl)
  await development?.seed(services)
  const describing = await startDescriptionApply(start, services)
  await describing?.setUp()
  const setupToken = createSetupToken(services, () => saveSetupLink(folder, undefined))
  let collecting: CollectorHandle | undefined
  const doctor = createDoctorControl(services, {
    untaken: () => collecting?.uncollected(),
    described: () => describing?.condition(),
  })
  const upstream = upstreamUrlOf(config)
  const areas = [doctorRoutes(services, doctor.came), ...(development?.areas(services) ?? [])]
  const marking = development ? [development.watcher] : []
  const app = createApp({ services, setupToken, upstream, areas, ...watchersOf(services, marking) })

  const listeners: Listener[] = []
  const working: { readonly stop: () => Promise<void> }[] = []
  const stop = async () => {
    // The other processes still need the writer for their responses.
    await Promise.all([workers, ...listeners].map((each) => each?.stop()))
    await Promise.all(working.map((each) => each.stop()))
    await closeServices(services)
  }
  try {
    listeners.push(await listenGrpc(app, config.grpcListen))
    const edge = await openHttpEdge(services, start, { app, files, sharing: workers && "first" })
    listeners.unshift(...edge.listeners)
    working.push(...edge.tasks)
    // Nothing was changed if the port is already in use.
    collecting = await startAuditCollector(start, services)
    const background = startBackground(services, reactors(services.call, services.outbound), {
      ...config,
      collecting,
    })
    working.push(background, ...(collecting ? [collecting] : []))
    listeners.push(...(await startMetrics(start, services, { background, workers })))
    working.push(
      ...startPeriodicWork(start, services, background.passed),
      ...(await startScheduledBackups(services, start)),
    )
    working.push(...(describing ? [describing.begin()] : []))
    working.push(await limitConnections(services, listeners))
    const port = listeners[0]?.port ?? 0
    await workers?.begin(services, { port, upstream, came: doctor.came, setupToken })
  } catch (cause) {
    await stop()
    throw cause
  }
  const isTls = files.length > 0 || config.tls !== undefined
  const url = urlOf(config.listen, listeners[0]?.port, isTls)
  const base = config.publicUrl ?? ("path" in config.listen ? "http://localhost" : url)
  const link = () => `${base}/setup#${setupToken.renew()}`
  return {
    url,
    setupUrls: setupToken.isOpen() ? setupLinks(link(), config) : [],
    drain: () => drain(services, config, { listeners, workers }),
    stop,
    control: { ...doctor.commands, ...createControl(start, services, { setupToken, link }) },
  }
}

type ServeState = { readonly setupToken: SetupToken; readonly link: () => string }

/** The commands of a running server for the command line. */
const createControl = (
  { config, folder }: StartInput,
  services: ServerServices,
  { setupToken, link }: ServeState,
): RunningServer["control"] => ({
  ...createEventControl(services),
  ...createTransferControl(services),
  ...createSelfCheckControl(services),
  "setup-link": async () => {
    const [fresh = ""] = setupLinks(link(), config)
    saveSetupLink(folder, fresh)
    return fresh
  },
  recover: (input) => recover(services, recoveryRequest.parse(input)),
  "recover-preview": async (input) => previewRecovery(services, recoveryRequest.parse(input)),
  setup: async (input) => {
    await setUpByRequest(services, setupRequest.parse(input))
    setupToken.close()
  },
})

async function loadDevelopment({ development, hasFixedKeys = false }: StartInput) {
  if (development === undefined) return undefined
  return (await import("./development/development.ts")).createDevelopment(development, hasFixedKeys)
}

/** Applies description files, if the configuration names them. */
async function startDescriptionApply({ config, env }: StartInput, services: ServerServices) {
  if (config.apply === undefined) return undefined
  const { createDescriptionApplier } = await import("./operator/description.ts")
  return createDescriptionApplier(services, {
    path: config.apply,
    publicUrl: config.publicUrl,
    env,
  })
}

/** The time that the load balancer of a node needs; a single server has no alternative. */
const nodeDrainSeconds = 3

type DrainInput = {
  readonly listeners: readonly Listener[]
  readonly workers: Workers | undefined
}

/** Resolves when load balancers that check `/debug/ready` have had time to redirect requests. */
async function drain(
  { startStopping, log, clock }: ServerServices,
  { database, drainSeconds: seconds = database ? nodeDrainSeconds : 0 }: StartInput["config"],
  { listeners, workers }: DrainInput,
): Promise<void> {
  if (seconds === 0) return
  log.info("not ready because the server is stopping; serving requests for another {seconds} s", {
    seconds,
  })
  startStopping()
  for (const listener of listeners) listener.startClosing?.()
  const wait = new Promise<void>((done) => void clock.after(seconds * 1000, done))
  await Promise.all([workers?.leave(), wait])
}

async function closeServices({ lead, store, tracing }: ServerServices): Promise<void> {
  await lead.stop()
  await store.close()
  await tracing?.stop()
}

/** The periodic work while the server runs. */
const startPeriodicWork = (
  { folder }: StartInput,
  services: ServerServices,
  passed: () => number,
) => [
  startKeyRotation(services),
  startApplicationExpiry(services),
  watchOwners(services),
  startInspection(services),
  startPurging(services, passed),
  startCacheRelease(services),
  startMemoryTrim(services),
  startDroppingUpgradeCopy(services, folder.database),
  startRemovingTemporary(services),
]

/** Scheduled backups, if the configuration enables them. */
async function startScheduledBackups(services: ServerServices, { config, folder }: StartInput) {
  if (config.backupFolder === undefined) return []
  const { startBackups, backupInProcess } = await import("./background/backups.ts")
  const { getLabel } = await import("../boot/backup/rotation.ts")
  const { locationAt } = await import("../boot/backup/location.ts")
  const location = locationAt(config.backupFolder, config)
  const options = { ...config, place: location, label: getLabel(folder, services.random) }
  return [startBackups(services, options, backupInProcess(config, services.log))]
}

/** The metrics listener, if the configuration enables it. */
async function startMetrics(
  { config: { metricsListen } }: StartInput,
  services: ServerServices,
  {
    background,
    workers,
  }: { readonly background: Background; readonly workers?: Workers | undefined },
): Promise<readonly Listener[]> {
  const { meters } = services
  if (metricsListen === undefined || !meters) return []
  const { addGauges } = await import("./metrics/gauges.ts")
  addGauges(meters.registry, { services, reactors: background.reactors })
  const all = workers?.metered(meters.registry) ?? meters.registry
  return [listenMetrics(all, metricsListen, services.clock)]
}

/** Sends all events to a collector, if the configuration names one. */
async function startAuditCollector(
  { config }: StartInput,
  services: ServerServices,
): Promise<CollectorHandle | undefined> {
  const { auditCollector: url, auditCollectorAuthorization: authorization } = config
  if (url === undefined) return undefined
  const { startCollecting } = await import("./background/audit-collector.ts")
  return startCollecting(services, { url, authorization })
}

/** The URL of this process on its machine, with the actual port. */
function urlOf(location: ListenAddress, port: number | undefined, isTls: boolean): string {
  if ("path" in location) return `${socketPeer}${location.path}`
  return localOrigin({ ...location, port: port ?? location.port }, isTls ? "https" : "http")
}

/** The URL to configure in a proxy on the same machine. */
const upstreamUrlOf = ({ listen, tls, tlsCert }: StartInput["config"]): string =>
  urlOf(listen, undefined, tls !== undefined || tlsCert.length > 0)

/** Runs the setup without serving: opens the store, sets up, closes it. */
export async function setup(start: StartInput, request: SetupRequest): Promise<void> {
  const services = await joinServices(start)
  try {
    await setUpByRequest(services, request)
  } finally {
    await services.store.close()
  }
}

/** The factors that `recoverLocally` would remove. */
export async function previewLocalRecovery(
  start: StartInput,
  request: RecoveryRequest,
): Promise<RecoveryPreview> {
  const services = await joinServices(start)
  try {
    return previewRecovery(services, request)
  } finally {
    await services.store.close()
  }
}

/** Recovers an owner without serving; see `recover`. */
export async function recoverLocally(
  start: StartInput,
  request: RecoveryRequest,
): Promise<RecoveryResult> {
  const services = await joinServices(start)
  try {
    await applyPublicUrl(services, start.config.publicUrl)
    return await recover(services, request)
  } finally {
    await services.store.close()
  }
}
