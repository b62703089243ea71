import { type CommandTable, type Flags, type Outcome, usageError } from "../command-line.ts"
import { ask } from "../control.ts"
import { folderFlags, settingsIn } from "../flags.ts"
import { type Folder, folderAt } from "../folder/folder.ts"
import { readConfig } from "../settings.ts"
import { thumbprintOf } from "./chain.ts"
import { exportPart, publicKey } from "./part.ts"

type Lent = { readonly env: Readonly<Record<string, string | undefined>> }

const instanceFlag = {
  "--instance": { hint: "ID", help: "Which instance, where there are several" },
} as const

/** The commands that keep what has happened in a file which nobody changes unseen. */
export const auditCommands = (lent: Lent): CommandTable => ({
  "events export": {
    help: "Write all that has happened to a file, sealed; a second time what came since",
    words: { FILE: { help: "The file; where it is there, it goes on behind its last seal" } },
    flags: {
      ...folderFlags,
      ...instanceFlag,
      "--after": { hint: "POSITION", help: "Begin a file behind this position (default: all)" },
      "--follow": { help: "Go on until it is stopped, also while the server is started again" },
    },
    run: (flags) => runExport(lent, flags),
  },
  "events verify": {
    help: "Say whether a file of events is as it was written; takes no server",
    words: { FILE: { help: "What latchkey events export wrote" } },
    flags: {
      "--key": { hint: "FILE", help: "What latchkey events key --json printed" },
    },
    exits: { 3: "the file is not as it was written" },
    run: runVerify,
  },
  "events key": {
    help: "Print the public key that files of events are sealed with",
    flags: { ...folderFlags, ...instanceFlag },
    run: async (flags) => {
      const { "--instance": instance } = flags
      const asked = instance === undefined ? {} : { instance }
      const key = publicKey.parse(await ask(folderIn(lent, flags), "events-key", asked))
      return { text: `  ${thumbprintOf(key)}`, data: key }
    },
  },
})

const folderIn = ({ env }: Lent, flags: Flags): Folder =>
  folderAt(readConfig({ flags: settingsIn(flags), env }).data)

async function runExport(lent: Lent, flags: Flags): Promise<Outcome> {
  const { exportEvents } = await import("./export.ts")
  const folder = folderIn(lent, flags)
  const { FILE: file = "", "--instance": instance, "--after": after } = flags
  if (after !== undefined && !/^\d{1,15}$/.test(after)) {
    throw usageError("--after must be a whole number")
  }
  const { lines } = await exportEvents(file, {
    asked: { instance, ...(after !== undefined && { after: Number(after) }) },
    follows: flags["--follow"] !== undefined,
    tell: async (asked) => exportPart.parse(await ask(folder, "events-export", asked)),
  })
  return { text: `  Wrote ${lines} lines to ${file}`, data: { file, lines } }
}

async function runVerify({ FILE: file = "", "--key": key }: Flags): Promise<Outcome> {
  const { verifyEvents } = await import("./verify.ts")
  const found = await verifyEvents(file, key)
  const { wrong, events, after, upTo, thumbprint } = found
  if (wrong !== "")
    return { code: 3, text: `  ${file} is not as it was written: ${wrong}`, data: found }
  const compare = `${thumbprint}, which the file itself names: compare latchkey events key`
  const text = [
    `  ${file} is as it was written: ${events} events behind position ${after} up to ${upTo}`,
    `  sealed with ${key === undefined ? compare : thumbprint}, last ${timeOf(found.sealed)}`,
  ].join("\n")
  return { text, data: found }
}

const timeOf = (ms: number): string => new Date(ms).toISOString()
