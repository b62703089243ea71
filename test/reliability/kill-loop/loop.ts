import { type Journal, newJournal, startLoad, writers } from "../../support/load.ts"
import { measureTime } from "../../support/scaled-time.ts"
import { openFamilies } from "../../support/token-family.ts"
import { pause } from "../../support/wait.ts"
import { audit, findRebuildDifferences, openDatabase } from "../audit.ts"
import { openServerFolder } from "../server-folder.ts"
import { checkAftermath } from "./aftermath.ts"

export type KillLoopResult = {
  readonly complaints: readonly string[]
  readonly acknowledged: number
  readonly unanswered: number
  /** From the start to the first response after each restart, scaled to an idle machine. */
  readonly readyMs: readonly number[]
}

type KillLoopOptions = {
  /** Lines of its latchkey.toml. */
  readonly settings?: string
  /** Whether its data directory is deleted after a round. */
  readonly losesFolder?: (round: number) => boolean
}

/** Kills a server under load, restarts it and compares, for each round. */
export async function runKillLoop(
  folder: string,
  rounds: number,
  { settings, losesFolder }: KillLoopOptions = {},
): Promise<KillLoopResult> {
  const house = await openServerFolder(folder, settings)
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
    const [restarted, ms] = await measureTime(house.start)
    server = restarted
    readyMs.push(ms)
    complaints.push(
      ...(await checkAftermath(client, journal)).map((text) => `round ${round}: ${text}`),
    )
  }
  await server.stop("SIGKILL")
  complaints.push(...(await audit(house.file)), ...(await findStrayPositions(house.file, journals)))
  const otherwise = await findRebuildDifferences(house.file)
  complaints.push(...otherwise.map((table) => `${table} is not what a replay makes of it`))
  const sum = (count: (journal: Journal) => number) =>
    journals.map(count).reduce((a, b) => a + b, 0)
  const acknowledged = sum(({ answers }) => answers.size)
  const unanswered = sum(({ sent }) => sent.length) - acknowledged
  return { complaints, acknowledged, unanswered, readyMs }
}

/** Checks that the event at every acknowledged position belongs to that request. */
async function findStrayPositions(file: string, journals: readonly Journal[]): Promise<string[]> {
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
