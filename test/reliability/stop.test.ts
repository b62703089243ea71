import { setTimeout } from "node:timers/promises"
import { expect, test } from "vitest"
import { connect } from "../acceptance/service.ts"
import { freePort, serviceToken, setUp, start, temporaryFolder } from "../support/latchkey.ts"
import { broken, newLedger, write } from "./load.ts"

test("SIGTERM at work loses nothing, answers what is under way and ends in 10 s (R-27)", async () => {
  const folder = temporaryFolder()
  const data = `${folder.path}/data`
  const port = await freePort()
  const url = `http://localhost:${port}`
  const key = await setUp(data, url)
  const ledger = newLedger()
  for (let round = 0; round < 3; round++) {
    const server = await start({ data, port })
    const token = await serviceToken(url, key)
    const orgs = await connect(url, "ListOrganizations", { request: {}, token })
    const target = { url, key, token, orgId: orgs.body.result[0].id, ledger }
    expect(await broken(target)).toEqual([])
    const before = ledger.acknowledged
    const working = write(target, 8, () => false)
    await setTimeout(400)
    const started = performance.now()
    expect(await server.stop("SIGTERM")).toBe(0)
    expect(performance.now() - started).toBeLessThan(10_000)
    await working
    expect(ledger.acknowledged).toBeGreaterThan(before + 20)
    // Nobody was answered with an error because of the stop.
    expect(ledger.refusals).toEqual([])
  }
  const server = await start({ data, port })
  const token = await serviceToken(url, key)
  expect(await broken({ url, key, token, orgId: "", ledger })).toEqual([])
  await server.stop()
  folder.remove()
}, 60_000)
