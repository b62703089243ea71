import { openFamilies } from "../../support/family.ts"
import { type Journal, newJournal, startLoad, writers } from "../../support/load.ts"
import { timed } from "../../support/quiet.ts"
import { pause } from "../../support/wait.ts"
import { audit, openDatabase, rebuiltOtherwise } from "../audit.ts"
import { openHouse } from "../house.ts"
import { aftermath } from "./aftermath.ts"

export type KillLoop = {
  readonly complaints: readonly string[]
  readonly acknowledged: number
  readonly unanswered: number
  /** From start to the first answer of each restart, as on a quiet machine. */
  readonly readyMs: readonly number[]
}

type Losses = {
  /** Lines of its latchkey.toml. */
  readonly settings?: string
  /** Whether its data folder is gone after a round. */
  readonly losesFolder?: (round: number) => boolean
}

/** Kills a server under load, starts it again and compares; as many times as it is told. */
export async function killLoop(
  folder: string,
  rounds: number,
  { settings, losesFolder }: Losses = {},
): Promise<KillLoop> {
  const house = await openHouse(folder, settings)
  const complaints: string[] = []
  const journals: Journal[] = []
  const readyMs: number[] = []
  let server = await house.start()
  const client = await house.client()
  const { clientId, next } = await openFamilies(client)
  for (let round = 0; round < rounds; round++) {
    const journal = newJournal()
    journals.push(journal)
    const tokens = await Promise.all(Array.from({ length: writers }, next))
    const load = startLoad(client, journal, { name: `r${round}`, clientId, tokens })
    await pause(
      50 + Math.random() * 1450,
      "the kill must come at any moment, which is what is tested",
    )
    await server.stop("SIGKILL")
    await load.ended
    if (losesFolder?.(round)) house.empty()
    const [restarted, ms] = await timed(house.start)
    server = restarted
    readyMs.push(ms)
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
