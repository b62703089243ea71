import type { Certificate } from "../../boot/edge/certificate.ts"
import { freeSocketFile } from "../../boot/edge/socket-file.ts"
import type { Config } from "../../kernel/config.ts"
import type { App } from "../app.ts"
import { type Listener, listenHttp, listenRedirect } from "../listener.ts"
import type { ServerServices } from "../services.ts"
import { keepCertificates } from "./certificates.ts"
import { toHttps } from "./redirect.ts"

type Edge = {
  /** The first is what people come to. */
  readonly listeners: readonly [Listener, ...Listener[]]
  readonly working: readonly { readonly stop: () => Promise<void> }[]
}

/** Listens for HTTP as the configuration says: plain or by TLS, at a port or a socket. */
export async function openEdge(
  services: ServerServices,
  { listen: place, redirectListen, ...config }: Config,
  { app, certificates }: { readonly app: App; readonly certificates: readonly Certificate[] },
): Promise<Edge> {
  if ("path" in place) await freeSocketFile(place)
  const http = listenHttp(app, { place, certificates }, services.clock)
  const { clock, log } = services
  const { present } = http
  const isKept = certificates.length > 0
  const first = { first: certificates, present }
  const working = isKept ? [keepCertificates({ clock, log }, config, first)] : []
  if (!redirectListen) return { listeners: [http], working }
  const answer = (request: Request) => toHttps(services, http.port, request)
  try {
    return { listeners: [http, listenRedirect(answer, redirectListen)], working }
  } catch (cause) {
    await Promise.all([http.stop(), ...working.map((each) => each.stop())])
    throw cause
  }
}
