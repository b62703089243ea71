import type { Certificate } from "../../boot/edge/certificate.ts"
import { removeStaleSocket } from "../../boot/edge/socket-file.ts"
import type { StartInput } from "../../boot/running.ts"
import type { Area } from "../../http/route.ts"
import type { OpenApp } from "../app.ts"
import { type HttpListener, type Listener, listenHttp, listenRedirect } from "../listener.ts"
import type { ServerServices } from "../services.ts"
import { watchCertificateFiles } from "./certificates.ts"
import { redirectToHttps } from "./redirect.ts"

type BackgroundTask = { readonly stop: () => Promise<void> }

type HttpEdge = {
  /** The first listener is the public one. */
  readonly listeners: readonly [Listener, ...Listener[]]
  readonly tasks: readonly BackgroundTask[]
}

/** The initial certificates of the HTTP listener and a function that updates them. */
type CertificateSource = {
  readonly first: readonly Certificate[]
  readonly keep?: (listener: HttpListener) => BackgroundTask
  /** Responses to plain HTTP requests before the redirect to https. */
  readonly plain?: (request: Request) => Response | undefined
  /** Additional routes. */
  readonly routes?: Area
}

type EdgeInput = {
  readonly app: OpenApp
  readonly files: readonly Certificate[]
  /** Whether other processes of the server share the port, and whether this one is the first. */
  readonly sharing?: "first" | "another" | undefined
}

/** Opens the HTTP listeners of the configuration: plain or TLS, on a port or a socket. */
export async function openHttpEdge(
  services: ServerServices,
  start: Pick<StartInput, "config" | "folder">,
  { app, files, sharing }: EdgeInput,
): Promise<HttpEdge> {
  const { listen: address, redirectListen, tlsCiphers } = start.config
  if ("path" in address) await removeStaleSocket(address)
  const source = await openCertificateSource(services, start, files)
  if (source.routes) app.addArea(source.routes)
  const listening = { place: address, certificates: source.first, tlsCiphers, sharing }
  const http = listenHttp(app, listening, services.clock)
  const tasks: BackgroundTask[] = []
  try {
    const answer = (request: Request) =>
      source.plain?.(request) ?? redirectToHttps(services, http.port, request)
    const listeners: [Listener, ...Listener[]] = redirectListen
      ? [http, listenRedirect(answer, redirectListen, services.clock)]
      : [http]
    // The server must be ready for validation before the authority is contacted.
    if (source.keep) tasks.push(source.keep(http))
    return { listeners, tasks }
  } catch (cause) {
    await Promise.all([http.stop(), ...tasks.map((each) => each.stop())])
    throw cause
  }
}

async function openCertificateSource(
  services: ServerServices,
  start: Pick<StartInput, "config" | "folder">,
  first: readonly Certificate[],
): Promise<CertificateSource> {
  const { clock, log } = services
  if (start.config.tls)
    return (await import("./managed-source.ts")).createManagedSource(services, start)
  if (first.length === 0) return { first }
  return {
    first,
    keep: ({ setCertificates }) =>
      watchCertificateFiles({ clock, log }, start.config, { first, present: setCertificates }),
  }
}
