// Backups in sequence under writes, every third one killed; each complete one is restored.
import { spawn } from "node:child_process"
import { existsSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { binary, run } from "../../support/latchkey.ts"
import { isAcknowledged, type Journal, newJournal, startLoad } from "../../support/load.ts"
import { pause, until } from "../../support/wait.ts"
import { audit, openDatabase } from "../audit.ts"
import { openServerFolder } from "../server-folder.ts"

export type BackupOutcome = {
  readonly complaints: readonly string[]
  readonly figures: Readonly<Record<string, number>>
}

export async function backUpUnderLoad(folder: string, backups: number): Promise<BackupOutcome> {
  const house = await openServerFolder(folder)
  const server = await house.start()
  const journal = newJournal()
  const load = startLoad(await house.client(), journal, { name: "load" })
  await until(() => journal.answers.size > 100, { limitMs: 60_000 })
  const complaints: string[] = []
  let killed = 0
  for (let at = 0; at < backups; at++) {
    const file = join(folder, `backup-${at}.tar.zst`)
    if (at % 3 === 2) {
      killed++
      await killBackup(file, house.data)
    } else {
      const found = await checkBackup({ folder, file, data: house.data, journal })
      complaints.push(...found.map((text) => `backup ${at}: ${text}`))
    }
    rmSync(file, { force: true })
  }
  load.stop()
  await load.ended
  if ((await server.stop()) !== 0) complaints.push("the server did not stop in order")
  complaints.push(...(await audit(house.file)))
  const last = await run(["backup", join(folder, "last.tar.zst"), "--data", house.data])
  if (last.code !== 0) complaints.push(`the last backup: ${last.output}`)
  const left = [folder, house.data].flatMap((each) => readdirSync(each)).filter(isPart)
  complaints.push(...left.map((name) => `${name} was left`))
  const figures = { backups, killed, acknowledged: journal.answers.size }
  return { complaints, figures }
}

const isPart = (name: string) => name.endsWith(".part")

/** The result is a complete backup, or none. */
async function killBackup(file: string, data: string): Promise<void> {
  const child = spawn(binary, ["backup", file, "--data", data], { env: {} })
  const ended = new Promise((done) => child.once("close", done))
  await pause(50 + Math.random() * 500, "the kill must come at any moment")
  child.kill("SIGKILL")
  await ended
}

type BackupFiles = {
  readonly folder: string
  readonly file: string
  readonly data: string
  readonly journal: Journal
}

async function checkBackup({
  folder,
  file,
  data,
  journal,
}: BackupFiles): Promise<readonly string[]> {
  const backup = ["backup", file, "--include-master-key", "--json", "--data", data]
  const { code, output } = await run(backup)
  if (code !== 0) return [output]
  const { position }: { readonly position: number } = JSON.parse(output)
  const answered = [...journal.answers]
  const restored = join(folder, "restored")
  const { code: restoring, output: said } = await run(["restore", file, "--data", restored])
  if (restoring !== 0) return [said]
  try {
    const there = join(restored, "latchkey.db")
    if (!existsSync(there)) return ["the restored folder has no database"]
    const ids = await listIds(there)
    const wrong = answered.flatMap(([deed, reply]) => {
      if (deed.kind !== "user" || !isAcknowledged(journal, deed)) return []
      const isBefore = reply.position <= position
      if (ids.has(deed.id) === isBefore) return []
      return [
        `user ${deed.id} at ${reply.position} of ${position} is ${isBefore ? "gone" : "there"}`,
      ]
    })
    return [...wrong, ...(await audit(there))]
  } finally {
    rmSync(restored, { recursive: true })
  }
}

async function listIds(file: string): Promise<ReadonlySet<string>> {
  const store = openDatabase(file)
  const rows = store.database.query<{ id: string }, []>("SELECT DISTINCT id FROM event").all()
  await store.close()
  return new Set(rows.map(({ id }) => id))
}
