import { existsSync } from "node:fs"
import type { Random } from "../../kernel/crypto/random.ts"
import type { CommandResult, CommandTable, Flag, Flags } from "../command-line.ts"
import { sendCommand } from "../control.ts"
import { folderFlags, masterKeyFlag, settingFlagsOf } from "../flags.ts"
import { claimFolder, isRunning } from "../folder/claim.ts"
import { folderAt } from "../folder/folder.ts"
import type { StartInput } from "../running.ts"
import { readConfig } from "../settings.ts"
import { startError } from "../start-error.ts"
import {
  confirmResponse,
  type UserTransfer,
  userExportResponse,
  userImportResponse,
} from "../users/messages.ts"
import { exportResponse, importResponse, type OrganizationTransfer } from "./messages.ts"

/** The dependencies that the process provides to these commands. */
export type TransferContext = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly random: Random
  readonly started: number
  /** Opens a data directory without a running server and closes it after `work`. */
  readonly withClosedFolder: <T>(
    start: StartInput,
    work: (carrier: DataTransfer) => Promise<T>,
  ) => Promise<T>
}

type DataTransfer = OrganizationTransfer & UserTransfer

/** The flags of all transfer commands. */
export const commonFlags = {
  ...folderFlags,
  ...masterKeyFlag,
  "--instance": { hint: "ID", help: "ID of the instance, if there are several" },
} as const satisfies Record<string, Flag>

/** The commands that export and import organizations. */
export const transferCommands = (context: TransferContext): CommandTable => ({
  export: {
    help: "Export organizations with all their data to a file, as JSON lines",
    arguments: { FILE: { help: "New file, or - for standard output" } },
    flags: {
      ...commonFlags,
      "--org": { hint: "ID,…", help: "Only these organizations (default: all)" },
      "--with-passwords": { help: "Include password hashes" },
      "--with-otp": { help: "Include the secrets of authenticator apps" },
      "--with-secrets": { help: "Include the client secrets for identity providers" },
    },
    run: (flags) => runExport(context, flags),
  },
  import: {
    help: "Import a file written by latchkey export; existing data is not changed",
    arguments: { FILE: { help: "File written by latchkey export" } },
    flags: { ...commonFlags, "--dry-run": { help: "Only print what would be imported" } },
    run: (flags) => runImport(context, flags),
  },
})

async function runExport(context: TransferContext, flags: Flags): Promise<CommandResult> {
  const { writeExport } = await import("./file.ts")
  const to = flags.FILE ?? ""
  const request = {
    instance: flags["--instance"],
    orgIds: flags["--org"]?.split(",") ?? [],
    withPasswords: flags["--with-passwords"] !== undefined,
    withOtp: flags["--with-otp"] !== undefined,
    withSecrets: flags["--with-secrets"] !== undefined,
  }
  const written = await withTransfer(context, flags, (carrier) => writeExport(carrier, request, to))
  if (to === "-") return {}
  return { text: `  Wrote ${written.lines} items to ${to}`, data: { file: to, ...written } }
}

/** The number of rejected items in the text output; JSON contains all. */
const shownMax = 20

async function runImport(context: TransferContext, flags: Flags): Promise<CommandResult> {
  const { importFile } = await import("./file.ts")
  const { FILE: from = "", "--instance": instance, "--dry-run": dry } = flags
  const request = { instance, dryRun: dry !== undefined }
  const done = await withTransfer(context, flags, (carrier) => importFile(carrier, request, from))
  const { taken, refused } = done
  const listedItems = refused
    .slice(0, shownMax)
    .map(({ type, orgId, id, message }) => `  ${[orgId, type, id].join(" ").trim()}: ${message}`)
  const rest = refused.length - listedItems.length
  const text = [
    `  ${request.dryRun ? "Would take" : "Took"} over ${taken} things; ${refused.length} not:`,
    ...(listedItems.length === 0 ? ["  (none)"] : listedItems),
    ...(rest > 0 ? [`  and ${rest} more; use --json to list all`] : []),
  ].join("\n")
  return { exitCode: refused.length > 0 ? 3 : 0, text, data: done }
}

/** Through the running server of the data directory, otherwise in this process. */
export async function withTransfer<T>(
  { env, random, started, withClosedFolder }: TransferContext,
  flags: Flags,
  work: (carrier: DataTransfer) => Promise<T>,
): Promise<T> {
  const config = readConfig({ flags: settingFlagsOf(flags), env })
  const folder = folderAt(config.data)
  if (await isRunning(folder)) {
    return work({
      tell: async (request) => exportResponse.parse(await sendCommand(folder, "export", request)),
      take: async (request) => importResponse.parse(await sendCommand(folder, "import", request)),
      takePeople: async (request) =>
        userImportResponse.parse(await sendCommand(folder, "users-import", request)),
      tellPeople: async (request) =>
        userExportResponse.parse(await sendCommand(folder, "users-export", request)),
      confirmEmails: async (request) =>
        confirmResponse.parse(await sendCommand(folder, "users-confirm-emails", request)),
    })
  }
  if (!existsSync(folder.database)) {
    const todo = "name the data directory with --data DIR"
    throw startError("database_missing", `no database found in ${folder.path}; ${todo}`)
  }
  const claim = await claimFolder(config, random)
  try {
    return await withClosedFolder({ ...claim, config, started }, work)
  } finally {
    claim.release()
  }
}
