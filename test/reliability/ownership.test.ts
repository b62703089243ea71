import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type RunningServer, run, temporaryFolder } from "../support/latchkey.ts"
import { type Client, call } from "../support/load.ts"
import { measureTime } from "../support/scaled-time.ts"
import { openServerFolder } from "./server-folder.ts"

describe("a second process on the same data directory (R-09)", () => {
  const folder = temporaryFolder()
  let server: RunningServer
  let client: Client

  beforeAll(async () => {
    const house = await openServerFolder(folder.path)
    server = await house.start()
    client = await house.client()
  })
  afterAll(async () => {
    await server?.stop()
    folder.remove()
  })

  const ports = ["--listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0"]

  test("fails in less than a second, with one plain line that names the owner", async () => {
    const took: number[] = []
    for (let time = 0; time < 3; time++) {
      const refused = () => run(["serve", "--data", server.data, ...ports])
      const [{ code, output }, ms] = await measureTime(refused)
      took.push(ms)
      expect(code).toBe(1)
      expect(output).toMatch(/^latchkey: [^\n]+\n$/)
      expect(output).toContain(`in use by another Latchkey process (pid ${server.process.pid})`)
    }
    expect(took.sort((a, b) => a - b)[1]).toBeLessThan(1000)
  })

  test("does not affect the first one, including its writes", async () => {
    const request = { organizationId: client.orgId, name: "After the second came" }
    expect((await call(client, "project.CreateProject", request)).status).toBe(200)
  })
})
