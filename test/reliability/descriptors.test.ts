// One address opens more connections than the server has descriptors.
import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { networkInterfaces } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import {
  binary,
  freePort,
  type RunningServer,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { pause, until } from "../support/wait.ts"

const descriptors = 400
const share = descriptors / 4

/** An address of this machine other than loopback. */
const outsideAddress = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .find(({ internal, family }) => !internal && family === "IPv4")?.address

type Client = { readonly isOpen: () => boolean; readonly leave: () => void }

describe.runIf(outsideAddress && process.platform === "linux")("connections of one address", () => {
  const folder = temporaryFolder()
  let server: RunningServer
  let port: number
  const clients: Client[] = []

  beforeAll(async () => {
    port = await freePort()
    const program = join(folder.path, "limited")
    const everywhere = `"\${@/127.0.0.1:${port}/0.0.0.0:${port}}"`
    writeFileSync(program, `#!/bin/bash\nulimit -n ${descriptors}\nexec ${binary} ${everywhere}\n`)
    chmodSync(program, 0o700)
    server = await startLatchkey({ data: join(folder.path, "data"), port, program })
  })
  afterAll(async () => {
    await server?.stop()
    folder.remove()
  })

  const open = (host: string, count: number) => {
    for (let each = 0; each < count; each++) {
      const socket: Socket = connect({ host, port })
      let isOpen = false
      socket.on("connect", () => {
        isOpen = true
        // A connection with a request is kept longer than a silent one.
        socket.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
      })
      socket.on("data", () => undefined)
      socket.on("close", () => {
        isOpen = false
      })
      socket.on("error", () => undefined)
      clients.push({ isOpen: () => isOpen, leave: () => socket.destroy() })
    }
  }
  const opened = () => clients.filter((each) => each.isOpen()).length
  afterEach(async () => {
    for (const client of clients.splice(0)) client.leave()
    await until(() => descriptorsOf() < 60, { what: "the server to have closed them too" })
  })
  const descriptorsOf = () => readdirSync(`/proc/${server.process.pid}/fd`).length
  const healthy = async () => (await fetch(`${server.url}/healthz`)).status === 200

  test("connections above a quarter of the descriptors are closed", async () => {
    open(outsideAddress ?? "", share + 80)
    await until(() => clients.length === share + 80 && opened() > share, { what: "connections" })
    await until(() => opened() <= share, { what: "the excess to be ended", limitMs: 10_000 })
    expect(opened()).toBeGreaterThan(share - 20)
    expect(await healthy()).toBe(true)
    expect(server.output()).toContain(`connections of '${outsideAddress}'`)
  })

  test("connections from this machine, such as proxies, are not closed", async () => {
    open("127.0.0.1", share + 80)
    await until(() => opened() === share + 80, { what: "all connections" })
    await pause(2500, "nothing may happen in two rounds, and nothing signals that it did not")
    expect(opened()).toBe(share + 80)
  })

  test("more connections than descriptors block no client, and keep no thread busy", async () => {
    open(outsideAddress ?? "", 2 * descriptors)
    await until(async () => (await healthy()) && descriptorsOf() <= share + 60, {
      what: "an answer, and descriptors that are free",
      limitMs: 20_000,
    })
    const isQuiet = async () => {
      const before = workMs()
      const begun = performance.now()
      await pause(1000, "the work that is done meanwhile is what is measured")
      return (workMs() - before) / (performance.now() - begun) < 0.5
    }
    await until(isQuiet, { what: "a second without much work", limitMs: 20_000 })
  })

  /** proc(5): the CPU time of the process, in hundredths of a second. */
  const workMs = () => {
    const stat = readFileSync(`/proc/${server.process.pid}/stat`, "utf8")
    const fields = stat.split(") ").at(-1)?.split(" ") ?? []
    return (Number(fields[11]) + Number(fields[12])) * 10
  }
})
