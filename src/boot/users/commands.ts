import { type CommandResult, type CommandTable, type Flags, usageError } from "../command-line.ts"
import { commonFlags, type TransferContext, withTransfer } from "../transfer/commands.ts"
import type { ImportOptions, ImportResult } from "./import.ts"
import { formatNames, partNames, parts } from "./names.ts"

/** The commands that import users from other products and export them. */
export const userCommands = (context: TransferContext): CommandTable => ({
  "users import": {
    help: "Import users from another product; existing users are not changed",
    arguments: { FILE: { help: "Export file of the other product, or a table, in UTF-8" } },
    flags: {
      ...commonFlags,
      "--format": {
        hint: "FORMAT",
        help: `Format of the file: ${formatNames.join(", ")}`,
        required: true,
        values: formatNames,
      },
      "--org": {
        hint: "ID",
        help: "Organization of the users (default: the organization of the instance)",
      },
      "--project": { hint: "ID", help: "Project that contains the roles of the users" },
      "--idp": {
        hint: "NAME=ID,…",
        help: "Provider IDs by name for linked accounts; NAME= skips a provider",
      },
      "--without": { hint: "PARTS", help: `Skip some of ${partNames.join(",")}` },
      "--trust-emails": { help: "Mark email addresses as verified if the file does not say" },
      "--dry-run": { help: "Only print what would be imported" },
    },
    exitCodes: { 3: "some users could not be imported; the output lists them with the reasons" },
    run: (flags) => runImport(context, flags),
  },
  "users export": {
    help: "Export the users of an organization as a table or as JSON lines",
    arguments: { FILE: { help: "New file, or - for standard output" } },
    flags: {
      ...commonFlags,
      "--format": {
        hint: "csv|json",
        help: "Output format (default: csv)",
        values: ["csv", "json"],
      },
      "--org": {
        hint: "ID",
        help: "Organization of the users (default: the organization of the instance)",
      },
      "--project": { hint: "ID", help: "Include the roles on this project" },
      "--with-passwords": { help: "Include password hashes" },
      "--with-otp": { help: "Include the secrets of authenticator apps" },
    },
    run: (flags) => runExport(context, flags),
  },
  "users confirm-emails": {
    help: "Confirm email addresses that only the user's organization has verified",
    flags: {
      ...commonFlags,
      "--org": { hint: "ID", help: "Only users of this organization (default: all organizations)" },
      "--dry-run": { help: "Only print what would be confirmed" },
    },
    run: (flags) => runConfirm(context, flags),
  },
})

async function runConfirm(context: TransferContext, flags: Flags): Promise<CommandResult> {
  const dryRun = flags["--dry-run"] !== undefined
  const query = { instance: flags["--instance"], orgId: flags["--org"], dryRun }
  const data = await withTransfer(context, flags, (carrier) => carrier.confirmEmails(query))
  const did = dryRun ? "Would confirm" : "Confirmed"
  const { confirmed, userIds, skipped } = data
  const more = confirmed - userIds.length
  const text = [
    `  ${did} the email addresses of ${confirmed} users`,
    ...(dryRun ? userIds.map((id) => `    ${id}`) : []),
    ...(dryRun && more > 0 ? [`    and ${more} more`] : []),
    ...(skipped > 0
      ? [
          `  ${skipped} users share their email address with others and were skipped; see ` +
            "latchkey doctor",
        ]
      : []),
  ].join("\n")
  return { text, data }
}

/** The number of failures in the text output; JSON contains all. */
const shownMax = 20

async function runImport(context: TransferContext, flags: Flags): Promise<CommandResult> {
  const [{ formats }, { importUsers }] = await Promise.all([
    import("./format/formats.ts"),
    import("./import.ts"),
  ])
  const { FILE: from = "", "--format": named = "" } = flags
  const format = Object.hasOwn(formats, named) ? formats[named] : undefined
  if (!format) throw usageError(`--format must be one of: ${formatNames.join(", ")}`)
  const options = importOptionsFrom(flags)
  const source = await format.open(from)
  const done = await withTransfer(context, flags, (carrier) =>
    importUsers(carrier, source, options),
  )
  return {
    exitCode: done.refused.length > 0 ? 3 : 0,
    text: formatResult(done, options),
    data: done,
  }
}

function importOptionsFrom(flags: Flags): ImportOptions {
  const without = parseList(flags["--without"])
  const known = parts.filter((part) => without.includes(part))
  const unknownPart = without.find((each) => !known.some((part) => part === each))
  if (unknownPart !== undefined) {
    throw usageError(`--without must contain only ${partNames.join(", ")}, not ${unknownPart}`)
  }
  const providers = parseList(flags["--idp"]).map((each) => {
    const at = each.indexOf("=")
    if (at < 1) throw usageError("--idp must be NAME=ID, separated by commas")
    return [each.slice(0, at), each.slice(at + 1)] as const
  })
  return {
    instance: flags["--instance"],
    orgId: flags["--org"],
    projectId: flags["--project"],
    dryRun: flags["--dry-run"] !== undefined,
    without: new Set(known),
    providers: new Map(providers),
    trustsEmails: flags["--trust-emails"] !== undefined,
  }
}

const parseList = (text: string | undefined): readonly string[] =>
  text?.split(",").flatMap((each) => each.trim() || []) ?? []

function formatResult(
  { taken, there, passed, refused }: ImportResult,
  { dryRun }: ImportOptions,
): string {
  const listedFailures = refused
    .slice(0, shownMax)
    .map(({ at, name, message }) => `  ${[at, name].filter(Boolean).join(", ")}: ${message}`)
  const rest = refused.length - listedFailures.length
  return [
    `  ${dryRun ? "Would take" : "Took"} over ${taken} people; ${there} were there already`,
    ...(passed > 0 ? [`  ${passed} entries are not users and were skipped`] : []),
    ...(refused.length > 0
      ? [`  ${refused.length} could not be imported:`, ...listedFailures]
      : []),
    ...(rest > 0 ? [`  and ${rest} more; use --json to list all`] : []),
  ].join("\n")
}

async function runExport(context: TransferContext, flags: Flags): Promise<CommandResult> {
  const { writeUsers } = await import("./export.ts")
  const to = flags.FILE ?? ""
  const format = flags["--format"] ?? "csv"
  if (format !== "csv" && format !== "json") throw usageError("--format must be one of: csv, json")
  const query = {
    instance: flags["--instance"],
    orgId: flags["--org"],
    projectId: flags["--project"],
    withPasswords: flags["--with-passwords"] !== undefined,
    withOtp: flags["--with-otp"] !== undefined,
  }
  const written = await withTransfer(context, flags, (carrier) =>
    writeUsers(carrier, query, { to, format }),
  )
  if (to === "-") return {}
  return { text: `  Wrote ${written.people} users to ${to}`, data: { file: to, ...written } }
}
