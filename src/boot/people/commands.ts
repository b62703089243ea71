import { type CommandTable, type Flags, type Outcome, usageError } from "../command-line.ts"
import { carrying, common, type Lent } from "../transfer/commands.ts"
import { formatNames, partNames, parts } from "./names.ts"
import type { How, TakenPeople } from "./take.ts"

/** The commands that carry people alone, in from other products and out as a table. */
export const peopleCommands = (lent: Lent): CommandTable => ({
  "users import": {
    help: "Take over people from another product; who is there already stays as they are",
    words: { FILE: { help: "What the other product wrote, or a table; in UTF-8" } },
    flags: {
      ...common,
      "--format": {
        hint: "FORMAT",
        help: `Who wrote the file: ${formatNames.join(", ")}`,
        required: true,
        of: formatNames,
      },
      "--org": {
        hint: "ID",
        help: "The organisation that gets them (default: the instance's own)",
      },
      "--project": { hint: "ID", help: "The project that has the roles which they hold" },
      "--idp": {
        hint: "NAME=ID,…",
        help: "What providers of links are here; NAME= leaves them out",
      },
      "--without": { hint: "PARTS", help: `Leave out some of ${partNames.join(",")}` },
      "--trust-emails": { help: "Take addresses for verified that the file says nothing of" },
      "--dry-run": { help: "Only say what would happen" },
    },
    exits: { 3: "some people could not be taken over; the answer says who and why" },
    run: (flags) => runImport(lent, flags),
  },
  "users export": {
    help: "Write the people of an organisation to a file, as a table or as lines of JSON",
    words: { FILE: { help: "A file that does not exist yet, or - for standard output" } },
    flags: {
      ...common,
      "--format": { hint: "csv|json", help: "How (default: csv)", of: ["csv", "json"] },
      "--org": { hint: "ID", help: "Whose people (default: those of the instance's own)" },
      "--project": { hint: "ID", help: "With the roles that they hold on this project" },
      "--with-passwords": { help: "With the hashes of passwords" },
      "--with-otp": { help: "With the secrets of authenticator apps" },
    },
    run: (flags) => runExport(lent, flags),
  },
  "users confirm-emails": {
    help: "Confirm verified addresses that so far only the user's organization vouches for",
    flags: {
      ...common,
      "--org": { hint: "ID", help: "Only of its users (default: of all organizations)" },
      "--dry-run": { help: "Only say what would happen" },
    },
    run: (flags) => runConfirm(lent, flags),
  },
})

async function runConfirm(lent: Lent, flags: Flags): Promise<Outcome> {
  const dryRun = flags["--dry-run"] !== undefined
  const asked = { instance: flags["--instance"], orgId: flags["--org"], dryRun }
  const data = await carrying(lent, flags, (carrier) => carrier.confirmEmails(asked))
  const did = dryRun ? "Would confirm" : "Confirmed"
  const { confirmed, userIds, skipped } = data
  const more = confirmed - userIds.length
  const text = [
    `  ${did} the email addresses of ${confirmed} users`,
    ...(dryRun ? userIds.map((id) => `    ${id}`) : []),
    ...(dryRun && more > 0 ? [`    and ${more} more`] : []),
    ...(skipped > 0
      ? [
          `  ${skipped} users share their address with others and were left out; ` +
            "see latchkey doctor",
        ]
      : []),
  ].join("\n")
  return { text, data }
}

/** So many who were not taken over are shown to people; programs are told all. */
const shownMax = 20

async function runImport(lent: Lent, flags: Flags): Promise<Outcome> {
  const [{ formats }, { takePeople }] = await Promise.all([
    import("./format/list.ts"),
    import("./take.ts"),
  ])
  const { FILE: from = "", "--format": named = "" } = flags
  const format = Object.hasOwn(formats, named) ? formats[named] : undefined
  if (!format) throw usageError(`--format must be one of ${formatNames.join(", ")}`)
  const how = howIn(flags)
  const source = await format.open(from)
  const done = await carrying(lent, flags, (carrier) => takePeople(carrier, source, how))
  return { code: done.refused.length > 0 ? 3 : 0, text: textOf(done, how), data: done }
}

function howIn(flags: Flags): How {
  const without = listIn(flags["--without"])
  const known = parts.filter((part) => without.includes(part))
  const wrong = without.find((each) => !known.some((part) => part === each))
  if (wrong !== undefined) {
    throw usageError(`--without takes ${partNames.join(", ")}; ${wrong} is none of them`)
  }
  const providers = listIn(flags["--idp"]).map((each) => {
    const at = each.indexOf("=")
    if (at < 1) throw usageError("--idp takes NAME=ID, parted by commas")
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

const listIn = (text: string | undefined): readonly string[] =>
  text?.split(",").flatMap((each) => each.trim() || []) ?? []

function textOf({ taken, there, passed, refused }: TakenPeople, { dryRun }: How): string {
  const shown = refused
    .slice(0, shownMax)
    .map(({ at, name, message }) => `  ${[at, name].filter(Boolean).join(", ")}: ${message}`)
  const rest = refused.length - shown.length
  return [
    `  ${dryRun ? "Would take" : "Took"} over ${taken} people; ${there} were there already`,
    ...(passed > 0 ? [`  ${passed} entries are no people, and were passed over`] : []),
    ...(refused.length > 0 ? [`  ${refused.length} could not be taken over:`, ...shown] : []),
    ...(rest > 0 ? [`  and ${rest} more; --json names all`] : []),
  ].join("\n")
}

async function runExport(lent: Lent, flags: Flags): Promise<Outcome> {
  const { writePeople } = await import("./tell.ts")
  const to = flags.FILE ?? ""
  const format = flags["--format"] ?? "csv"
  if (format !== "csv" && format !== "json") throw usageError("--format must be csv or json")
  const asked = {
    instance: flags["--instance"],
    orgId: flags["--org"],
    projectId: flags["--project"],
    withPasswords: flags["--with-passwords"] !== undefined,
    withOtp: flags["--with-otp"] !== undefined,
  }
  const written = await carrying(lent, flags, (carrier) =>
    writePeople(carrier, asked, { to, format }),
  )
  if (to === "-") return {}
  return { text: `  Wrote ${written.people} people to ${to}`, data: { file: to, ...written } }
}
