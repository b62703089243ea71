// The idle timeouts of connections; the test waits for them.
import { connect } from "node:net"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type RunningServer, temporaryFolder } from "../support/latchkey.ts"
import { pause, until } from "../support/wait.ts"
import { openServerFolder } from "./server-folder.ts"

const folder = temporaryFolder()
let server: RunningServer
beforeAll(async () => {
  server = await (await openServerFolder(folder.path)).start()
})
afterAll(async () => {
  await server.stop()
  folder.remove()
})

function openConnection() {
  const { host, port } = new URL(server.url)
  const socket = connect(Number(port), "127.0.0.1")
  let [answers, isClosed] = [0, false]
  socket.on("data", (chunk) => {
    answers += `${chunk}`.split("HTTP/1.1 200").length - 1
  })
  socket.on("error", () => undefined)
  socket.on("close", () => {
    isClosed = true
  })
  return {
    isClosed: () => isClosed,
    ask: async (path: string) => {
      const before = answers
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
      await until(() => answers > before || isClosed)
      return answers > before
    },
    close: () => socket.destroy(),
  }
}

test("used connections outlive those of proxies, unused ones don't", async () => {
  const paths = ["/oauth/v2/keys", "/debug/ready"]
  const used = paths.map((path) => ({ path, ...openConnection() }))
  const unused = openConnection()
  for (const { ask, path } of used) expect(await ask(path)).toBe(true)
  await pause(62_000, "nginx and AWS keep idle connections for a minute, and nothing shortens that")
  expect(unused.isClosed()).toBe(true)
  for (const { ask, path } of used) expect([path, await ask(path)]).toEqual([path, true])
  for (const { close } of used) close()
})
