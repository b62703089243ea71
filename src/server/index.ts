import { readCertificates } from "../boot/edge/certificate.ts"
import {
  type Recovered,
  type RecoveryPreview,
  type RecoveryRequest,
  recoveryRequest,
} from "../boot/recovery.ts"
import type { Running, Start } from "../boot/running.ts"
import { type SetupRequest, setupRequest } from "../boot/setup.ts"
import { keepSetupLink } from "../boot/setup-link.ts"
import { localOrigin, type Place, socketPeer } from "../kernel/net/address.ts"
import { appOf, watching } from "./app.ts"
import type { Collecting } from "./background/audit-collector.ts"
import { type Background, startBackground } from "./background/background.ts"
import { keepExpiring } from "./background/expiring.ts"
import { keepInspecting } from "./background/inspecting.ts"
import { keepDroppingBefore } from "./background/old-tables.ts"
import { watchOwners } from "./background/owner-watch.ts"
import { keepPurging } from "./background/purging.ts"
import { keepRotating } from "./background/rotation.ts"
import { keepShrinking } from "./background/shrinking.ts"
import { keepTrimming } from "./background/trimming.ts"
import { limitConnections } from "./edge/connections.ts"
import { openEdge } from "./edge/http.ts"
import { type Listener, listenGrpc, listenMetrics } from "./listener.ts"
import { reactors } from "./modules.ts"
import { doctorOf, doctorRoutes } from "./operator/doctor.ts"
import { eventCommandsOf } from "./operator/events.ts"
import { keepRemovingTemporary, selfCheckControl } from "./operator/self-check.ts"
import { transferControl } from "./operator/transfer.ts"
import { joinServices, type ServerServices } from "./services.ts"
import { previewRecovery, recover } from "./setup/recovery.ts"
import { followPublicUrl, setUpByRequest } from "./setup/setup.ts"
import { setupLinks } from "./setup/setup-links.ts"
import { type SetupToken, setupTokenOf } from "./setup/setup-token.ts"
import { tracingIn } from "./tracing/tracing-in.ts"
import { keptWorkers, type Workers } from "./worker/keep.ts"

export { type Drilled, drill } from "./operator/drill.ts"
export { prepareMaster, takeMaster } from "./operator/master-key.ts"
export { moveIn, moveOut } from "./operator/move.ts"
export { selfCheckHere } from "./operator/self-check.ts"
export { transferHere } from "./operator/transfer.ts"
export { whatUpgradeDoes } from "./operator/upgrade.ts"

/** Opens the data folder, answers on both listeners, and says where. */
export async function serve(start: Start): Promise<Running> {
  const { config, folder } = start
  const meters = config.metricsListen && (await import("./metrics/meters.ts")).metersOf()
  const files = readCertificates(config)
  const development = await developmentIn(start)
  const { catching } = development ?? {}
  const tracing = await tracingIn(start)
  const workers = keptWorkers(start)
  const readers = workers?.readers
  const services = await joinServices(start, { meters, tracing, catching, readers })
  await services.lead.begin()
  await followPublicUrl(services, config.publicUrl)
  await development?.seed(services)
  const describing = await describingIn(start, services)
  await describing?.setUp()
  const setupToken = setupTokenOf(services, () => keepSetupLink(folder, undefined))
  let collecting: Collecting | undefined
  const doctor = doctorOf(services, {
    untaken: () => collecting?.untaken(),
    described: () => describing?.condition(),
  })
  const upstream = upstreamOf(config)
  const areas = [doctorRoutes(services, doctor.came), ...(development?.areas(services) ?? [])]
  const marking = development ? [development.watcher] : []
  const app = appOf({ services, setupToken, upstream, areas, ...watching(services, marking) })

  const listeners: Listener[] = []
  const working: { readonly stop: () => Promise<void> }[] = []
  const stop = async () => {
    // What others answer still is written here.
    await Promise.all([workers, ...listeners].map((each) => each?.stop()))
    await Promise.all(working.map((each) => each.stop()))
    await ended(services)
  }
  try {
    listeners.push(await listenGrpc(app, config.grpcListen))
    const edge = await openEdge(services, start, { app, files, sharing: workers && "first" })
    listeners.unshift(...edge.listeners)
    working.push(...edge.working)
    // Whoever finds the port taken has done nothing yet.
    collecting = await collectingIn(start, services)
    const background = startBackground(services, reactors(services.call, services.outbound), {
      ...config,
      collecting,
    })
    working.push(background, ...(collecting ? [collecting] : []))
    listeners.push(...(await metricsIn(start, services, { background, workers })))
    working.push(...rounds(start, services, background.passed), ...(await backups(services, start)))
    working.push(...(describing ? [describing.begin()] : []))
    working.push(await limitConnections(services, listeners))
    const port = listeners[0]?.port ?? 0
    await workers?.begin(services, { port, upstream, came: doctor.came, setupToken })
  } catch (cause) {
    await stop()
    throw cause
  }
  const isTls = files.length > 0 || config.tls !== undefined
  const url = originAt(config.listen, listeners[0]?.port, isTls)
  const base = config.publicUrl ?? ("path" in config.listen ? "http://localhost" : url)
  const link = () => `${base}/setup#${setupToken.renew()}`
  return {
    url,
    setupUrls: setupToken.isOpen() ? setupLinks(link(), config) : [],
    drain: () => drained(services, config, { listeners, workers }),
    stop,
    control: { ...doctor.commands, ...controlOf(start, services, { setupToken, link }) },
  }
}

