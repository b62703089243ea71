import { applyCommands } from "./apply/commands.ts"
import { auditCommands } from "./boot/audit/commands.ts"
import { backupCommands } from "./boot/backup/commands.ts"
import { completeCommand, completionScripts, completionsFor } from "./boot/command/completion.ts"
import { eventCommands } from "./boot/command/events.ts"
import { healthCommands } from "./boot/command/health.ts"
import { keyCommands } from "./boot/command/keys.ts"
import { moveCommands } from "./boot/command/move.ts"
import { upgradeCommands } from "./boot/command/upgrade.ts"
import {
  type CommandResult,
  type CommandTable,
  type Flag,
  type Flags,
  runCommandLine,
  usageError,
} from "./boot/command-line.ts"
import { sendCommand, serveControl } from "./boot/control.ts"
import {
  claimForDevelopment,
  developmentAddress,
  openDevelopmentFolder,
  rejectDevelopment,
} from "./boot/development.ts"
import { doctorCommands } from "./boot/doctor/commands.ts"
import { folderFlags, masterKeyFlag, settingFlags, settingFlagsOf } from "./boot/flags.ts"
import { claimFolder } from "./boot/folder/claim.ts"
import { folderAt } from "./boot/folder/folder.ts"
import { workerCommand } from "./boot/program.ts"
import { notify } from "./boot/readiness.ts"
import { confirmRemoval, formatRecoveryResult, recoverOwner } from "./boot/recovery.ts"
import type { RunningServer, StartInput } from "./boot/running.ts"
import { formatSettings, readConfig, readSettings } from "./boot/settings.ts"
import { parsePasswordRules, passwordRuleSets, readPassword, runSetup } from "./boot/setup.ts"
import { saveSetupLink } from "./boot/setup-link.ts"
import { formatFailure, formatFailureJson, startError } from "./boot/start-error.ts"
import { waitForStop } from "./boot/stop.ts"
import { systemTerminal } from "./boot/system/terminal.ts"
import { type TransferContext, transferCommands } from "./boot/transfer/commands.ts"
import { userCommands } from "./boot/users/commands.ts"
import { shortVersion, version } from "./boot/version.ts"
import { pictureCommand, runPictureProcess } from "./domain/asset/picture/process.ts"
import { systemClock } from "./kernel/clock.ts"
import type { Config } from "./kernel/config.ts"
import { systemRandom } from "./kernel/crypto/random.ts"
import { Fault } from "./kernel/fault.ts"
import { createIds } from "./kernel/id.ts"
import { localOrigin } from "./kernel/net/address.ts"
import { systemNetwork } from "./runtime/network.ts"

const { env } = process
const started = performance.timeOrigin

const setupFlags = {
  "--org": { hint: "NAME", help: "Name of the first organization", required: true },
  "--owner": { hint: "LOGIN", help: "Login name of the owner", required: true },
  "--owner-email": { hint: "ADDRESS", help: "Email address of the owner", required: true },
  "--owner-password-file": {
    hint: "FILE",
    help: "File that contains the password",
    required: true,
  },
  "--password-rules": {
    hint: passwordRuleSets.join("|"),
    help: "Password requirements: at least 15 characters, or 8 with four kinds of characters",
  },
  "--service-key-file": {
    hint: "OUT.json",
    help: "Also create a service account that owns the instance, and write its key to this file",
  },
} as const satisfies Record<string, Flag>

const developmentFlags = {
  "--data": {
    hint: "DIR",
    help: "Keep the data in this directory (default: a temporary directory)",
  },
  "--fixed-keys": { help: "Use the same well-known signing keys every time" },
  ...pickFlags(["--listen", "--grpc-listen", "--log-level"]),
} satisfies Record<string, Flag>

const recoveryFlags = {
  "--owner": { hint: "LOGIN", help: "Login name; required if there are several owners" },
  "--email": { hint: "ADDRESS", help: "Create this owner with the email address" },
  "--instance": { hint: "ID", help: "ID of the instance, if there are several" },
  "--keep-factors": { help: "Keep the owner's second factors and passkeys, which are not lost" },
  "--yes": { help: "Remove the owner's second factors and passkeys without asking" },
} as const satisfies Record<string, Flag>

/** The dependencies of the commands that export and import data. */
const transferContext: TransferContext = {
  env,
  random: systemRandom,
  started,
  withClosedFolder: async (start, work) =>
    (await import("./server/index.ts")).withLocalTransfer(start, work),
}

