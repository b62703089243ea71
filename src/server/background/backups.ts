import { mkdirSync } from "node:fs"
import { join, resolve } from "node:path"
import { backupName, backupsUntil, dropOldest } from "../../boot/backup/rotation.ts"
import type { Config } from "../../kernel/config.ts"
import type { ServerServices } from "../services.ts"
import { keepRounds } from "./round.ts"

const minuteMs = 60_000
const hourMs = 60 * minuteMs

type Wanted = Required<Pick<Config, "backupEveryHours" | "backupKeep">> & {
  /** Where they go. */
  readonly to: string
  /** What tells those of this data folder from others there. */
  readonly label: string
}

/** Makes a backup in a file; rejects with what the operator should read. */
export type Save = (file: string, stopping: Promise<void>) => Promise<void>

/**
 * Makes a backup now and then, and removes the oldest. When the next one is due is told by the
 * files: a restart makes none too many. What fails is told, and tried again in an hour.
 */
export function keepBackups(
  { clock, log }: Pick<ServerServices, "clock"> & { readonly log: Told },
  { to, label, backupEveryHours, backupKeep }: Wanted,
  save: Save,
): { readonly stop: () => Promise<void> } {
  const folder = resolve(to)
  const shelf = { folder, label }
  const stopping = Promise.withResolvers<void>()
  let notBefore = 0
  const rounds = keepRounds(clock, minuteMs, async (isStopped) => {
    const now = clock.now()
    const last = backupsUntil(shelf, now)[0]?.made ?? 0
    if (now < notBefore || now - last < backupEveryHours * hourMs) return
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      await save(join(folder, backupName(label, now)), stopping.promise)
      dropOldest(shelf, { keep: backupKeep, now })
    } catch (cause) {
      if (isStopped()) return
      notBefore = now + hourMs
      const because = cause instanceof Error ? cause.message : String(cause)
      log.error("no backup could be made, the next try is in an hour: {because}", { because })
    }
  })
  return {
    stop: () => {
      stopping.resolve()
      return rounds.stop()
    },
  }
}

type Told = {
  readonly error: (words: string, values: Readonly<Record<string, unknown>>) => void
}

/**
 * Has another process of ours make it: it reads beside the server, steps back behind it, and takes
 * its memory along when it ends.
 */
export const savingApart =
  ({ data, config, backupRecipient }: Pick<Config, "data" | "config" | "backupRecipient">): Save =>
  async (file, stopping) => {
    const child = Bun.spawn(
      [
        ...[...self(), "backup", file, "--data", data],
        ...(config ? ["--config", config] : []),
        ...(backupRecipient ? ["--recipient", backupRecipient] : []),
      ],
      { stdin: "ignore", stdout: "ignore", stderr: "pipe" },
    )
    void stopping.then(() => child.kill("SIGTERM"))
    const said = await new Response(child.stderr).text()
    if ((await child.exited) !== 0) throw new Error(said.trim().slice(0, 500) || "it was ended")
  }

/** What this program is started with: compiled, it is one file. */
const self = (): readonly string[] =>
  /^(\/\$bunfs\/|B:[\\/]~BUN[\\/])/.test(Bun.main)
    ? [process.execPath]
    : [process.execPath, Bun.main]
