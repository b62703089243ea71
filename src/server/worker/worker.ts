import { readCertificates } from "../../boot/edge/certificate.ts"
import type { StartInput } from "../../boot/running.ts"
import { systemClock } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import { version } from "../../kernel/version.ts"
import { setProcessCount } from "../../runtime/cores.ts"
import {
  type Channel,
  createChannel,
  createWriter,
  type Handlers,
  type Message,
} from "../../store/index.ts"
import { createApp, watchersOf } from "../app.ts"
import { startMemoryTrim } from "../background/memory-trim.ts"
import { limitConnections } from "../edge/connections.ts"
import { openHttpEdge } from "../edge/http.ts"
import type { Meters } from "../metrics/meters.ts"
import { doctorRoutes } from "../operator/doctor.ts"
import { openWorkerServices, type ServerServices } from "../services.ts"
import { createWorkerSetupAccess } from "../setup/setup-token.ts"
import { loadTracing } from "../tracing/start.ts"
import { startInputOf, type WorkerStart } from "./start-message.ts"

/**
 * Serves requests on the port of the parent process, from the file that it writes. Ends with the
 * parent, because it would otherwise miss revocations.
 */
export function runWorker(env: Env): void {
  const { send } = process
  if (!send) {
    throw new Fault("invalid_argument", "command.usage", "workers are started by latchkey serve")
  }
  const handlers = createHandlers((name, input) => line.ask(name, input), env)
  const sendMessage = (message: Message) => {
    try {
      process.send?.(message)
    } catch {
      // The parent has ended, so this process ends, too.
      process.exit(1)
    }
  }
  const line = createChannel(sendMessage, handlers)
  process.on("message", line.take)
  process.on("disconnect", () => process.exit(1))
  // A signal to all processes must not interrupt running requests; the parent coordinates the stop.
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {})
}

type Env = NonNullable<StartInput["env"]>

function createHandlers(requestParent: Channel["ask"], env: Env): Handlers {
  let answering: RunningWorker | undefined
  let notReady = ""
  let resumeReads: (() => void)[] = []
  let rounds = 0
  const worker = () => answering?.services.store.worker
  return {
    begin: async (beginning: WorkerStart) => {
      notReady = beginning.notReady ?? ""
      const context = { ask: requestParent, env, notReady: () => notReady || undefined }
      answering = await startServing(beginning, context)
    },
    condition: (reason: string) => {
      notReady = reason
    },
    rest: async () => {
      const round = rounds
      const resumeRead = await worker()?.rest()
      // The request may have timed out in the meantime.
      if (round === rounds && resumeRead) resumeReads.push(resumeRead)
      else resumeRead?.()
    },
    hold: () => {
      const resumeRead = worker()?.hold()
      if (resumeRead) resumeReads.push(resumeRead)
    },
    go: () => {
      rounds++
      const all = resumeReads
      resumeReads = []
      for (const resumeRead of all) resumeRead()
    },
    ping: () => undefined,
    leave: () => answering?.leave(),
    scrub: () => answering?.services.store.scrub(),
    metrics: () => answering?.meters?.registry.getMetricsAsJSON() ?? [],
    stop: async () => {
      await answering?.stop()
      // After the confirmation was sent.
      systemClock.after(10, () => process.exit(0))
    },
  }
}

type WorkerContext = {
  readonly ask: Channel["ask"]
  readonly env: Env
  readonly notReady: () => string | undefined
}

type RunningWorker = {
  readonly services: ServerServices
  readonly meters: Meters | undefined
  readonly leave: () => void
  readonly stop: () => Promise<void>
}

async function startServing(
  beginning: WorkerStart,
  { ask: requestParent, env, notReady }: WorkerContext,
): Promise<RunningWorker> {
  if (beginning.version !== version) {
    throw new Fault(
      "failed_precondition",
      "worker.version",
      `the program on disk is version ${version}, but the running server is ` +
        `${beginning.version}; restart the server`,
    )
  }
  const { part, upstream } = beginning
  const start = startInputOf(beginning, env)
  const { config } = start
  setProcessCount(config.workers)
  const meters = config.metricsListen && (await import("../metrics/meters.ts")).createMeters()
  if (meters) meters.registry.setDefaultLabels({ worker: String(part) })
  const tracing = await loadTracing(start)
  const writer = createWriter({ ask: requestParent })
  const services = openWorkerServices(start, { part, writer, notReady }, { meters, tracing })
  const setupToken = createWorkerSetupAccess(services, requestParent)
  // The writer handles awaited requests.
  const areas = [doctorRoutes(services, (came) => requestParent<boolean>("came", came))]
  const app = createApp({ services, setupToken, upstream, areas, ...watchersOf(services) })
  // The writer redirects plain HTTP.
  const own = { ...start, config: { ...config, redirectListen: undefined } }
  const files = readCertificates(config)
  const edge = await openHttpEdge(services, own, { app, files, sharing: "another" })
  const limiting = await limitConnections(services, edge.listeners)
  const working = [...edge.tasks, startMemoryTrim(services), limiting]
  return {
    services,
    meters,
    leave: () => {
      for (const { startClosing } of edge.listeners) startClosing?.()
    },
    stop: async () => {
      await Promise.all([...edge.listeners, ...working].map((each) => each.stop()))
      await services.store.close()
      await services.tracing?.stop()
    },
  }
}