const commands: CommandTable = {
  serve: { help: "Start the server", flags: settingFlags, hasNoJson: true, run: serve },
  dev: {
    help: "Start a development instance with fictitious users and a demo application",
    flags: developmentFlags,
    hasNoJson: true,
    run: runDev,
  },
  setup: {
    help: "Set up without a browser",
    flags: { ...settingFlags, ...setupFlags },
    run: runSetupCommand,
  },
  "setup-link": { help: "Print a new one-time setup link", flags: folderFlags, run: setupLink },
  "admin recover": {
    help: "Print a link with which an owner can sign in again",
    flags: { ...folderFlags, ...masterKeyFlag, ...recoveryFlags },
    run: recover,
  },
  ...doctorCommands({
    env,
    clock: systemClock,
    random: systemRandom,
    network: systemNetwork,
    started,
    server: () => import("./server/index.ts"),
  }),
  ...healthCommands({ env }),
  "config check": {
    help: "Check the configuration",
    flags: settingFlags,
    run: checkConfig,
  },
  "config show": {
    help: "Print all settings and their sources",
    flags: settingFlags,
    run: showConfig,
  },
  ...applyCommands({ env, network: systemNetwork }),
  ...backupCommands({
    env,
    clock: systemClock,
    random: systemRandom,
    started,
    drill: async (start) => (await import("./server/index.ts")).drill(start),
  }),
  ...moveCommands({
    env,
    random: systemRandom,
    started,
    moveToPostgres: async (start) => (await import("./server/index.ts")).moveLogToPostgres(start),
    moveFromPostgres: async (start) =>
      (await import("./server/index.ts")).moveLogFromPostgres(start),
  }),
  ...eventCommands({ env, clock: systemClock, print }),
  ...auditCommands({ env }),
  ...upgradeCommands({
    env,
    clock: systemClock,
    random: systemRandom,
    server: () => import("./server/index.ts"),
  }),
  ...keyCommands({
    env,
    random: systemRandom,
    started,
    server: () => import("./server/index.ts"),
  }),
  completion: {
    help: "Print the completion script for a shell",
    arguments: {
      SHELL: { help: "Shell: bash, zsh or fish", values: Object.keys(completionScripts) },
    },
    flags: {},
    hasNoJson: true,
    run: printCompletion,
  },
  ...transferCommands(transferContext),
  ...userCommands(transferContext),
  version: { help: "Print the version", flags: {}, run: printVersion },
}

async function serve(flags: Flags): Promise<CommandResult> {
  const config = readConfig({ flags, env })
  rejectDevelopment(folderAt(config.data))
  return serveOn(config, { env })
}

/** The environment and its files are ignored. */
async function runDev(flags: Flags): Promise<CommandResult> {
  const { data, discard } = openDevelopmentFolder(flags["--data"])
  try {
    const hasFixedKeys = flags["--fixed-keys"] !== undefined
    const config = readConfig({ flags: { ...settingFlagsOf(flags), "--data": data }, env: {} })
    const address = developmentAddress(config)
    claimForDevelopment(data)
    const publicUrl = localOrigin(address, config.tlsCert.length > 0 ? "https" : "http")
    return await serveOn({ ...config, publicUrl }, { development: publicUrl, hasFixedKeys })
  } finally {
    discard()
  }
}

type ServeOptions = Pick<StartInput, "development" | "hasFixedKeys" | "env">

async function serveOn(config: Config, serving: ServeOptions): Promise<CommandResult> {
  const { development } = serving
  const claim = await claimFolder(config, systemRandom)
  const { folder } = claim
  const server = await import("./server/index.ts")
  const running = await server
    .serve({ config, folder, master: claim.master, started, ...serving })
    .catch((cause) => {
      claim.release()
      throw cause
    })
  const status = async () => ({ pid: process.pid, version, url: running.url })
  const control = serveControl(folder, { status, ...running.control }, printFailure)
  saveSetupLink(folder, running.setupUrls[0])
  // The signal handlers are installed before the server is announced, because a script may stop it
  // immediately.
  const stopped = waitForStop(systemClock, {
    drain: async () => {
      await notify(env.NOTIFY_SOCKET, "STOPPING=1")
      await running.drain()
    },
    stop: async () => {
      await notify(env.NOTIFY_SOCKET, "STOPPING=1")
      await control.close()
      await running.stop()
      saveSetupLink(folder, undefined)
    },
  })
  printGreeting(running, config)
  if (development) print(`  Development   ${development}/dev`)
  await notify(env.NOTIFY_SOCKET, "READY=1")
  const exitCode = await stopped
  claim.release()
  return { exitCode }
}

