import { existsSync } from "node:fs"
import type { Random } from "../../kernel/crypto/random.ts"
import type { CommandTable, Flag, Flags, Outcome } from "../command-line.ts"
import { ask } from "../control.ts"
import { folderFlags, masterKeyFlag, settingsIn } from "../flags.ts"
import { claimFolder, isRunning } from "../folder/claim.ts"
import { folderAt } from "../folder/folder.ts"
import { confirmPart, type PeopleCarrier, takePart, tellPart } from "../people/part.ts"
import type { Start } from "../running.ts"
import { readConfig } from "../settings.ts"
import { startError } from "../start-error.ts"
import { type Carrier, exportPart, importPart } from "./part.ts"

/** What the process lends to these commands. */
export type Lent = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly random: Random
  readonly started: number
  /** Opens a data folder that no server runs on, and closes it after the work. */
  readonly here: <T>(start: Start, work: (carrier: AnyCarrier) => Promise<T>) => Promise<T>
}

type AnyCarrier = Carrier & PeopleCarrier

/** What every command takes that carries data. */
export const common = {
  ...folderFlags,
  ...masterKeyFlag,
  "--instance": { hint: "ID", help: "Which instance, where there are several" },
} as const satisfies Record<string, Flag>

/** The commands that carry organisations out of an instance, and into it. */
export const transferCommands = (lent: Lent): CommandTable => ({
  export: {
    help: "Write organisations with everything in them to a file, as lines of JSON",
    words: { FILE: { help: "A file that does not exist yet, or - for standard output" } },
    flags: {
      ...common,
      "--org": { hint: "ID,…", help: "These alone (default: all)" },
      "--with-passwords": { help: "With the hashes of passwords" },
      "--with-otp": { help: "With the secrets of authenticator apps" },
      "--with-secrets": { help: "With the secrets that identity providers know the server by" },
    },
    run: (flags) => runExport(lent, flags),
  },
  import: {
    help: "Take over what latchkey export wrote; what is there already stays as it is",
    words: { FILE: { help: "What latchkey export wrote" } },
    flags: { ...common, "--dry-run": { help: "Only say what would happen" } },
    run: (flags) => runImport(lent, flags),
  },
})

async function runExport(lent: Lent, flags: Flags): Promise<Outcome> {
  const { writeOut } = await import("./file.ts")
  const to = flags.FILE ?? ""
  const asked = {
    instance: flags["--instance"],
    orgIds: flags["--org"]?.split(",") ?? [],
    withPasswords: flags["--with-passwords"] !== undefined,
    withOtp: flags["--with-otp"] !== undefined,
    withSecrets: flags["--with-secrets"] !== undefined,
  }
  const written = await carrying(lent, flags, (carrier) => writeOut(carrier, asked, to))
  if (to === "-") return {}
  return { text: `  Wrote ${written.lines} things to ${to}`, data: { file: to, ...written } }
}

/** So many of what was not taken are shown to people; programs are told all. */
const shownMax = 20

async function runImport(lent: Lent, flags: Flags): Promise<Outcome> {
  const { readIn } = await import("./file.ts")
  const { FILE: from = "", "--instance": instance, "--dry-run": dry } = flags
  const asked = { instance, dryRun: dry !== undefined }
  const done = await carrying(lent, flags, (carrier) => readIn(carrier, asked, from))
  const { taken, refused } = done
  const shown = refused
    .slice(0, shownMax)
    .map(({ type, orgId, id, message }) => `  ${[orgId, type, id].join(" ").trim()}: ${message}`)
  const rest = refused.length - shown.length
  const text = [
    `  ${asked.dryRun ? "Would take" : "Took"} over ${taken} things; ${refused.length} not:`,
    ...(shown.length === 0 ? ["  (none)"] : shown),
    ...(rest > 0 ? [`  and ${rest} more; --json names all`] : []),
  ].join("\n")
  return { code: refused.length > 0 ? 3 : 0, text, data: done }
}

/** By the server that runs on the data folder, else in this process. */
export async function carrying<T>(
  { env, random, started, here }: Lent,
  flags: Flags,
  work: (carrier: AnyCarrier) => Promise<T>,
): Promise<T> {
  const config = readConfig({ flags: settingsIn(flags), env })
  const folder = folderAt(config.data)
  if (await isRunning(folder)) {
    return work({
      tell: async (asked) => exportPart.parse(await ask(folder, "export", asked)),
      take: async (asked) => importPart.parse(await ask(folder, "import", asked)),
      takePeople: async (asked) => takePart.parse(await ask(folder, "users-import", asked)),
      tellPeople: async (asked) => tellPart.parse(await ask(folder, "users-export", asked)),
      confirmEmails: async (asked) =>
        confirmPart.parse(await ask(folder, "users-confirm-emails", asked)),
    })
  }
  if (!existsSync(folder.database)) {
    const todo = "name the data folder with --data DIR"
    throw startError("database_missing", `there is no database in ${folder.path}; ${todo}`)
  }
  const claim = await claimFolder(config, random)
  try {
    return await here({ ...claim, config, started }, work)
  } finally {
    claim.release()
  }
}
