import type { BackupLocation } from "../../boot/backup/location.ts"
import { backupName, dropOldest, listBackupsUntil } from "../../boot/backup/rotation.ts"
import type { Config } from "../../kernel/config.ts"
import { errorText } from "../../kernel/fault.ts"
import { programCommand } from "../../runtime/program.ts"
import type { ServerServices } from "../services.ts"
import { startRepeating } from "./repeat.ts"

const minuteMs = 60_000
const hourMs = 60 * minuteMs

type BackupOptions = Required<Pick<Config, "backupEveryHours" | "backupKeep">> & {
  /** The location of the backups. */
  readonly place: BackupLocation
  /** The label of the backups of this data directory. */
  readonly label: string
}

/** Creates a backup file; rejects with a message for the operator. */
export type CreateBackup = (file: string, stopping: Promise<void>) => Promise<void>

/**
 * Creates backups at intervals and removes the oldest. The time of the next one is derived from the
 * files, so a restart creates no additional backups. A failed backup is logged and retried after an
 * hour.
 */
export function startBackups(
  { clock, log }: Pick<ServerServices, "clock"> & { readonly log: ErrorLog },
  { place, label, backupEveryHours, backupKeep }: BackupOptions,
  save: CreateBackup,
): { readonly stop: () => Promise<void> } {
  const shelf = { place, label }
  const stopping = Promise.withResolvers<void>()
  let nextLook = 0
  let before = 0
  const rounds = startRepeating(clock, minuteMs, async (isStopped) => {
    const now = clock.now()
    // After the clock was set back, the scheduled time is invalid.
    if (now < before) nextLook = 0
    before = now
    if (now < nextLook) return
    // A bucket is not listed every minute; it is listed again before a backup is due, in case it
    // was emptied.
    nextLook = now + hourMs
    try {
      const last = (await listBackupsUntil(shelf, now))[0]?.made ?? 0
      const due = last + backupEveryHours * hourMs
      if (now < due) {
        nextLook = Math.min(due, nextLook)
        return
      }
      place.prepare()
      await save(place.pathOf(backupName(label, now)), stopping.promise)
      await dropOldest(shelf, { keep: backupKeep, now })
    } catch (cause) {
      if (isStopped()) return
      const reason = errorText(cause)
      log.error("the backup failed, next attempt in an hour: {because}", { because: reason })
    }
  })
  return {
    stop: () => {
      stopping.resolve()
      return rounds.stop()
    },
  }
}

type LogFunction = (message: string, values: Readonly<Record<string, unknown>>) => void
type ErrorLog = { readonly error: LogFunction }

/**
 * Creates the backup in a separate process with a lower priority, whose memory is released at its
 * end. Its output for a successful backup is logged as a warning.
 */
export const backupInProcess =
  (configValue: Config, log: { readonly warning: LogFunction }): CreateBackup =>
  async (file, stopping) => {
    const child = Bun.spawn(
      [
        ...programCommand(),
        "backup",
        file,
        "--data",
        configValue.data,
        ...flag("--config", configValue.config),
        ...flag("--recipient", configValue.backupRecipient),
        // The secret is passed by its environment variable or file, as for this process.
        ...flag("--s3-endpoint", configValue.s3Endpoint),
        ...flag("--s3-region", configValue.s3Region),
        ...flag("--s3-key-id", configValue.s3KeyId),
        ...flag("--s3-secret-file", configValue.s3SecretFile),
      ],
      { stdin: "ignore", stdout: "ignore", stderr: "pipe" },
    )
    void stopping.then(() => child.kill("SIGTERM"))
    const output = (await new Response(child.stderr).text()).trim().slice(0, 500)
    if ((await child.exited) !== 0) throw new Error(output || "the backup process was terminated")
    if (output !== "") log.warning("a backup was created, with a warning: {output}", { output })
  }

const flag = (name: string, value: string | undefined): readonly string[] =>
  value === undefined ? [] : [name, value]