async function runSetupCommand(flags: Flags): Promise<CommandResult> {
  const config = readConfig({ flags: settingFlagsOf(flags), env })
  if (!config.publicUrl) throw startError("public_url_missing", "--public-url is required")
  await runSetup({
    config,
    random: systemRandom,
    ids: createIds(systemClock),
    keyFile: flags["--service-key-file"],
    request: {
      publicUrl: config.publicUrl,
      org: flags["--org"] ?? "",
      owner: flags["--owner"] ?? "",
      ownerEmail: flags["--owner-email"] ?? "",
      ownerPassword: readPassword(flags["--owner-password-file"] ?? ""),
      passwordRules: parsePasswordRules(flags["--password-rules"]),
    },
    here: async ({ folder, master }, request) => {
      const server = await import("./server/index.ts")
      await server.setup({ config, folder, master, started }, request)
    },
  })
  const { publicUrl } = config
  const owner = flags["--owner"]
  const text = `  Setup completed. Sign in at ${publicUrl} as ${owner}`
  return { text, data: { publicUrl, owner } }
}

async function setupLink(flags: Flags): Promise<CommandResult> {
  const { data } = readConfig({ flags: settingFlagsOf(flags), env })
  const link = String(await sendCommand(folderAt(data), "setup-link"))
  return { text: link, data: { link } }
}

async function recover(flags: Flags): Promise<CommandResult> {
  const config = readConfig({ flags: settingFlagsOf(flags), env })
  const { "--owner": owner, "--email": email, "--instance": instance } = flags
  const keepsFactors = flags["--keep-factors"] !== undefined
  const server = () => import("./server/index.ts")
  const recovered = await recoverOwner({
    config,
    random: systemRandom,
    request: { owner, email, instance, keepsFactors },
    confirm: flags["--yes"] ? undefined : confirmRemoval(systemTerminal()),
    here: {
      preview: async (claim, request) =>
        (await server()).previewLocalRecovery({ ...claim, config, started }, request),
      recover: async (claim, request) =>
        (await server()).recoverLocally({ ...claim, config, started }, request),
    },
  })
  return { text: formatRecoveryResult(recovered), data: recovered }
}

async function checkConfig(flags: Flags): Promise<CommandResult> {
  readConfig({ flags: settingFlagsOf(flags), env })
  return { text: "  The configuration is valid.", data: { ok: true } }
}

async function showConfig(flags: Flags): Promise<CommandResult> {
  const settings = readSettings({ flags: settingFlagsOf(flags), env })
  return { text: formatSettings(settings), data: { settings } }
}

async function printCompletion({ SHELL: shell = "" }: Flags): Promise<CommandResult> {
  const text = Object.hasOwn(completionScripts, shell) ? completionScripts[shell] : undefined
  if (text) return { text }
  throw usageError(`${shell} is not one of ${Object.keys(completionScripts).join(", ")}`)
}

async function printVersion(): Promise<CommandResult> {
  return { text: `latchkey ${version}`, data: { version } }
}

function printGreeting({ url, setupUrls }: RunningServer, { data }: Config): void {
  const milliseconds = Math.round(systemClock.now() - started)
  const megabytes = Math.round(process.memoryUsage.rss() / 1e6)
  print(`  Latchkey ${shortVersion}  ${url}     ready in ${milliseconds} ms · ${megabytes} MB`)
  const again = data === "latchkey-data" ? "" : ` --data ${data}`
  const [first, ...others] = setupUrls
  if (first)
    print(`  Set up        ${first}      (print it again with: latchkey setup-link${again})`)
  for (const other of others) print(`                ${other}`)
}

/** A subset of the settings as flags. */
function pickFlags(flags: readonly string[]): Record<string, Flag> {
  return Object.fromEntries(Object.entries(settingFlags).filter(([flag]) => flags.includes(flag)))
}

function print(text: string): void {
  console.log(process.stdout.isTTY ? text : Bun.stripANSI(text))
}
const args = process.argv.slice(2)
const printFailure = (error: unknown) =>
  console.error(args.includes("--json") ? formatFailureJson(error) : formatFailure(error))

// All files in the data directory, also those created by SQLite, are accessible only to their
// owner.
process.umask(0o077)

try {
  if (args[0] === completeCommand) {
    print(completionsFor(commands, args.slice(1)).join("\n"))
    process.exit(0)
  }
  if (args[0] === pictureCommand) await runPictureProcess(args.slice(1))
  if (args[0] === workerCommand) {
    const { runWorker } = await import("./server/worker/worker.ts")
    runWorker(env)
    await new Promise(() => {})
  }
  const about = {
    name: "latchkey",
    help: "Self-hosted identity provider in a single file",
    version,
  }
  process.exit(await runCommandLine(about, commands, args, print))
} catch (error) {
  printFailure(error)
  process.exit(error instanceof Fault && error.id === "command.usage" ? 2 : 1)
}
