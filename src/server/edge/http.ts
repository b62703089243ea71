import type { Certificate } from "../../boot/edge/certificate.ts"
import { freeSocketFile } from "../../boot/edge/socket-file.ts"
import type { Start } from "../../boot/running.ts"
import type { Area } from "../../http/route.ts"
import type { OpenApp } from "../app.ts"
import { type HttpListener, type Listener, listenHttp, listenRedirect } from "../listener.ts"
import type { ServerServices } from "../services.ts"
import { keepCertificates } from "./certificates.ts"
import { toHttps } from "./redirect.ts"

type Working = { readonly stop: () => Promise<void> }

type Edge = {
  /** The first is what people come to. */
  readonly listeners: readonly [Listener, ...Listener[]]
  readonly working: readonly Working[]
}

/** The certificates that HTTP begins with, and what puts others in their place later. */
type Source = {
  readonly first: readonly Certificate[]
  readonly keep?: (listener: HttpListener) => Working
  /** What plain HTTP has an answer to, before it sends people on. */
  readonly plain?: (request: Request) => Response | undefined
  /** What is answered beside what the app does. */
  readonly routes?: Area
}

type Answering = {
  readonly app: OpenApp
  readonly files: readonly Certificate[]
  /** Whether other processes of ours listen there, too, and whether this one is the first. */
  readonly sharing?: "first" | "another" | undefined
}

/** Listens for HTTP as the configuration says: plain or by TLS, at a port or a socket. */
export async function openEdge(
  services: ServerServices,
  start: Pick<Start, "config" | "folder">,
  { app, files, sharing }: Answering,
): Promise<Edge> {
  const { listen: place, redirectListen, tlsCiphers } = start.config
  if ("path" in place) await freeSocketFile(place)
  const source = await sourceOf(services, start, files)
  if (source.routes) app.use(source.routes)
  const listening = { place, certificates: source.first, tlsCiphers, sharing }
  const http = listenHttp(app, listening, services.clock)
  const working: Working[] = []
  try {
    const answer = (request: Request) =>
      source.plain?.(request) ?? toHttps(services, http.port, request)
    const listeners: [Listener, ...Listener[]] = redirectListen
      ? [http, listenRedirect(answer, redirectListen, services.clock)]
      : [http]
    // What an authority looks at is there before it is asked.
    if (source.keep) working.push(source.keep(http))
    return { listeners, working }
  } catch (cause) {
    await Promise.all([http.stop(), ...working.map((each) => each.stop())])
    throw cause
  }
}

async function sourceOf(
  services: ServerServices,
  start: Pick<Start, "config" | "folder">,
  first: readonly Certificate[],
): Promise<Source> {
  const { clock, log } = services
  if (start.config.tls) return (await import("./own.ts")).ownSource(services, start)
  if (first.length === 0) return { first }
  return {
    first,
    keep: ({ present }) => keepCertificates({ clock, log }, start.config, { first, present }),
  }
}
