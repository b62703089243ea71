// Generates docs/reference/deletion.md from deletion.tsv. test/oauth/deletion.test.ts performs each
// act in the table and compares the results with each cell.
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./step.ts"

/** What each word in the table means for the test. */
const outcomes = {
  works: "works",
  stays: "works",
  reserved: "works",
  paused: "paused",
  ends: "ended",
  deleted: "ended",
  erased: "ended",
  free: "ended",
} as const

type Outcome = keyof typeof outcomes
const isOutcome = (text: string): text is Outcome => Object.hasOwn(outcomes, text)

type Row = { readonly thing: string; readonly label: string; readonly cells: readonly Outcome[] }

export type DeletionTable = {
  readonly acts: readonly string[]
  readonly rows: readonly Row[]
  /** Whether something works after an act, only after the act is undone, or never again. */
  readonly outcome: (resource: string, act: string) => "works" | "paused" | "ended"
}

/** Parses the table; throws if a cell is missing or has an unknown word. */
export function parseDeletionTable(tsv: string): DeletionTable {
  const [head = [], ...lines] = tsv
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"))
  const acts = head.slice(2)
  const rows = lines.map(([thing = "", label = "", ...outcomeWords]): Row => {
    const cells = outcomeWords.filter(isOutcome)
    if (cells.length !== acts.length || outcomeWords.length !== acts.length)
      throw new Error(`deletion.tsv: each cell of ${thing} must be one of the known words`)
    return { thing, label, cells }
  })
  const outcome: DeletionTable["outcome"] = (resource, act) => {
    const word = rows.find((row) => row.thing === resource)?.cells[acts.indexOf(act)]
    if (!word) throw new Error(`docs/reference/deletion.tsv has no cell for ${resource}, ${act}`)
    return outcomes[word]
  }
  return { acts, rows, outcome }
}

/** The sections of the page, with the name that each section's "name" row refers to. */
const sections = [
  { kind: "user", title: "Users and service accounts", name: "Login name" },
  { kind: "organization", title: "Organizations", name: "Domains" },
  { kind: "project", title: "Projects", name: "Login names of users" },
  { kind: "application", title: "Applications", name: "Client ID" },
  { kind: "provider", title: "Identity providers", name: "Login names of users" },
  { kind: "instance", title: "Instances", name: "Host name" },
] as const

/** Notes for each section that the cells can't express. */
const notes: Readonly<Record<(typeof sections)[number]["kind"], string>> = {
  user:
    "An account that is locked after too many failed sign-ins has the same state as one " +
    "that an administrator locks. After a reactivation, users must sign in again, and " +
    "service accounts must request new access tokens. Addresses and browsers of failed " +
    "sign-ins are also erased after some time, see [Block " +
    "addresses](../operate/monitoring.md#block-addresses-that-fail-to-sign-in).",
  organization:
    "The rows are about the users, service accounts, projects and applications of the " +
    "organization. Its identity providers, texts, logos and scripts are deleted with it. If" +
    " an organization has more than 1,000 users, some are deleted in the background, but " +
    "none of them can sign in anymore. The default organization, and the organization that " +
    "owns the console, can't be deactivated or deleted.",
  project:
    "Sessions are not affected: users are still signed in to other applications. The role " +
    "assignments of a deactivated project are kept, but tokens for other projects no longer" +
    " contain them.",
  application:
    "Sessions are not affected: users are still signed in to other applications. A new " +
    "application with the same client ID accepts none of the earlier tokens and codes. New " +
    "tokens of other applications no longer have a deactivated or deleted API in their " +
    "audience.",
  provider:
    "To deactivate a provider, remove it from the sign-in page. The rows are about users " +
    "who signed in through the provider; users who signed in with a password keep their " +
    "sessions and tokens. Tokens that were issued before a deactivation remain valid. To " +
    "end them, delete the provider.",
  instance:
    "The host name can be reused immediately; the data is deleted within minutes. The " +
    "instance that was created during setup can't be deleted.",
}

const introduction = `# Deletion

For administrators: what happens to sessions, tokens and data when something is deactivated, locked
or deleted. The tables are generated from \`docs/reference/deletion.tsv\` by
\`bun scripts/deletion.ts\`; a test performs each action and checks each cell.

| word | meaning |
|---|---|
| works, stays | not affected |
| paused | rejected immediately; works again after reactivation or unlocking |
| ends | rejected immediately and permanently, also after reactivation |
| deleted, erased | removed from the data; applies to new backups too |
| reserved | no one else can use the name |
| free | others can use the name; they get no access to data of its previous owner |
`

const closingSection = `## What a deletion does not affect

- **Backups** contain the data from when they were made. Delete backups that are older than your
  retention period; [Backup and restore](../operate/backup.md) describes how many are kept.
- **Tokens that applications verify themselves.** Signed access tokens and ID tokens stay valid for
  them until they expire. Applications that must react immediately use introspection or back-channel
  logout.
- **Events without personal data** stay: the audit log shows that a user existed, with ID, times and
  the administrators who made changes, but no names, addresses or phone numbers.
- **IDs** of users, organizations, projects and applications are never reused.
- **The copy before an upgrade** is kept for seven days, see [Upgrade](../operate/upgrade.md).
`

function formatSection({ rows, acts }: DeletionTable, { kind, title, name }: Section): string {
  const own = acts.flatMap((act, at) => (act.startsWith(`${kind} `) ? [at] : []))
  const cells = (row: Row) => own.flatMap((at) => row.cells[at] ?? [])
  const labelOf = ({ thing, label }: Row) => (thing === "name" ? name : label)
  const isChanged = (row: Row) => cells(row).some((word) => outcomes[word] !== "works")
  const unchanged = rows.filter((row) => !isChanged(row)).map((row) => labelOf(row).toLowerCase())
  const header = own.map((at) => acts[at]?.slice(kind.length + 1) ?? "")
  const line = (...outcomeWords: readonly string[]) => `| ${outcomeWords.join(" | ")} |`
  return [
    `## ${title}\n`,
    line("", ...header),
    line("---", ...header.map(() => "---")),
    ...rows.filter(isChanged).map((row) => line(labelOf(row), ...cells(row))),
    ...(unchanged.length > 0 ? ["", ...wrap(`Not affected: ${unchanged.join(", ")}.`)] : []),
    "",
    ...wrap(notes[kind]),
    "",
  ].join("\n")
}

type Section = (typeof sections)[number]

/** Wraps a paragraph into lines of at most 100 characters. */
const wrap = (text: string): readonly string[] =>
  (text.match(/.{1,99}(?: |$)/g) ?? []).map((line) => line.trimEnd())

/** Returns the page for the text of the table. */
export function formatDeletionPage(tsv: string): string {
  const table = parseDeletionTable(tsv)
  return [
    introduction,
    ...sections.map((section) => formatSection(table, section)),
    closingSection,
  ].join("\n")
}

if (import.meta.main) {
  const tsv = readFileSync(join(root, "docs/reference/deletion.tsv"), "utf8")
  writeFileSync(join(root, "docs/reference/deletion.md"), formatDeletionPage(tsv))
}
