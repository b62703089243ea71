import { existsSync, statfsSync } from "node:fs"
import type { Clock } from "../../kernel/clock.ts"
import type { Random } from "../../kernel/crypto/random.ts"
import { sizeText } from "../../kernel/text/size.ts"
import {
  goBack,
  keptDays,
  type PostgresUpgrade,
  postgres,
  postgresWayBack,
  secondsFor,
  type Upgrade,
  type UpgradeStep,
  waysBack,
} from "../../store/index.ts"
import type { CommandTable, Flags, Outcome } from "../command-line.ts"
import { folderFlags, masterKeyFlag, settingsIn } from "../flags.ts"
import { claimFolder, isRunning } from "../folder/claim.ts"
import { folderAt } from "../folder/folder.ts"
import { readConfig } from "../settings.ts"
import { startError } from "../start-error.ts"
import { version } from "../version.ts"

/** What the process lends to commands. */
type Lent = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly random: Random
  readonly clock: Clock
  readonly server: () => Promise<{
    readonly whatUpgradeDoes: (source: { file: string; isInUse: boolean }) => WholeUpgrade
  }>
}

/** `unconfirmed`: users whose address stays verified for their own organization alone. */
type WholeUpgrade = Upgrade & { readonly unconfirmed: number }

export const upgradeCommands = (lent: Lent): CommandTable => ({
  "upgrade check": {
    help: "Say what the first start of this version would do to a data folder; changes nothing",
    flags: folderFlags,
    run: (flags) => check(lent, flags),
  },
  "upgrade undo": {
    help: "Put the data folder back to what it was before the last upgrade; no server may run",
    flags: { ...folderFlags, ...masterKeyFlag },
    run: (flags) => undo(lent, flags),
  },
})

async function check({ env, clock, server }: Lent, flags: Flags): Promise<Outcome> {
  const { data, database } = readConfig({ flags: settingsIn(flags), env })
  const folder = folderAt(data)
  if (!existsSync(folder.database)) {
    const todo = "name the data folder with --data DIR"
    throw startError("database_missing", `there is no database in ${folder.path}; ${todo}`)
  }
  const isInUse = await isRunning(folder)
  const upgrade = (await server()).whatUpgradeDoes({ file: folder.database, isInUse })
  const shared = database && (await (await postgres()).postgresUpgradeOf(database, clock))
  const { bavail, bsize } = statfsSync(folder.path)
  const found = {
    version,
    ...upgrade,
    seconds: secondsOf(upgrade),
    free: bavail * bsize,
    ...(shared && { postgres: shared }),
  }
  return { text: upgradeText(found), data: found }
}

async function undo({ env, random }: Lent, flags: Flags): Promise<Outcome> {
  const claim = await claimFolder(readConfig({ flags: settingsIn(flags), env }), random)
  try {
    const data = goBack(claim.folder.database, claim.master)
    const { schema, position } = data
    const text = [
      `  The data is again as it was before the upgrade: tables of version ${schema}, events up to`,
      `  ${position}. Start the version before: this one would upgrade it again.`,
    ]
    return { text: text.join("\n"), data }
  } finally {
    claim.release()
  }
}

const secondsOf = ({ states, schema, position }: Upgrade): number =>
  states.length > 0 || schema.from !== schema.to ? secondsFor(position) : 0

type Found = WholeUpgrade & {
  readonly seconds: number
  readonly free: number
  readonly postgres?: PostgresUpgrade
}

function upgradeText({ schema, states, views, position, bytes, seconds, ...more }: Found): string {
  const { from, to } = schema
  const { free, unconfirmed, steps, postgres: shared } = more
  const anew = (how: string, kind: Kind) => {
    const names = named(kind, steps)
    return names === "" ? "stay as they are" : `${how}: ${names}`
  }
  const isShared = shared !== undefined && shared.schema.from < shared.schema.to
  const stays = from === to && states.length === 0 && views.length === 0 && !isShared
  const same = `they are those of this version (${to})`
  const tables = from === to ? same : `from version ${from} to ${to}, at once`
  return [
    `  This is Latchkey ${version}. The data can be opened, up to event ${position}.`,
    `  tables    ${tables}`,
    ...tableLines(steps).map(indented),
    ...backLines("tables", steps),
    `  states    ${anew("folded anew", "states")}`,
    ...backLines("states", steps),
    `  lists     ${anew("made anew beside the old ones", "lists")}`,
    ...backLines("lists", steps),
    `  time      ${seconds === 0 ? "no longer than any start" : `about ${seconds} s to answer`}`,
    `  room      a backup takes ${sizeText(bytes)} at most; ${sizeText(free)} are free here`,
    ...(shared ? postgresLines(shared) : []),
    ...(unconfirmed === 0 ? [] : [`  emails    ${confirmLater(unconfirmed)}`]),
    ...(stays ? [] : [backupFirst]),
  ].join("\n")
}

function postgresLines({ schema, oldest, position, objects, ms }: PostgresUpgrade) {
  const { from, to } = schema
  if (from >= to) return [`  database  PostgreSQL has what this version needs (${from})`]
  const changes = objects.map(({ kind, before, after, changed }) => {
    const named = changed.length > 0 && changed.length <= 12 ? `: ${changed.join(", ")}` : ""
    return `${kind}: ${before} now, ${after} afterwards, ${changed.length} new or changed${named}`
  })
  return [
    `  database  PostgreSQL from version ${from} to ${to}, up to event ${position}`,
    ...[
      `tried and rolled back in ${ms} ms, in which nobody could write`,
      ...changes,
      `versions from ${oldest} on can work beside it`,
      `to go back: ${postgresWayBack}`,
    ].map(indented),
  ]
}

type Kind = UpgradeStep["kind"]

const counted = ({ count, unit }: UpgradeStep): string =>
  `${count} ${count === 1 ? unit.slice(0, -1) : unit}`

/** The table changes one by one, each with the number of its rows. */
const tableLines = (steps: readonly UpgradeStep[]): readonly string[] =>
  steps.flatMap((step) =>
    step.kind === "tables" ? [`${step.name}: ${step.description} (${counted(step)})`] : [],
  )

/** The names of a kind that have anything, each with its number, and how many have nothing. */
function named(kind: Kind, steps: readonly UpgradeStep[]): string {
  const own = steps.filter((step) => step.kind === kind)
  const some = own.filter(({ count }) => count > 0).map((step) => `${step.name} (${counted(step)})`)
  const empty = own.length - some.length
  return [...some, ...(empty > 0 ? [`${empty} without data`] : [])].join(", ")
}

const indented = (line: string) => `            ${line}`

function backLines(kind: Kind, steps: readonly UpgradeStep[]): readonly string[] {
  const isThere = steps.some((step) => step.kind === kind)
  return isThere ? [indented(`to go back: ${waysBack[kind]}`)] : []
}

const confirmLater = (count: number) =>
  `${count === 1 ? "1 user has" : `${count} users have`} an email address that only their \
organization has verified:
            applications of other organizations no longer get email_verified for them.
            After the upgrade, latchkey users confirm-emails confirms these addresses.`

const backupFirst = `  Make a backup first (latchkey backup FILE): the version before opens that,
  and perhaps nothing that this one has changed. Where tables or states change, the data is
  also copied within the folder for ${keptDays} days; latchkey upgrade undo goes back to it.`
