// What the worst bodies cost the event loop of the compiled binary: `bun scripts/bench/loop.ts`.
// A stall is seen from outside, by asking for something small all the time; with other guests on
// the machine it may be theirs. What the thread of the loop has computed meanwhile is ours alone,
// and a request that computes less can't have kept the loop for longer.
import { readFileSync } from "node:fs"
import { connect as connectHttp2 } from "node:http2"
import { connect as connectSocket } from "node:net"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { connect } from "../../test/acceptance/service.ts"
import {
  apiScope,
  freePort,
  type Running,
  serviceToken,
  setUp,
  start,
  temporaryFolder,
} from "../../test/support/latchkey.ts"
import { type Worst, worst } from "../../test/support/worst.ts"

const tries = 3
const aimMs = 50

async function measure(running: Running): Promise<void> {
  const token = await serviceToken(url, key, apiScope)
  const ids = await idsOf(token)
  const found: { row: Worst; answer: string; stall: number; computed: number }[] = []
  for (const row of worst) {
    const send = () => sent(running, { row, token, ids })
    const runs = []
    for (let count = 0; count < tries; count++) runs.push(await watched(running, send))
    const stall = Math.min(...runs.map((run) => run.stall))
    const computed = Math.max(...runs.map((run) => run.computed))
    found.push({ row, answer: runs[0]?.answer ?? "", stall, computed })
    console.log(line(row, { stall, computed, answer: runs[0]?.answer ?? "" }))
  }
  const most = found.toSorted((a, b) => b.computed - a.computed)[0]
  if (most) console.log(`\nthe worst, of at most ${aimMs} ms:\n${line(most.row, most)}`)
}

const line = (
  { decoder, what, as }: Worst,
  { stall, computed, answer }: { stall: number; computed: number; answer: string },
) =>
  [
    `${decoder}, ${what} (${as})`.padEnd(58),
    `stall ${stall.toFixed(0)} ms`.padStart(16),
    `computed ${computed.toFixed(1)} ms`.padStart(20),
    `  ${answer.slice(0, 40).replaceAll(/\s+/g, " ")}`,
  ].join("")

/** What stands for the name of each in a body. */
type Ids = Readonly<Record<"$project" | "$org" | "$user", string>>

async function idsOf(token: string): Promise<Ids> {
  const ask = async (name: string, request: object) =>
    (await connect(url, name, { request, token })).body
  const [org] = (await ask("ListOrganizations", {})).result
  const [user] = (await ask("ListUsers", {})).result
  const made = await ask("core.project.v2.ProjectService/CreateProject", {
    organizationId: org.id,
    name: "worst",
  })
  return { $project: made.projectId, $org: org.id, $user: user.userId }
}

let sendings = 0

/** Puts in the ids, and for $fresh what is another each time. */
const filledIn = (body: string, ids: Ids): string =>
  Object.entries({ ...ids, $fresh: `${sendings++}` }).reduce(
    (text, [name, value]) => text.replace(name, value),
    body,
  )

type Seen = { readonly stall: number; readonly computed: number; readonly answer: string }

/** Sends once, and looks at the loop meanwhile. */
async function watched({ process }: Running, send: () => Promise<string>): Promise<Seen> {
  const computedMs = () => {
    const stat = readFileSync(`/proc/${process.pid}/task/${process.pid}/schedstat`, "utf8")
    return Number(stat.split(" ")[0]) / 1e6
  }
  const probe = probing()
  await sleep(20)
  probe.reset()
  const before = computedMs()
  const asked = probe.count()
  const answer = await send().catch((cause) => `failed: ${cause}`)
  // What was asked in the meantime computes, too.
  const own = (probe.count() - asked) * 0.03
  const computed = computedMs() - before - own
  const stall = probe.longest()
  probe.end()
  return { stall, computed, answer }
}

/** Asks for something small over one connection, again as soon as it is answered. */
function probing() {
  const socket = connectSocket(port, "127.0.0.1")
  let [asked, longest, count] = [performance.now(), 0, 0]
  const ask = () => {
    asked = performance.now()
    socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
  }
  socket.on("connect", ask)
  socket.on("error", () => {})
  socket.on("data", () => {
    longest = Math.max(longest, performance.now() - asked)
    count++
    setTimeout(ask, 1)
  })
  return {
    reset: () => {
      longest = 0
    },
    count: () => count,
    longest: () => Math.max(longest, performance.now() - asked),
    end: () => socket.destroy(),
  }
}

type Sending = { readonly row: Worst; readonly token: string; readonly ids: Ids }

async function sent({ grpcPort }: Running, { row, token, ids }: Sending): Promise<string> {
  const { body, headers, path, type, as } = row
  const own = { ...headers, ...(type && { "content-type": type }) }
  const all = as === "owner" ? { ...own, authorization: `Bearer ${token}` } : own
  const filled = typeof body === "string" ? filledIn(body, ids) : body
  if (row.over === "grpc") return byGrpc(grpcPort, path, all, filled)
  const method = filled === undefined ? "GET" : "POST"
  const answer = await fetch(url + path.replace("$client", "1"), {
    method,
    headers: all,
    redirect: "manual",
    ...(filled !== undefined && { body: filled }),
  })
  return `${answer.status} ${await answer.text()}`
}

function byGrpc(
  grpcPort: number,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array | undefined,
): Promise<string> {
  const session = connectHttp2(`http://localhost:${grpcPort}`)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  session.on("error", reject)
  const asked = { ...headers, ":path": path, ":method": "POST", "content-type": "application/grpc" }
  const stream = session.request({ ...asked, ":authority": `localhost:${port}` })
  let told = ""
  const note = (fields: object) => {
    const { "grpc-status": status, "grpc-message": message } = Object(fields)
    if (status !== undefined) told = `${status} ${decodeURIComponent(message ?? "")}`
  }
  stream.on("response", note)
  stream.on("trailers", note)
  stream.on("error", () => {})
  stream.on("close", () => {
    session.destroy()
    resolve(told)
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
const server = await start({ data, port, args: ["--limits", "off"] })
try {
  await measure(server)
} finally {
  await server.stop()
  folder.remove()
}
