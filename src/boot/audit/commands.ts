import { type CommandResult, type CommandTable, type Flags, usageError } from "../command-line.ts"
import { sendCommand } from "../control.ts"
import { folderFlags, settingFlagsOf } from "../flags.ts"
import { type Folder, folderAt } from "../folder/folder.ts"
import { readConfig } from "../settings.ts"
import { thumbprintOf } from "./chain.ts"
import { exportPart, publicKey } from "./part.ts"

type CommandContext = { readonly env: Readonly<Record<string, string | undefined>> }

const instanceFlag = {
  "--instance": { hint: "ID", help: "ID of the instance, if there are several" },
} as const

/** The commands that export events to a tamper-evident file and verify it. */
export const auditCommands = (context: CommandContext): CommandTable => ({
  "events export": {
    help: "Export all events to a sealed file, or append new events to it",
    arguments: { FILE: { help: "File to create, or to append to after its last seal" } },
    flags: {
      ...folderFlags,
      ...instanceFlag,
      "--after": {
        hint: "POSITION",
        help: "Start a new file after this position (default: all events)",
      },
      "--follow": {
        help: "Keep appending new events until stopped, even across restarts of the server",
      },
    },
    run: (flags) => runExport(context, flags),
  },
  "events verify": {
    help: "Verify a file of exported events; needs no server",
    arguments: { FILE: { help: "File written by latchkey events export" } },
    flags: {
      "--key": { hint: "FILE", help: "File with the output of latchkey events key --json" },
    },
    exitCodes: { 3: "the file was modified" },
    run: runVerify,
  },
  "events key": {
    help: "Print the public key that verifies exported events",
    flags: { ...folderFlags, ...instanceFlag },
    run: async (flags) => {
      const { "--instance": instance } = flags
      const request = instance === undefined ? {} : { instance }
      const key = publicKey.parse(
        await sendCommand(dataFolderOf(context, flags), "events-key", request),
      )
      return { text: `  ${thumbprintOf(key)}`, data: key }
    },
  },
})

const dataFolderOf = ({ env }: CommandContext, flags: Flags): Folder =>
  folderAt(readConfig({ flags: settingFlagsOf(flags), env }).data)

async function runExport(context: CommandContext, flags: Flags): Promise<CommandResult> {
  const { exportEvents } = await import("./export.ts")
  const folder = dataFolderOf(context, flags)
  const { FILE: file = "", "--instance": instance, "--after": after } = flags
  if (after !== undefined && !/^\d{1,15}$/.test(after)) {
    throw usageError("--after must be a non-negative integer")
  }
  const { lines } = await exportEvents(file, {
    startAt: { instance, ...(after !== undefined && { after: Number(after) }) },
    follows: flags["--follow"] !== undefined,
    requestPart: async (request) =>
      exportPart.parse(await sendCommand(folder, "events-export", request)),
  })
  return { text: `  Wrote ${lines} lines to ${file}`, data: { file, lines } }
}

async function runVerify({ FILE: file = "", "--key": key }: Flags): Promise<CommandResult> {
  const { verifyEvents } = await import("./verify.ts")
  const result = await verifyEvents(file, key)
  const { wrong: problem, events, after, upTo, thumbprint } = result
  if (problem !== "")
    return { exitCode: 3, text: `  ${file} is not valid: ${problem}`, data: result }
  const unverifiedKey = `${thumbprint} from the file itself: compare it with latchkey events key`
  const text = [
    `  ${file} is valid: ${events} events after position ${after} up to ${upTo}`,
    `  sealed with ${key === undefined ? unverifiedKey : thumbprint}, last ` +
      `${formatTime(result.sealed)}`,
  ].join("\n")
  return { text, data: result }
}

const formatTime = (ms: number): string => new Date(ms).toISOString()
