import { existsSync, statfsSync } from "node:fs"
import type { Clock } from "../../kernel/clock.ts"
import type { Random } from "../../kernel/crypto/random.ts"
import { formatSize } from "../../kernel/text/size.ts"
import {
  estimateSeconds,
  keptDays,
  loadPostgres,
  type PostgresUpgrade,
  postgresUndoMethod,
  type Upgrade,
  type UpgradeStep,
  undoMethods,
  undoUpgrade,
} from "../../store/index.ts"
import type { CommandResult, CommandTable, Flags } from "../command-line.ts"
import { folderFlags, masterKeyFlag, settingFlagsOf } from "../flags.ts"
import { claimFolder, isRunning } from "../folder/claim.ts"
import { folderAt } from "../folder/folder.ts"
import { readConfig } from "../settings.ts"
import { startError } from "../start-error.ts"
import { version } from "../version.ts"

/** The dependencies that the process provides to the commands. */
type UpgradeContext = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly random: Random
  readonly clock: Clock
  readonly server: () => Promise<{
    readonly planUpgrade: (source: { file: string; isInUse: boolean }) => UpgradePlan
  }>
}

/**
 * `unconfirmed`: the number of users whose email address is verified only for their own
 * organization.
 */
type UpgradePlan = Upgrade & { readonly unconfirmed: number }

export const upgradeCommands = (context: UpgradeContext): CommandTable => ({
  "upgrade check": {
    help: "List what the first start of this version would change, without changing anything",
    flags: folderFlags,
    run: (flags) => runCheck(context, flags),
  },
  "upgrade undo": {
    help: "Restore the data from before the last upgrade, while no server runs",
    flags: { ...folderFlags, ...masterKeyFlag },
    run: (flags) => runUndo(context, flags),
  },
})

async function runCheck(
  { env, clock, server }: UpgradeContext,
  flags: Flags,
): Promise<CommandResult> {
  const { data, database } = readConfig({ flags: settingFlagsOf(flags), env })
  const folder = folderAt(data)
  if (!existsSync(folder.database)) {
    const todo = "name the data directory with --data DIR"
    throw startError("database_missing", `no database found in ${folder.path}; ${todo}`)
  }
  const isInUse = await isRunning(folder)
  const upgrade = (await server()).planUpgrade({ file: folder.database, isInUse })
  const shared = database && (await (await loadPostgres()).inspectPostgresUpgrade(database, clock))
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

async function runUndo({ env, random }: UpgradeContext, flags: Flags): Promise<CommandResult> {
  const claim = await claimFolder(readConfig({ flags: settingFlagsOf(flags), env }), random)
  try {
    const data = undoUpgrade(claim.folder.database, claim.master)
    const { schema, position } = data
    const text = [
      `  The data is restored to the state before the upgrade: schema version ${schema}, ` +
        "events up to",
      `  ${position}. Start the previous version: this version would upgrade the data again.`,
    ]
    return { text: text.join("\n"), data }
  } finally {
    claim.release()
  }
}

const secondsOf = ({ states, schema, position }: Upgrade): number =>
  states.length > 0 || schema.from !== schema.to ? estimateSeconds(position) : 0

type UpgradeReport = UpgradePlan & {
  readonly seconds: number
  readonly free: number
  readonly postgres?: PostgresUpgrade
}

function upgradeText({
  schema,
  states,
  views,
  position,
  bytes,
  seconds,
  ...more
}: UpgradeReport): string {
  const { from, to } = schema
  const { free, unconfirmed, steps, postgres: shared } = more
  const anew = (action: string, kind: StepKind) => {
    const names = formatNamed(kind, steps)
    return names === "" ? "no change" : `${action}: ${names}`
  }
  const isShared = shared !== undefined && shared.schema.from < shared.schema.to
  const stays = from === to && states.length === 0 && views.length === 0 && !isShared
  const same = `already at the version of this program (${to})`
  const tables = from === to ? same : `from version ${from} to ${to}, immediately`
  return [
    `  This is Latchkey ${version}. The data can be opened, up to event ${position}.`,
    `  tables    ${tables}`,
    ...formatTableSteps(steps).map(indent),
    ...formatRollback("tables", steps),
    `  states    ${anew("rebuilt", "states")}`,
    ...formatRollback("states", steps),
    `  lists     ${anew("rebuilt next to the old ones", "lists")}`,
    ...formatRollback("lists", steps),
    `  time      ${seconds === 0 ? "same as a normal start" : `about ${seconds} s until ready`}`,
    `  room      a backup needs up to ${formatSize(bytes)}; ${formatSize(free)} are free`,
    ...(shared ? postgresLines(shared) : []),
    ...(unconfirmed === 0 ? [] : [`  emails    ${describeUnconfirmed(unconfirmed)}`]),
    ...(stays ? [] : [backupFirst]),
  ].join("\n")
}

function postgresLines({ schema, oldest, position, objects, ms }: PostgresUpgrade) {
  const { from, to } = schema
  if (from >= to) return [`  database  PostgreSQL already has the schema of this version (${from})`]
  const changes = objects.map(({ kind, before, after, changed }) => {
    const named = changed.length > 0 && changed.length <= 12 ? `: ${changed.join(", ")}` : ""
    return (
      `${kind}: ${before} now, ${after} after the upgrade, ${changed.length} new or ` +
      `changed${named}`
    )
  })
  return [
    `  database  PostgreSQL from version ${from} to ${to}, up to event ${position}`,
    ...[
      `tested and rolled back in ${ms} ms, during which nothing could be written`,
      ...changes,
      `versions from ${oldest} can run at the same time`,
      `to go back: ${postgresUndoMethod}`,
    ].map(indent),
  ]
}

type StepKind = UpgradeStep["kind"]

const formatCount = ({ count, unit }: UpgradeStep): string =>
  `${count} ${count === 1 ? unit.slice(0, -1) : unit}`

/** The schema changes, each with its number of rows. */
const formatTableSteps = (steps: readonly UpgradeStep[]): readonly string[] =>
  steps.flatMap((step) =>
    step.kind === "tables" ? [`${step.name}: ${step.description} (${formatCount(step)})`] : [],
  )

/**
 * The names of a kind that have data, each with its count, and the number of those without data.
 */
function formatNamed(kind: StepKind, steps: readonly UpgradeStep[]): string {
  const own = steps.filter((step) => step.kind === kind)
  const some = own
    .filter(({ count }) => count > 0)
    .map((step) => `${step.name} (${formatCount(step)})`)
  const empty = own.length - some.length
  return [...some, ...(empty > 0 ? [`${empty} without data`] : [])].join(", ")
}

const indent = (line: string) => `            ${line}`

function formatRollback(kind: StepKind, steps: readonly UpgradeStep[]): readonly string[] {
  const isThere = steps.some((step) => step.kind === kind)
  return isThere ? [indent(`to go back: ${undoMethods[kind]}`)] : []
}

const describeUnconfirmed = (count: number) =>
  `${count === 1 ? "1 user has" : `${count} users have`} an email address that only their \
organization has verified:
            applications of other organizations no longer get email_verified for them.
            After the upgrade, latchkey users confirm-emails confirms these addresses.`

const backupFirst =
  "  Make a backup first (latchkey backup FILE): the previous version can open it, but " +
  "possibly\n  not the upgraded data. If tables or states change, the data is also\n  copied " +
  `within the directory for ${keptDays} days; latchkey upgrade undo restores it.`
