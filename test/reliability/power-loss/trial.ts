import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { allAccounts, openFile } from "../../store/account.ts"
import { createImage, type Loss, seededRandom } from "./image.ts"
import { type Operation, recordWriter } from "./recording.ts"

export type RecordedRun = {
  readonly operations: readonly Operation[]
  /** When the store was open, and when it started to close. */
  readonly from: number
  readonly end: number
  readonly folder: string
}

/** Records a writer whose store passes several checkpoints, for any number of trials. */
export function recordRun(workshop: string, accounts = 6000): RecordedRun {
  const written = join(workshop, "written")
  mkdirSync(written)
  const operations = recordWriter(written, workshop, accounts)
  const acks = operations.flatMap(({ kind, file }, index) =>
    kind === "cut" && file === "acks" ? [index] : [],
  )
  const [from, end] = [acks[0] ?? 0, acks.at(-1) ?? 0]
  return { operations, from, end, folder: join(workshop, "image") }
}

/**
 * Simulates a power failure at a random moment, opens the remaining files, and returns the errors:
 * none if the store keeps its promise.
 */
export async function runTrial(
  trials: RecordedRun,
  seed: number,
  loss: Loss,
): Promise<readonly string[]> {
  const { operations, from, end, folder } = trials
  const random = seededRandom(seed)
  const moment = from + Math.floor(random() * (end - from)) + 1
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  for (const [name, bytes] of createImage(operations, { from, end: moment, loss }, random)) {
    // The index of the WAL is in memory, and rebuilt when the database is opened.
    if (!name.endsWith("-shm") && name !== "acks") writeFileSync(join(folder, name), bytes)
  }
  const acknowledged = operations
    .slice(0, moment)
    .flatMap((each) => (each.kind === "cut" && each.file === "acks" ? [each.size] : []))
  return findComplaints(
    join(folder, "latchkey.db"),
    acknowledged.filter((number) => number > 0),
  )
}

async function findComplaints(file: string, acknowledged: readonly number[]): Promise<string[]> {
  const store = openFile(file)
  const found: string[] = []
  const check = store.database.query<{ integrity_check: string }, []>("PRAGMA integrity_check")
  for (const row of check.all()) {
    if (row.integrity_check !== "ok") found.push(row.integrity_check)
  }
  const types = new Map<string, string[]>()
  let position = 0
  for (const event of await store.log.read(0, 1_000_000)) {
    if (event.position !== ++position) found.push(`position ${event.position} after ${position}`)
    types.set(event.id, [...(types.get(event.id) ?? []), event.type])
  }
  for (const number of acknowledged) {
    if (!types.has(`${number}`)) found.push(`account ${number} was acknowledged and is lost`)
  }
  for (const [id, of] of types) if (of.length < 2) found.push(`account ${id} is half there`)
  const shown = store.all({ instance: "i1" }, allAccounts).map((row) => row.id)
  const expected = [...types].filter(([, of]) => of.length === 2).map(([id]) => id)
  if (shown.join() !== expected.sort().join()) found.push("the view is not what the events say")
  await store.close()
  return found
}
