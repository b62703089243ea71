import type { BackupPlace } from "../../boot/backup/place.ts"
import { backupName, backupsUntil, dropOldest } from "../../boot/backup/rotation.ts"
import type { Config } from "../../kernel/config.ts"
import { reasonText } from "../../kernel/fault.ts"
import { ownProgram } from "../../runtime/program.ts"
import type { ServerServices } from "../services.ts"
import { keepRounds } from "./round.ts"

const minuteMs = 60_000
const hourMs = 60 * minuteMs

type Wanted = Required<Pick<Config, "backupEveryHours" | "backupKeep">> & {
  /** Where they go. */
  readonly place: BackupPlace
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
  { place, label, backupEveryHours, backupKeep }: Wanted,
  save: Save,
): { readonly stop: () => Promise<void> } {
  const shelf = { place, label }
  const stopping = Promise.withResolvers<void>()
  let nextLook = 0
  let before = 0
  const rounds = keepRounds(clock, minuteMs, async (isStopped) => {
    const now = clock.now()
    // A clock that was set back has said what it should not have: nothing of that counts.
    if (now < before) nextLook = 0
    before = now
    if (now < nextLook) return
    // A bucket is not asked each minute; somebody may empty it all the same before one is due.
    nextLook = now + hourMs
    try {
      const last = (await backupsUntil(shelf, now))[0]?.made ?? 0
      const due = last + backupEveryHours * hourMs
      if (now < due) {
        nextLook = Math.min(due, nextLook)
        return
      }
      place.prepare()
      await save(place.called(backupName(label, now)), stopping.promise)
      await dropOldest(shelf, { keep: backupKeep, now })
    } catch (cause) {
      if (isStopped()) return
      const because = reasonText(cause)
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

type Tell = (words: string, values: Readonly<Record<string, unknown>>) => void
type Told = { readonly error: Tell }

/**
 * Has another process of ours make it: it reads beside the server, steps back behind it, and takes
 * its memory along when it ends. What it says of a backup that it makes is a warning.
 */
export const savingApart =
  (given: Config, log: { readonly warning: Tell }): Save =>
  async (file, stopping) => {
    const child = Bun.spawn(
      [
        ...ownProgram(),
        "backup",
        file,
        "--data",
        given.data,
        ...flag("--config", given.config),
        ...flag("--recipient", given.backupRecipient),
        // The secret itself comes by its environment or its file, as ours did.
        ...flag("--s3-endpoint", given.s3Endpoint),
        ...flag("--s3-region", given.s3Region),
        ...flag("--s3-key-id", given.s3KeyId),
        ...flag("--s3-secret-file", given.s3SecretFile),
      ],
      { stdin: "ignore", stdout: "ignore", stderr: "pipe" },
    )
    void stopping.then(() => child.kill("SIGTERM"))
    const said = (await new Response(child.stderr).text()).trim().slice(0, 500)
    if ((await child.exited) !== 0) throw new Error(said || "it was ended")
    if (said !== "") log.warning("a backup was made, but {said}", { said })
  }

const flag = (name: string, value: string | undefined): readonly string[] =>
  value === undefined ? [] : [name, value]
