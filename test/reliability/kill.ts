import { setTimeout } from "node:timers/promises"
import { connect } from "../acceptance/service.ts"
import { freePort, serviceToken, setUp, start, temporaryFolder } from "../support/latchkey.ts"
import { broken, newLedger, write } from "./load.ts"

export type Killed = {
  readonly complaints: readonly string[]
  readonly acknowledged: number
  readonly readyMsMax: number
  readonly database: string
  readonly remove: () => void
}

/**
 * Lets eight writers work on the binary and kills it at a random moment, so many times; after each
 * restart what the server shows is compared with what the writers were told.
 */
export async function killLoop(rounds: number, upMsMax: number): Promise<Killed> {
  const folder = temporaryFolder()
  const data = `${folder.path}/data`
  const port = await freePort()
  const url = `http://localhost:${port}`
  const key = await setUp(data, url)
  const ledger = newLedger()
  const complaints: string[] = []
  let readyMsMax = 0
  for (let round = 0; round <= rounds; round++) {
    const started = performance.now()
    const server = await start({ data, port })
    readyMsMax = Math.max(readyMsMax, performance.now() - started)
    const token = await serviceToken(url, key)
    const orgs = await connect(url, "ListOrganizations", { request: {}, token })
    const target = { url, key, token, orgId: orgs.body.result[0].id, ledger }
    for (const found of await broken(target)) complaints.push(`round ${round}: ${found}`)
    if (round === rounds) {
      await server.stop()
      break
    }
    const working = write(target, 8, () => false)
    await setTimeout(50 + Math.random() * (upMsMax - 50))
    await server.stop("SIGKILL")
    await working
  }
  for (const { status, body } of ledger.refusals)
    complaints.push(`${status} ${JSON.stringify(body)}`)
  const database = `${data}/latchkey.db`
  const { acknowledged } = ledger
  return { complaints, acknowledged, readyMsMax, database, remove: folder.remove }
}
