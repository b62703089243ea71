import { existsSync } from "node:fs"
import type { Random } from "../../kernel/crypto/random.ts"
import { type CommandResult, type CommandTable, type Flags, usageError } from "../command-line.ts"
import { rejectDevelopment } from "../development.ts"
import { folderFlags, masterKeyFlag, settingFlagsOf } from "../flags.ts"
import { claimFolder } from "../folder/claim.ts"
import { folderAt } from "../folder/folder.ts"
import type { StartInput } from "../running.ts"
import { readConfig } from "../settings.ts"
import { startError } from "../start-error.ts"

type MoveInput = StartInput & { readonly url: string }
type MoveResult = { readonly events: number; readonly claims: number; readonly files: number }

/** The dependencies that the process provides to the command. */
export type MoveContext = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly random: Random
  readonly started: number
  readonly moveToPostgres: (start: MoveInput) => Promise<MoveResult>
  readonly moveFromPostgres: (start: MoveInput) => Promise<MoveResult>
}

/** The value that selects the database from the settings, so that no password must be typed. */
const settingValue = "setting"

/** The command that moves the event log to or from PostgreSQL. */
export const moveCommands = (context: MoveContext): CommandTable => ({
  move: {
    help: "Move the event log to or from PostgreSQL while no server runs",
    flags: {
      ...folderFlags,
      ...masterKeyFlag,
      "--to": {
        hint: "URL",
        help:
          `URL of an empty PostgreSQL database, or "${settingValue}" for the one in the ` +
          "settings",
      },
      "--from": {
        hint: "URL",
        help: 'URL of the PostgreSQL database with the log; "setting" for the one in the settings',
      },
    },
    run: (flags) => move(context, flags),
  },
})

async function move(
  { env, random, started, ...context }: MoveContext,
  flags: Flags,
): Promise<CommandResult> {
  const { "--to": to, "--from": from } = flags
  if ((to === undefined) === (from === undefined)) {
    throw usageError("exactly one of --to and --from is required")
  }
  const named = to ?? from ?? ""
  const databaseFlag = named === settingValue ? {} : { "--database": named }
  const config = readConfig({ flags: { ...settingFlagsOf(flags), ...databaseFlag }, env })
  const url = config.database
  if (url === undefined)
    throw usageError(
      "the setting database is not set; name the database with --to URL or --from URL",
    )
  const folder = folderAt(config.data)
  if (to !== undefined && !existsSync(folder.database)) {
    const todo = "name the data directory with --data DIR"
    throw startError("database_missing", `no database found in ${folder.path}; ${todo}`)
  }
  rejectDevelopment(folder)
  const claim = await claimFolder(config, random)
  try {
    const start = { ...claim, config, started, url }
    const moved =
      to === undefined ? await context.moveFromPostgres(start) : await context.moveToPostgres(start)
    return { text: formatResult(moved, to !== undefined), data: { ...moved } }
  } finally {
    claim.release()
  }
}

function formatResult({ events, claims, files }: MoveResult, isIn: boolean): string {
  const next = isIn
    ? "Set database and the same master key on every node, then start the nodes."
    : "Remove the setting database, then start the server."
  return [
    `  Moved and verified ${events} events, ${claims} claims and ${files} files.`,
    `  ${next}`,
  ].join("\n")
}
