import { existsSync } from "node:fs"
import type { Clock } from "../../kernel/clock.ts"
import type { Config } from "../../kernel/config.ts"
import type { Random } from "../../kernel/crypto/random.ts"
import { selfCheckHeader } from "../../protocol/self-check/self-check.ts"
import type { Network } from "../../runtime/network.ts"
import { postgres } from "../../store/index.ts"
import { openingBy, openingFlags } from "../backup/commands.ts"
import { type CommandTable, type Flags, type Outcome, usageError } from "../command-line.ts"
import { ask } from "../control.ts"
import { settingFlags, settingsIn } from "../flags.ts"
import { claimFolder, isRunning } from "../folder/claim.ts"
import { type Folder, folderAt } from "../folder/folder.ts"
import type { Start } from "../running.ts"
import { readConfig } from "../settings.ts"
import { version } from "../version.ts"
import type { Checker } from "./deep/part.ts"
import type { Finding } from "./finding.ts"

/** What the process lends to the command. */
export type Lent = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly random: Random
  readonly network: Network
  readonly started: number
  readonly server: () => Promise<{
    readonly drill: (start: Start) => Promise<{ instances: number; signatures: number }>
    readonly selfCheckHere: <T>(start: Start, work: (checker: Checker) => Promise<T>) => Promise<T>
  }>
}

const deepFlags = {
  "--deep": { help: "Also sign a user in, try mail, restore the last backup, and clean up" },
  "--mail-to": { hint: "ADDRESS", help: "With --deep: send a test mail to this address" },
  "--backup": { hint: "FILE", help: "With --deep: restore this backup instead of the newest" },
  ...openingFlags,
} as const

export const doctorCommands = (lent: Lent): CommandTable => ({
  doctor: {
    help: "Look at everything that the service needs, and say what is amiss and what to do",
    flags: { ...settingFlags, ...deepFlags },
    exits: { 3: "something is wrong" },
    run: (flags) => run(lent, flags),
  },
})

async function run(lent: Lent, flags: Flags): Promise<Outcome> {
  const { examine } = await import("./doctor.ts")
  const { findingsText } = await import("./finding.ts")
  const config = readConfig({ flags: settingsIn(flags), env: lent.env })
  const alone = Object.keys(deepFlags).find((flag) => flag !== "--deep" && flags[flag])
  if (alone !== undefined && !flags["--deep"]) throw usageError(`${alone} needs --deep`)
  const plain = await examine({ ...lent, config })
  const findings = flags["--deep"] ? [...plain, ...(await deep(lent, config, flags))] : plain
  const isWrong = findings.some(({ state }) => state === "wrong")
  return { code: isWrong ? 3 : 0, text: findingsText(findings), data: { findings } }
}

async function deep(lent: Lent, config: Config, flags: Flags): Promise<readonly Finding[]> {
  const folder = folderAt(config.data)
  // That it is missing is said already.
  if (!existsSync(folder.database)) return []
  const [{ examineDeep }, { roomAt }] = await Promise.all([
    import("./deep/deep.ts"),
    import("./deep/room.ts"),
  ])
  const { clock, random, started, network } = lent
  const { database } = config
  return examineDeep({
    config,
    folder,
    clock,
    random,
    network,
    roomAt,
    drill: async (claim, there) =>
      (await lent.server()).drill({ ...claim, config: there, started }),
    mailTo: flags["--mail-to"],
    backup: flags["--backup"],
    opening: await openingBy(flags),
    databaseNow: async () =>
      database === undefined ? undefined : (await postgres()).postgresTime(database, clock),
    withChecker: async (work) => {
      if (await isRunning(folder)) return work(await runningChecker(lent, folder))
      const claim = await claimFolder(config, random)
      try {
        const { selfCheckHere } = await lent.server()
        return await selfCheckHere({ ...claim, config, started }, work)
      } finally {
        claim.release()
      }
    },
    tell: (line) => void process.stderr.write(`${line}\n`),
  })
}

/** A mail server may be silent for half a minute before it is given up. */
const mailSeconds = 60

/** The server that runs on the folder, by its control socket and its public address. */
async function runningChecker({ network }: Lent, folder: Folder): Promise<Checker> {
  const [part, { awaited, arrived, condition }] = await Promise.all([
    import("./deep/part.ts"),
    import("./doctor.ts"),
  ])
  return {
    instances: async () => part.instanceList.parse(await ask(folder, "self-check-instances")),
    begin: async (instance) =>
      part.beginAnswer.parse(await ask(folder, "self-check-begin", { instance })),
    end: async (instance, id) =>
      part.endAnswer.parse(await ask(folder, "self-check-end", { instance, id })),
    mail: async (instance, to) =>
      part.mailAnswer.parse(
        await ask(folder, "self-check-mail", { instance, ...(to && { to }) }, mailSeconds),
      ),
    send: (url, init) => network.send(url, init),
    isPublic: true,
    passesHeader: async (publicUrl, token) => {
      const { path } = awaited.parse(await ask(folder, "await-request"))
      const headers = { [selfCheckHeader]: token }
      const signal = AbortSignal.timeout(5000)
      const request = { headers, signal, redirect: "manual" } as const
      // What is wrong with the way there, the lines on the address say.
      const isAnswered = await network.send(`${publicUrl}${path}`, request).then(
        () => true,
        () => false,
      )
      const found = arrived.parse(await ask(folder, "arrived", { path }))
      return isAnswered && found ? found.isSelfCheck === true : undefined
    },
    hasOtherVersions: async () => {
      const { nodes = [] } = condition.parse(await ask(folder, "condition"))
      const live = nodes.filter(({ isSelf, seenMs }) => isSelf || seenMs < 10_000)
      return live.some((each) => each.version !== version)
    },
  }
}
