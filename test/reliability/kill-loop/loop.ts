import { join } from "node:path"
import { freePort, serviceToken, setUp, start } from "../../support/latchkey.ts"
import {
  type Client,
  call,
  cheapHash,
  firstPassword,
  type Journal,
  newJournal,
  startLoad,
} from "../../support/load.ts"
import { audit, openDatabase, rebuiltOtherwise } from "../audit.ts"
import { aftermath } from "./aftermath.ts"

export type KillLoop = {
  readonly complaints: readonly string[]
  readonly acknowledged: number
  readonly unanswered: number
  /** From start to the first answer of each restart, after the first one. */
  readonly readyMs: readonly number[]
}

/** Starts a server on a folder of its own; `restart` after it was killed. */
export async function openHouse(folder: string) {
  const data = join(folder, "data")
  const port = await freePort()
  const url = `http://localhost:${port}`
  const key = await setUp(data, url)
  const file = join(data, "latchkey.db")
  const clientOf = async (): Promise<Client> => {
    const token = await serviceToken(url, key)
    const bare = { url, key, token, orgId: "", passwordHash: await cheapHash(firstPassword) }
    const { body } = await call(bare, "org.ListOrganizations", {})
    return { ...bare, orgId: body.result[0].id }
  }
  return { data, file, port, clientOf, start: () => start({ data, port }) }
}

/** Kills a server under load, starts it again and compares; as many times as it is told. */
export async function killLoop(folder: string, rounds: number): Promise<KillLoop> {
  const house = await openHouse(folder)
  const complaints: string[] = []
  const journals: Journal[] = []
  const readyMs: number[] = []
  let server = await house.start()
  const client = await house.clientOf()
  for (let round = 0; round < rounds; round++) {
    const journal = newJournal()
    journals.push(journal)
    const load = startLoad(client, journal, `r${round}`)
    await Bun.sleep(50 + Math.random() * 1450)
    await server.stop("SIGKILL")
    await load.ended
    const killed = performance.now()
    server = await house.start()
    readyMs.push(performance.now() - killed)
    complaints.push(...(await aftermath(client, journal)).map((text) => `round ${round}: ${text}`))
  }
  await server.stop("SIGKILL")
  complaints.push(...(await audit(house.file)), ...(await strayAnswers(house.file, journals)))
  const otherwise = await rebuiltOtherwise(house.file)
  complaints.push(...otherwise.map((table) => `${table} is not what a replay makes of it`))
  const sum = (count: (journal: Journal) => number) =>
    journals.map(count).reduce((a, b) => a + b, 0)
  const acknowledged = sum(({ answers }) => answers.size)
  const unanswered = sum(({ sent }) => sent.length) - acknowledged
  return { complaints, acknowledged, unanswered, readyMs }
}

/** Every answer that names a position: the event there is that request's. */
async function strayAnswers(file: string, journals: readonly Journal[]): Promise<string[]> {
  const store = openDatabase(file)
  const query = store.database.query<{ correlation: string }, [number]>(
    "SELECT correlation FROM event WHERE position = ?",
  )
  const strays = journals
    .flatMap(({ answers }) => [...answers.values()])
    .filter(({ position }) => !Number.isNaN(position))
    .filter(({ position, requestId }) => query.get(position)?.correlation !== requestId)
  await store.close()
  return strays.map(({ position }) => `the event at ${position} is not the acknowledged one`)
}
