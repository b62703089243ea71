import { connect } from "node:net"
import { expect, test } from "vitest"
import { pause } from "../support/wait.ts"
import { runProgram } from "./child.ts"

type ConnectionEnd = "told to close" | "lost" | "refused"
type ConnectionResult = { answers: number; end: ConnectionEnd }

/** The number of answered requests. */
let answers = 0

/** Sends requests on one connection until the server closes it or announces the close. */
function keepRequesting(
  port: number,
  path: string,
  pauseMs: () => number,
  isOnce = false,
): Promise<ConnectionResult> {
  const kept: ConnectionResult = { answers: 0, end: "refused" }
  const socket = connect(port, "127.0.0.1")
  const close = isOnce ? "Connection: close\r\n" : ""
  const ask = () => socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${close}\r\n`)
  let rest = ""
  return new Promise((done) => {
    socket.on("connect", () => {
      kept.end = "lost"
      ask()
    })
    socket.on("data", (chunk) => {
      rest += chunk
      const head = rest.slice(0, rest.indexOf("\r\n\r\n") + 4)
      const size = head.length + Number(/content-length: (\d+)/i.exec(head)?.[1])
      if (head === "" || rest.length < size) return
      rest = rest.slice(size)
      kept.answers++
      answers++
      if (isOnce || /^connection: close/im.test(head)) kept.end = "told to close"
      else void pause(pauseMs(), "the connections must not ask in step").then(ask)
    })
    socket.on("error", () => undefined)
    socket.on("close", () => done(kept))
  })
}

test("requests around a stop are answered and announce the close", async () => {
  const child = runProgram("leaver.ts", ["stop"])
  const port = Number(await child.line())
  // From 5 to 104 ms: at any moment many connections are between two requests.
  const clients = Array.from({ length: 200 }, (_, at) =>
    keepRequesting(port, at % 2 ? "/published" : "/slow", () => 5 + at / 2),
  )
  await expect.poll(() => answers, { interval: 10 }).toBeGreaterThan(400)
  child.kill("SIGTERM")
  // An announced close shows that the process is about to stop.
  await Promise.race(clients)
  // A new connection is served as well while the others close.
  const late = await keepRequesting(port, "/published", () => 5)
  expect(late).toEqual({ answers: 1, end: "told to close" })
  const all = [late, ...(await Promise.all(clients))]
  expect(all.filter(({ end }) => end !== "told to close")).toEqual([])
  const begun = answers
  await keepRequesting(port, "/go-on", () => 5)
  expect(await child.ended).toMatchObject({ code: 0, output: `${port}\nbegun ${begun}\n` })
  expect((await keepRequesting(port, "/published", () => 5)).end).toBe("refused")
})

test("connections that send a request during the drain are answered before they close", async () => {
  const child = runProgram("leaver.ts", ["drain"])
  const port = Number(await child.line())
  const before = answers
  // From 400 to 1,196 ms: longer than a stop waits without a drain.
  const clients = Array.from({ length: 200 }, (_, at) =>
    keepRequesting(port, at % 2 ? "/published" : "/slow", () => 400 + at * 4),
  )
  await expect.poll(() => answers - before, { interval: 10 }).toBeGreaterThan(250)
  child.kill("SIGTERM")
  await Promise.race(clients)
  const late = await keepRequesting(port, "/slow", () => 5)
  expect(late).toEqual({ answers: 1, end: "told to close" })
  const all = await Promise.all(clients)
  expect(all.filter(({ end }) => end !== "told to close")).toEqual([])
  await keepRequesting(port, "/go-on", () => 5)
  expect(await child.ended).toMatchObject({ code: 0 })
})

test("a connection that opens around a stop is answered or never opens", async () => {
  for (let stop = 0; stop < 3; stop++) {
    const child = runProgram("leaver.ts", [])
    const port = Number(await child.line())
    const before = answers
    const ends = new Map<ConnectionEnd, number>()
    const opening = async () => {
      for (let last: ConnectionEnd = "told to close"; last !== "refused"; ) {
        last = (await keepRequesting(port, "/published", () => 5, true)).end
        ends.set(last, (ends.get(last) ?? 0) + 1)
      }
    }
    const all = Array.from({ length: 30 }, opening)
    await expect.poll(() => answers - before, { interval: 10 }).toBeGreaterThan(1000)
    child.kill("SIGTERM")
    await Promise.all(all)
    expect(ends.get("lost")).toBe(undefined)
    expect(await child.ended).toMatchObject({ code: 0 })
  }
})
