// The costliest input of each decoder gets its documented response while other clients are served.
import { readFileSync } from "node:fs"
import { connect as connectHttp2 } from "node:http2"
import { connect as connectSocket } from "node:net"
import { afterAll, beforeAll, expect, test } from "vitest"
import { costlyFiles } from "../support/costly-files.ts"
import { type CostlyRequest, costlyRequests } from "../support/costly-requests.ts"
import { pause, until } from "../support/wait.ts"
import { openService, type Service } from "./service.ts"

/** The most CPU time of the main thread for one request, in ms, however slow the machine. */
const maxCpuMs = 50

let service: Service
let ids: Readonly<Record<string, string>>
beforeAll(async () => {
  service = await openService(["--limits", "off"])
  const { result: orgs } = await service.get("ListOrganizations")
  const { result: users } = await service.get("ListUsers")
  const { projectId } = await service.get("core.project.v2.ProjectService/CreateProject", {
    organizationId: orgs[0].id,
    name: "worst",
  })
  await service.get("core.admin.v1.AdminService/UpdateOIDCSettings", {
    clientRegistration: { mode: "CLIENT_REGISTRATION_MODE_OPEN", projectId },
    updateMask: "clientRegistration",
  })
  ids = { $project: projectId, $org: orgs[0].id, $user: users[0].userId, $client: "1" }
})
afterAll(() => service?.close())

let sentCount = 0
const fillIds = (text: string): string =>
  Object.entries({ ...ids, $fresh: `w${sentCount++}` }).reduce(
    (filled, [name, value]) => filled.replace(name, value),
    text,
  )

async function send({ body, headers, path, type, as, over }: CostlyRequest): Promise<string> {
  const all = {
    ...headers,
    ...(type && { "content-type": type }),
    ...(as === "owner" && { authorization: `Bearer ${service.token}` }),
  }
  const filled = typeof body === "string" ? fillIds(body) : body
  if (over === "grpc") return sendGrpc(path, all, filled)
  const response = await fetch(service.url + fillIds(path), {
    method: filled === undefined ? "GET" : "POST",
    headers: all,
    redirect: "manual",
    ...(filled !== undefined && { body: filled }),
  })
  return `${response.status} ${await response.text()}`
}

function sendGrpc(path: string, headers: object, body: string | Uint8Array | undefined) {
  const session = connectHttp2(`http://localhost:${service.grpcPort}`)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  session.on("error", reject)
  const stream = session.request({
    ...headers,
    ":path": path,
    ":method": "POST",
    "content-type": "application/grpc",
    ":authority": new URL(service.url).host,
  })
  let status = ""
  const note = (fields: object) => {
    const { "grpc-status": code, "grpc-message": message } = Object(fields)
    if (code !== undefined) status = `${code} ${decodeURIComponent(message ?? "")}`
  }
  stream.on("response", note).on("trailers", note)
  stream.on("error", () => undefined)
  stream.on("close", () => {
    session.destroy()
    resolve(status)
  })
  stream.resume()
  stream.end(body)
  return promise
}

/** The CPU time of the server's main thread, in ms; other processes don't affect it. */
const cpuMs = () => {
  const { pid } = service.process
  const stat = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8")
  return Number(stat.split(" ")[0]) / 1e6
}

/** Sends a small request repeatedly, one at a time; `count` returns the number of responses. */
function startProbe() {
  let count = 0
  const socket = connectSocket(Number(new URL(service.url).port), "localhost")
  const ask = () => socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
  socket.on("connect", ask)
  socket.on("data", () => {
    count++
    void pause(2, "a visitor who asks all the time would be most of the work").then(ask)
  })
  socket.on("error", () => undefined)
  return { count: () => count, leave: () => socket.destroy() }
}

/** The most CPU time of one response to that client, in ms. */
const probeMs = 0.15

test.each(
  [...costlyRequests, ...costlyFiles].map(
    (row) => [`${row.decoder}, ${row.what}, by ${row.as}`, row] as const,
  ),
)("%s", async (_, row) => {
  // The first request of a kind also loads and compiles code, which is not the cost of the input.
  expect(await send(row)).toMatch(row.answer)
  const costs: number[] = []
  for (let count = 0; count < 3; count++) {
    const other = startProbe()
    await until(() => other.count() > 0)
    const [begun, visits] = [cpuMs(), other.count()]
    await send(row)
    const served = other.count() - visits
    costs.push(cpuMs() - begun - served * probeMs)
    await until(() => other.count() > visits + served, { what: "an answer to somebody else" })
    other.leave()
  }
  expect(Math.min(...costs)).toBeLessThan(maxCpuMs)
})
