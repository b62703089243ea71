import { existsSync } from "node:fs"
import type { Clock } from "../../kernel/clock.ts"
import type { Config } from "../../kernel/config.ts"
import type { Random } from "../../kernel/crypto/random.ts"
import { selfCheckHeader } from "../../protocol/self-check/self-check.ts"
import type { Network } from "../../runtime/network.ts"
import { loadPostgres } from "../../store/index.ts"
import { openingFlags, openingFrom } from "../backup/commands.ts"
import { type CommandResult, type CommandTable, type Flags, usageError } from "../command-line.ts"
import { sendCommand } from "../control.ts"
import { settingFlags, settingFlagsOf } from "../flags.ts"
import { claimFolder, isRunning } from "../folder/claim.ts"
import { type Folder, folderAt } from "../folder/folder.ts"
import type { StartInput } from "../running.ts"
import { readConfig } from "../settings.ts"
import { version } from "../version.ts"
import type { Checker } from "./deep/messages.ts"
import type { Finding } from "./finding.ts"

/** The dependencies that the process provides to the command. */
export type DoctorContext = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly random: Random
  readonly network: Network
  readonly started: number
  readonly server: () => Promise<{
    readonly drill: (start: StartInput) => Promise<{ instances: number; signatures: number }>
    readonly runLocalSelfCheck: <T>(
      start: StartInput,
      work: (checker: Checker) => Promise<T>,
    ) => Promise<T>
  }>
}

const deepFlags = {
  "--deep": { help: "Also test sign-in, email and the last backup, then clean up" },
  "--mail-to": { hint: "ADDRESS", help: "With --deep: send a test email to this address" },
  "--backup": { hint: "FILE", help: "With --deep: restore this backup instead of the newest one" },
  ...openingFlags,
} as const

export const doctorCommands = (context: DoctorContext): CommandTable => ({
  doctor: {
    help: "Check everything that the service needs, and print remedies",
    flags: { ...settingFlags, ...deepFlags },
    exitCodes: { 3: "a check failed" },
    run: (flags) => runDoctor(context, flags),
  },
})

async function runDoctor(context: DoctorContext, flags: Flags): Promise<CommandResult> {
  const { runChecks } = await import("./doctor.ts")
  const { formatFindings } = await import("./finding.ts")
  const config = readConfig({ flags: settingFlagsOf(flags), env: context.env })
  const alone = Object.keys(deepFlags).find((flag) => flag !== "--deep" && flags[flag])
  if (alone !== undefined && !flags["--deep"]) throw usageError(`${alone} requires --deep`)
  const plain = await runChecks({ ...context, config })
  const findings = flags["--deep"] ? [...plain, ...(await runDeep(context, config, flags))] : plain
  const isWrong = findings.some(({ state }) => state === "wrong")
  return { exitCode: isWrong ? 3 : 0, text: formatFindings(findings), data: { findings } }
}

async function runDeep(
  context: DoctorContext,
  config: Config,
  flags: Flags,
): Promise<readonly Finding[]> {
  const folder = folderAt(config.data)
  // The missing database is already reported.
  if (!existsSync(folder.database)) return []
  const [{ runDeepChecks }, { freeSpaceAt }] = await Promise.all([
    import("./deep/deep-checks.ts"),
    import("./deep/disk-space.ts"),
  ])
  const { clock, random, started, network } = context
  const { database } = config
  return runDeepChecks({
    config,
    folder,
    clock,
    random,
    network,
    roomAt: freeSpaceAt,
    drill: async (claim, drillConfig) =>
      (await context.server()).drill({ ...claim, config: drillConfig, started }),
    mailTo: flags["--mail-to"],
    backup: flags["--backup"],
    opening: await openingFrom(flags),
    databaseNow: async () =>
      database === undefined ? undefined : (await loadPostgres()).postgresTime(database, clock),
    withChecker: async (work) => {
      if (await isRunning(folder)) return work(await createServerChecker(context, folder))
      const claim = await claimFolder(config, random)
      try {
        const { runLocalSelfCheck } = await context.server()
        return await runLocalSelfCheck({ ...claim, config, started }, work)
      } finally {
        claim.release()
      }
    },
    tell: (line) => void process.stderr.write(`${line}\n`),
  })
}

/** The timeout of a mail server is half a minute. */
const mailTimeoutSeconds = 60

/** Uses the running server through its control socket and its public URL. */
async function createServerChecker({ network }: DoctorContext, folder: Folder): Promise<Checker> {
  const [part, { awaited, arrived, serverCondition }] = await Promise.all([
    import("./deep/messages.ts"),
    import("./doctor.ts"),
  ])
  return {
    instances: async () =>
      part.instanceList.parse(await sendCommand(folder, "self-check-instances")),
    begin: async (instance) =>
      part.beginAnswer.parse(await sendCommand(folder, "self-check-begin", { instance })),
    end: async (instance, id) =>
      part.endAnswer.parse(await sendCommand(folder, "self-check-end", { instance, id })),
    mail: async (instance, to) =>
      part.mailAnswer.parse(
        await sendCommand(
          folder,
          "self-check-mail",
          { instance, ...(to && { to }) },
          mailTimeoutSeconds,
        ),
      ),
    send: (url, init) => network.send(url, init),
    isPublic: true,
    passesHeader: async (publicUrl, token) => {
      const { path } = awaited.parse(await sendCommand(folder, "await-request"))
      const headers = { [selfCheckHeader]: token }
      const signal = AbortSignal.timeout(5000)
      const request = { headers, signal, redirect: "manual" } as const
      // Connection problems are reported by the address checks.
      const isAnswered = await network.send(`${publicUrl}${path}`, request).then(
        () => true,
        () => false,
      )
      const found = arrived.parse(await sendCommand(folder, "arrived", { path }))
      return isAnswered && found ? found.isSelfCheck === true : undefined
    },
    hasOtherVersions: async () => {
      const { nodes = [] } = serverCondition.parse(await sendCommand(folder, "condition"))
      const live = nodes.filter(({ isSelf, seenMs }) => isSelf || seenMs < 10_000)
      return live.some((each) => each.version !== version)
    },
  }
}