type Beginning = { readonly setupToken: SetupToken; readonly link: () => string }

/** What the command line asks of a server that runs. */
const controlOf = (
  { config, folder }: Start,
  services: ServerServices,
  { setupToken, link }: Beginning,
): Running["control"] => ({
  ...eventCommandsOf(services),
  ...transferControl(services),
  ...selfCheckControl(services),
  "setup-link": async () => {
    const [fresh = ""] = setupLinks(link(), config)
    keepSetupLink(folder, fresh)
    return fresh
  },
  recover: (input) => recover(services, recoveryRequest.parse(input)),
  "recover-preview": async (input) => previewRecovery(services, recoveryRequest.parse(input)),
  setup: async (input) => {
    await setUpByRequest(services, setupRequest.parse(input))
    setupToken.close()
  },
})

async function developmentIn({ development, hasFixedKeys = false }: Start) {
  if (development === undefined) return undefined
  return (await import("./development/development.ts")).developmentOf(development, hasFixedKeys)
}

/** What makes the server what files describe, where the configuration names some. */
async function describingIn({ config, env }: Start, services: ServerServices) {
  if (config.apply === undefined) return undefined
  const { describingOf } = await import("./operator/describing.ts")
  return describingOf(services, { path: config.apply, publicUrl: config.publicUrl, env })
}

/** A node's load balancer needs this long; without a database nobody else could answer. */
const nodeDrainSeconds = 3

type Leaving = {
  readonly listeners: readonly Listener[]
  readonly workers: Workers | undefined
}

/** Resolves when whoever watches `/debug/ready` has had time to send requests elsewhere. */
async function drained(
  { leave, log, clock }: ServerServices,
  { database, drainSeconds: seconds = database ? nodeDrainSeconds : 0 }: Start["config"],
  { listeners, workers }: Leaving,
): Promise<void> {
  if (seconds === 0) return
  log.info("not ready, because the server is stopping; it answers for {seconds} s", { seconds })
  leave()
  for (const listener of listeners) listener.leave?.()
  const wait = new Promise<void>((done) => void clock.after(seconds * 1000, done))
  await Promise.all([workers?.leave(), wait])
}

async function ended({ lead, store, tracing }: ServerServices): Promise<void> {
  await lead.stop()
  await store.close()
  await tracing?.stop()
}

/** What is done now and then, as long as the server runs. */
const rounds = ({ folder }: Start, services: ServerServices, passed: () => number) => [
  keepRotating(services),
  keepExpiring(services),
  watchOwners(services),
  keepInspecting(services),
  keepPurging(services, passed),
  keepShrinking(services),
  keepTrimming(services),
  keepDroppingBefore(services, folder.database),
  keepRemovingTemporary(services),
]

/** Backups by themselves, where the configuration wants them. */
async function backups(services: ServerServices, { config, folder }: Start) {
  if (config.backupFolder === undefined) return []
  const { keepBackups, savingApart } = await import("./background/backups.ts")
  const { labelOf } = await import("../boot/backup/rotation.ts")
  const { placeAt } = await import("../boot/backup/place.ts")
  const place = placeAt(config.backupFolder, config)
  const wanted = { ...config, place, label: labelOf(folder, services.random) }
  return [keepBackups(services, wanted, savingApart(config, services.log))]
}

/** Where metrics are wanted, what tells them. */
async function metricsIn(
  { config: { metricsListen } }: Start,
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

/** What sends all that happens to whoever collects it, where the configuration names them. */
async function collectingIn(
  { config }: Start,
  services: ServerServices,
): Promise<Collecting | undefined> {
  const { auditCollector: url, auditCollectorAuthorization: authorization } = config
  if (url === undefined) return undefined
  const { keepCollecting } = await import("./background/audit-collector.ts")
  return keepCollecting(services, { url, authorization })
}

/** Where this process is found on its machine, with the port it really has. */
function originAt(place: Place, port: number | undefined, isTls: boolean): string {
  if ("path" in place) return `${socketPeer}${place.path}`
  return localOrigin({ ...place, port: port ?? place.port }, isTls ? "https" : "http")
}

/** What to write into a proxy on the same machine. */
const upstreamOf = ({ listen, tls, tlsCert }: Start["config"]): string =>
  originAt(listen, undefined, tls !== undefined || tlsCert.length > 0)

/** Sets up without serving: opens the store, takes the one step, closes it. */
export async function setup(start: Start, request: SetupRequest): Promise<void> {
  const services = await joinServices(start)
  try {
    await setUpByRequest(services, request)
  } finally {
    await services.store.close()
  }
}

/** What `recoverHere` would remove. */
export async function previewRecoveryHere(
  start: Start,
  request: RecoveryRequest,
): Promise<RecoveryPreview> {
  const services = await joinServices(start)
  try {
    return previewRecovery(services, request)
  } finally {
    await services.store.close()
  }
}

/** Lets an owner in without serving; see `recover`. */
export async function recoverHere(start: Start, request: RecoveryRequest): Promise<Recovered> {
  const services = await joinServices(start)
  try {
    await followPublicUrl(services, start.config.publicUrl)
    return await recover(services, request)
  } finally {
    await services.store.close()
  }
}
