import { existsSync } from "node:fs"
import type { Random } from "../../kernel/crypto/random.ts"
import { type CommandTable, type Flags, type Outcome, usageError } from "../command-line.ts"
import { refuseDevelopment } from "../development.ts"
import { folderFlags, masterKeyFlag, settingsIn } from "../flags.ts"
import { claimFolder } from "../folder/claim.ts"
import { folderAt } from "../folder/folder.ts"
import type { Start } from "../running.ts"
import { readConfig } from "../settings.ts"
import { startError } from "../start-error.ts"

type Moving = Start & { readonly url: string }
type Moved = { readonly events: number; readonly claims: number; readonly files: number }

/** What the process lends to the command. */
export type Lent = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly random: Random
  readonly started: number
  readonly moveIn: (start: Moving) => Promise<Moved>
  readonly moveOut: (start: Moving) => Promise<Moved>
}

/** Stands for the database that the settings name, so that no password need be typed. */
const setting = "setting"

/** The command that moves the log into PostgreSQL, or out of it. */
export const moveCommands = (lent: Lent): CommandTable => ({
  move: {
    help: "Move the log into PostgreSQL, or out of it; no server may run",
    flags: {
      ...folderFlags,
      ...masterKeyFlag,
      "--to": { hint: "URL", help: `An empty PostgreSQL; "${setting}" for that of the settings` },
      "--from": { hint: "URL", help: "The PostgreSQL that has it; the same" },
    },
    run: (flags) => move(lent, flags),
  },
})

async function move({ env, random, started, ...lent }: Lent, flags: Flags): Promise<Outcome> {
  const { "--to": to, "--from": from } = flags
  if ((to === undefined) === (from === undefined)) {
    throw usageError("say either --to or --from, with the address of a PostgreSQL")
  }
  const named = to ?? from ?? ""
  const given = named === setting ? {} : { "--database": named }
  const config = readConfig({ flags: { ...settingsIn(flags), ...given }, env })
  const url = config.database
  if (url === undefined) throw usageError("the settings name no database; say which one")
  const folder = folderAt(config.data)
  if (to !== undefined && !existsSync(folder.database)) {
    const todo = "name the data folder with --data DIR"
    throw startError("database_missing", `there is no database in ${folder.path}; ${todo}`)
  }
  refuseDevelopment(folder)
  const claim = await claimFolder(config, random)
  try {
    const start = { ...claim, config, started, url }
    const moved = to === undefined ? await lent.moveOut(start) : await lent.moveIn(start)
    return { text: textOf(moved, to !== undefined), data: { ...moved } }
  } finally {
    claim.release()
  }
}

function textOf({ events, claims, files }: Moved, isIn: boolean): string {
  const next = isIn
    ? "Give every node the setting database, and the same master key, and start them."
    : "Leave the setting database out, and start the server."
  return [
    `  Moved ${events} events, ${claims} claims and ${files} files, the same on both sides.`,
    `  ${next}`,
  ].join("\n")
}
