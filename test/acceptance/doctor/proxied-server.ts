import { existsSync } from "node:fs"
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http"
import { join } from "node:path"
import {
  freePort,
  owner,
  type RunningServer,
  run,
  serviceToken,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../../support/latchkey.ts"
import { until } from "../../support/wait.ts"
import { connect } from "../service.ts"

export type Finding = {
  readonly check: string
  readonly state: string
  readonly said: string
  readonly remedy?: string
  readonly ms?: number
}

/** The faults that the proxy in front of the server injects. */
export type ProxyFaults = {
  dateShiftMs: number
  dropsHeader: boolean
  /** The path whose requests get no response. */
  hangsAt: string
  /** The path whose requests get 502. */
  failsAt: string
}

/** A server whose public address is that of a proxy in front of it. */
export async function openBehindProxy(args: readonly string[] = []) {
  const folder = temporaryFolder()
  const data = join(folder.path, "data")
  const [port, proxyPort, metricsPort] = [await freePort(), await freePort(), await freePort()]
  const metrics = ["--metrics-listen", `127.0.0.1:${metricsPort}`]
  const faults: ProxyFaults = { dateShiftMs: 0, dropsHeader: false, hangsAt: "", failsAt: "" }
  const held: string[] = []
  const proxy = createServer((incoming, outgoing) => {
    const { pathname } = new URL(incoming.url ?? "/", "http://localhost")
    if (pathname === faults.hangsAt) held.push(pathname)
    else if (pathname === faults.failsAt) outgoing.writeHead(502).end("bad gateway")
    else forwardRequest(incoming, outgoing, { port, faults })
  })
  await new Promise<void>((done) => proxy.listen(proxyPort, "127.0.0.1", done))
  const url = `http://localhost:${proxyPort}`
  const key = await setUp(data, url)
  const starting = (more: readonly string[] = []) =>
    startLatchkey({
      data,
      port,
      args: ["--trusted-proxies", "127.0.0.1", ...metrics, ...args, ...more],
    })
  let server: RunningServer = await starting()
  const token = await serviceToken(url, key)
  const get = async (name: string, input: object = {}) => {
    const { status, body } = await connect(url, name, { request: input, token })
    if (status === 200) return body
    throw new Error(`${name} answered ${status}: ${JSON.stringify(body)}`)
  }
  const listen = ["--listen", `127.0.0.1:${port}`, "--grpc-listen", "127.0.0.1:0"]
  const flags = ["--data", data, ...listen, "--trusted-proxies", "127.0.0.1", ...args]
  return {
    folder,
    data,
    url,
    faults,
    held,
    get,
    flags,
    owner,
    metrics: async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text(),
    stop: (signal?: NodeJS.Signals) => server.stop(signal),
    start: async (...more: readonly string[]) => {
      server = await starting(more)
      // The server answers pages a moment before the command line's socket exists.
      await until(() => existsSync(join(data, "control.sock")))
    },
    /** Runs the doctor; returns the last finding of each check. */
    deep: async (...more: readonly string[]) => {
      const { code, output } = await run(["doctor", "--deep", "--json", ...flags, ...more])
      const json = output.slice(output.indexOf("{\n"))
      const findings: readonly Finding[] = JSON.parse(json).findings
      const of = (check: string) => findings.findLast((each) => each.check === check)
      return { code, findings, of }
    },
    close: async () => {
      await server.stop()
      proxy.closeAllConnections()
      proxy.close()
      folder.remove()
    },
  }
}

export type ProxiedServer = Awaited<ReturnType<typeof openBehindProxy>>

type ForwardOptions = { readonly port: number; readonly faults: ProxyFaults }

function forwardRequest(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { port, faults }: ForwardOptions,
): void {
  const headers = { ...incoming.headers, "x-forwarded-for": "127.0.0.1" }
  if (faults.dropsHeader) Reflect.deleteProperty(headers, "x-latchkey-self-check")
  const { method, url: path } = incoming
  const onward = request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
    const date = new Date(Date.now() + faults.dateShiftMs).toUTCString()
    outgoing.writeHead(answer.statusCode ?? 502, { ...answer.headers, date })
    answer.pipe(outgoing)
  })
  onward.on("error", () => outgoing.destroy())
  incoming.pipe(onward)
}
