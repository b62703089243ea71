// Measures how long the most expensive request bodies block the event loop of the compiled binary:
// `bun scripts/bench/loop.ts`. A stall is measured from outside with small requests; on a shared
// machine others can cause it. CPU time of the main thread is exact, and a request can't block the
// loop longer than that.
import { readFileSync } from "node:fs"
import { connect as connectHttp2 } from "node:http2"
import { connect as connectSocket } from "node:net"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { connect } from "../../test/acceptance/service.ts"
import { type CostlyRequest, costlyRequests } from "../../test/support/costly-requests.ts"
import {
  apiScope,
  freePort,
  type RunningServer,
  serviceToken,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../../test/support/latchkey.ts"

const attempts = 3
const limitMs = 50

async function measure(running: RunningServer): Promise<void> {
  const token = await serviceToken(url, key, apiScope)
  const ids = await createPlaceholders(token)
  const results: { row: CostlyRequest; answer: string; stall: number; computed: number }[] = []
  for (const row of costlyRequests) {
    const send = () => sendRequest(running, { row, token, ids })
    const runs = []
    for (let count = 0; count < attempts; count++) runs.push(await sendAndWatch(running, send))
    const stall = Math.min(...runs.map((run) => run.stall))
    const computed = Math.max(...runs.map((run) => run.computed))
    results.push({ row, answer: runs[0]?.answer ?? "", stall, computed })
    console.log(formatLine(row, { stall, computed, answer: runs[0]?.answer ?? "" }))
  }
  const slowest = results.toSorted((a, b) => b.computed - a.computed)[0]
  if (slowest) console.log(`\nslowest, limit ${limitMs} ms:\n${formatLine(slowest.row, slowest)}`)
}

const formatLine = (
  { decoder, what, as }: CostlyRequest,
  { stall, computed, answer }: { stall: number; computed: number; answer: string },
) =>
  [
    `${decoder}, ${what} (${as})`.padEnd(58),
    `stall ${stall.toFixed(0)} ms`.padStart(16),
    `CPU ${computed.toFixed(1)} ms`.padStart(20),
    `  ${answer.slice(0, 40).replaceAll(/\s+/g, " ")}`,
  ].join("")

/** The values of the placeholders in a body. */
type PlaceholderValues = Readonly<Record<"$project" | "$org" | "$user", string>>

async function createPlaceholders(token: string): Promise<PlaceholderValues> {
  const ask = async (name: string, request: object) =>
    (await connect(url, name, { request, token })).body
  const [org] = (await ask("ListOrganizations", {})).result
  const [user] = (await ask("ListUsers", {})).result
  const project_ = await ask("core.project.v2.ProjectService/CreateProject", {
    organizationId: org.id,
    name: "worst",
  })
  return { $project: project_.projectId, $org: org.id, $user: user.userId }
}

let nextFresh = 0

/** Replaces the placeholders of a body; $fresh gets a new value in each request. */
const fillIn = (body: string, ids: PlaceholderValues): string =>
  Object.entries({ ...ids, $fresh: `${nextFresh++}` }).reduce(
    (text, [name, value]) => text.replace(name, value),
    body,
  )

type Measurement = { readonly stall: number; readonly computed: number; readonly answer: string }

/** Sends a request once and watches the event loop meanwhile. */
async function sendAndWatch(
  { process }: RunningServer,
  send: () => Promise<string>,
): Promise<Measurement> {
  const computedMs = () => {
    const stat = readFileSync(`/proc/${process.pid}/task/${process.pid}/schedstat`, "utf8")
    return Number(stat.split(" ")[0]) / 1e6
  }
  const probe = startProbe()
  await sleep(20)
  probe.reset()
  const before = computedMs()
  const probeStart = probe.count()
  const answer = await send().catch((cause) => `failed: ${cause}`)
  // The probes themselves also take CPU time.
  const ownHeaders = (probe.count() - probeStart) * 0.03
  const computed = computedMs() - before - ownHeaders
  const stall = probe.longest()
  probe.end()
  return { stall, computed, answer }
}

/** Sends small requests over one connection, each as soon as the previous one is answered. */
function startProbe() {
  const socket = connectSocket(port, "127.0.0.1")
  let [probeStart, longest, count] = [performance.now(), 0, 0]
  const ask = () => {
    probeStart = performance.now()
    socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
  }
  socket.on("connect", ask)
  socket.on("error", () => {})
  socket.on("data", () => {
    longest = Math.max(longest, performance.now() - probeStart)
    count++
    setTimeout(ask, 1)
  })
  return {
    reset: () => {
      longest = 0
    },
    count: () => count,
    longest: () => Math.max(longest, performance.now() - probeStart),
    end: () => socket.destroy(),
  }
}

type RequestInput = {
  readonly row: CostlyRequest
  readonly token: string
  readonly ids: PlaceholderValues
}

async function sendRequest(
  { grpcPort }: RunningServer,
  { row, token, ids }: RequestInput,
): Promise<string> {
  const { body, headers, path, type, as } = row
  const ownHeaders = { ...headers, ...(type && { "content-type": type }) }
  const all = as === "owner" ? { ...ownHeaders, authorization: `Bearer ${token}` } : ownHeaders
  const content = typeof body === "string" ? fillIn(body, ids) : body
  if (row.over === "grpc") return sendByGrpc(grpcPort, path, all, content)
  const method = content === undefined ? "GET" : "POST"
  const answer = await fetch(url + path.replace("$client", "1"), {
    method,
    headers: all,
    redirect: "manual",
    ...(content !== undefined && { body: content }),
  })
  return `${answer.status} ${await answer.text()}`
}

function sendByGrpc(
  grpcPort: number,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array | undefined,
): Promise<string> {
  const session = connectHttp2(`http://localhost:${grpcPort}`)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  session.on("error", reject)
  const probeStart = {
    ...headers,
    ":path": path,
    ":method": "POST",
    "content-type": "application/grpc",
  }
  const stream = session.request({ ...probeStart, ":authority": `localhost:${port}` })
  let responseHeaders = ""
  const note = (fields: object) => {
    const { "grpc-status": status, "grpc-message": message } = Object(fields)
    if (status !== undefined) responseHeaders = `${status} ${decodeURIComponent(message ?? "")}`
  }
  stream.on("response", note)
  stream.on("trailers", note)
  stream.on("error", () => {})
  stream.on("close", () => {
    session.destroy()
    resolve(responseHeaders)
  })
  stream.resume()
  stream.end(body)
  return promise
}

const folder = temporaryFolder()
const data = join(folder.path, "data")
const port = await freePort()
const url = `http://localhost:${port}`
const key = await setUp(data, url)
const server = await startLatchkey({ data, port, args: ["--limits", "off"] })
try {
  await measure(server)
} finally {
  await server.stop()
  folder.remove()
}
