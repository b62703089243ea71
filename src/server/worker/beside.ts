import { readCertificates } from "../../boot/edge/certificate.ts"
import type { Start } from "../../boot/running.ts"
import { systemClock } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import { version } from "../../kernel/version.ts"
import { shareCores } from "../../runtime/cores.ts"
import {
  type Channel,
  channelOf,
  type Handlers,
  type Message,
  writerAt,
} from "../../store/index.ts"
import { appOf, watching } from "../app.ts"
import { keepTrimming } from "../background/trimming.ts"
import { limitConnections } from "../edge/connections.ts"
import { openEdge } from "../edge/http.ts"
import type { Meters } from "../metrics/meters.ts"
import { doctorRoutes } from "../operator/doctor.ts"
import { openServicesBeside, type ServerServices } from "../services.ts"
import { setupDoorBeside } from "../setup/setup-token.ts"
import { tracingIn } from "../tracing/tracing-in.ts"
import { type Beginning, startOf } from "./beginning.ts"

/**
 * Answers at the port of the process that started this one, from the file that it writes, and ends
 * with it: whoever read on would show what was revoked since.
 */
export function runWorker(env: Env): void {
  const { send } = process
  if (!send) {
    throw new Fault("invalid_argument", "command.usage", "workers are started by latchkey serve")
  }
  const handlers = handlersOf((name, given) => line.ask(name, given), env)
  const tell = (message: Message) => {
    try {
      process.send?.(message)
    } catch {
      // Nobody hears it: the other process has ended, and so does this one.
      process.exit(1)
    }
  }
  const line = channelOf(tell, handlers)
  process.on("message", line.take)
  process.on("disconnect", () => process.exit(1))
  // Who stops the service may tell all of its processes: what is in flight is answered first.
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {})
}

type Env = NonNullable<Start["env"]>

function handlersOf(ask: Channel["ask"], env: Env): Handlers {
  let answering: Answering | undefined
  let notReady = ""
  let goOn: (() => void)[] = []
  let rounds = 0
  const worker = () => answering?.services.store.worker
  return {
    begin: async (beginning: Beginning) => {
      notReady = beginning.notReady ?? ""
      const told = { ask, env, notReady: () => notReady || undefined }
      answering = await answeringFor(beginning, told)
    },
    condition: (why: string) => {
      notReady = why
    },
    rest: async () => {
      const round = rounds
      const readOn = await worker()?.rest()
      // Who asked may not have waited so long.
      if (round === rounds && readOn) goOn.push(readOn)
      else readOn?.()
    },
    hold: () => {
      const readOn = worker()?.hold()
      if (readOn) goOn.push(readOn)
    },
    go: () => {
      rounds++
      const all = goOn
      goOn = []
      for (const readOn of all) readOn()
    },
    ping: () => undefined,
    leave: () => answering?.leave(),
    scrub: () => answering?.services.store.scrub(),
    metrics: () => answering?.meters?.registry.getMetricsAsJSON() ?? [],
    stop: async () => {
      await answering?.stop()
      // Once it is told that all is done.
      systemClock.after(10, () => process.exit(0))
    },
  }
}

type Told = {
  readonly ask: Channel["ask"]
  readonly env: Env
  readonly notReady: () => string | undefined
}

type Answering = {
  readonly services: ServerServices
  readonly meters: Meters | undefined
  readonly leave: () => void
  readonly stop: () => Promise<void>
}

async function answeringFor(
  beginning: Beginning,
  { ask, env, notReady }: Told,
): Promise<Answering> {
  if (beginning.version !== version) {
    throw new Fault(
      "failed_precondition",
      "worker.version",
      `the program is ${version} by now, and the server that runs is ${beginning.version}; ` +
        "restart it",
    )
  }
  const { part, upstream } = beginning
  const start = startOf(beginning, env)
  const { config } = start
  shareCores(config.workers)
  const meters = config.metricsListen && (await import("../metrics/meters.ts")).metersOf()
  if (meters) meters.registry.setDefaultLabels({ worker: String(part) })
  const tracing = await tracingIn(start)
  const writer = writerAt({ ask })
  const services = openServicesBeside(start, { part, writer, notReady }, { meters, tracing })
  const setupToken = setupDoorBeside(services, ask)
  // What the one that writes was told to wait for is told to it.
  const areas = [doctorRoutes(services, (came) => ask<boolean>("came", came))]
  const app = appOf({ services, setupToken, upstream, areas, ...watching(services) })
  // Who sends plain HTTP on is the one that writes.
  const own = { ...start, config: { ...config, redirectListen: undefined } }
  const files = readCertificates(config)
  const edge = await openEdge(services, own, { app, files, sharing: "another" })
  const limiting = await limitConnections(services, edge.listeners)
  const working = [...edge.working, keepTrimming(services), limiting]
  return {
    services,
    meters,
    leave: () => {
      for (const { leave } of edge.listeners) leave?.()
    },
    stop: async () => {
      await Promise.all([...edge.listeners, ...working].map((each) => each.stop()))
      await services.store.close()
      await services.tracing?.stop()
    },
  }
}
