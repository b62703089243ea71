import { applyCommands } from "./apply/commands.ts"
import { auditCommands } from "./boot/audit/commands.ts"
import { backupCommands } from "./boot/backup/commands.ts"
import { completed, completeWord, completionScripts } from "./boot/command/completion.ts"
import { eventCommands } from "./boot/command/events.ts"
import { healthCommands } from "./boot/command/health.ts"
import { keyCommands } from "./boot/command/keys.ts"
import { moveCommands } from "./boot/command/move.ts"
import { upgradeCommands } from "./boot/command/upgrade.ts"
import {
  type CommandTable,
  type Flag,
  type Flags,
  type Outcome,
  runCommandLine,
  usageError,
} from "./boot/command-line.ts"
import { ask, serveControl } from "./boot/control.ts"
import {
  claimForDevelopment,
  developmentFolder,
  developmentPlace,
  refuseDevelopment,
} from "./boot/development.ts"
import { doctorCommands } from "./boot/doctor/commands.ts"
import { folderFlags, masterKeyFlag, settingFlags, settingsIn } from "./boot/flags.ts"
import { claimFolder } from "./boot/folder/claim.ts"
import { folderAt } from "./boot/folder/folder.ts"
import { peopleCommands } from "./boot/people/commands.ts"
import { workerWord } from "./boot/program.ts"
import { notify } from "./boot/readiness.ts"
import { confirmRemoval, recoveredText, recoverOwner } from "./boot/recovery.ts"
import type { Running, Start } from "./boot/running.ts"
import { readConfig, readSettings, settingsText } from "./boot/settings.ts"
import { passwordIn, passwordRuleSets, passwordRulesIn, setUp } from "./boot/setup.ts"
import { keepSetupLink } from "./boot/setup-link.ts"
import { failureJson, failureText, startError } from "./boot/start-error.ts"
import { untilStopped } from "./boot/stop.ts"
import { systemTerminal } from "./boot/system/terminal.ts"
import { type Lent, transferCommands } from "./boot/transfer/commands.ts"
import { shortVersion, version } from "./boot/version.ts"
import { pictureWord, runPictureProcess } from "./domain/asset/picture/process.ts"
import { systemClock } from "./kernel/clock.ts"
import type { Config } from "./kernel/config.ts"
import { systemRandom } from "./kernel/crypto/random.ts"
import { Fault } from "./kernel/fault.ts"
import { idsOf } from "./kernel/id.ts"
import { localOrigin } from "./kernel/net/address.ts"
import { systemNetwork } from "./runtime/network.ts"

const { env } = process
const started = performance.timeOrigin

const setupFlags = {
  "--org": { hint: "NAME", help: "Name of the first organisation", required: true },
  "--owner": { hint: "LOGIN", help: "Login name of the owner", required: true },
  "--owner-email": { hint: "ADDRESS", help: "The owner's e-mail address", required: true },
  "--owner-password-file": { hint: "FILE", help: "File with the password", required: true },
  "--password-rules": {
    hint: passwordRuleSets.join("|"),
    help: "What passwords must have: at least 15 characters, or 8 with four kinds of them",
  },
  "--service-key-file": {
    hint: "OUT.json",
    help: "Also make a service user who owns the instance, and write its key here",
  },
} as const satisfies Record<string, Flag>

const developmentFlags = {
  "--data": { hint: "DIR", help: "Keep everything in this folder (default: thrown away)" },
  "--fixed-keys": { help: "Sign with the same keys each time, which everybody has" },
  ...chosen(["--listen", "--grpc-listen", "--log-level"]),
} satisfies Record<string, Flag>

const recoveryFlags = {
  "--owner": { hint: "LOGIN", help: "Who; needed where there are several owners" },
  "--email": { hint: "ADDRESS", help: "Make the owner, who is not there yet, with this address" },
  "--instance": { hint: "ID", help: "Which instance, where there are several" },
  "--keep-factors": { help: "Their second factors and passkeys are not lost: keep them" },
  "--yes": { help: "Remove their second factors and passkeys without asking" },
} as const satisfies Record<string, Flag>

/** What carries data in and out. */
const carrying: Lent = {
  env,
  random: systemRandom,
  started,
  here: async (start, work) => (await import("./server/index.ts")).transferHere(start, work),
}

const commands: CommandTable = {
  serve: { help: "Run the service", flags: settingFlags, plain: true, run: serve },
  dev: {
    help: "Develop against made-up people and a demo application, on this machine alone",
    flags: developmentFlags,
    plain: true,
    run: develop,
  },
  setup: {
    help: "Set up without a browser",
    flags: { ...settingFlags, ...setupFlags },
    run: setup,
  },
  "setup-link": { help: "Print a new one-time set-up link", flags: folderFlags, run: setupLink },
  "admin recover": {
    help: "Print a link that lets an owner in who has lost password, second factor or all",
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
    help: "Say whether the configuration can be read",
    flags: settingFlags,
    run: checkConfig,
  },
  "config show": {
    help: "Print every setting, and where it was given",
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
    moveIn: async (start) => (await import("./server/index.ts")).moveIn(start),
    moveOut: async (start) => (await import("./server/index.ts")).moveOut(start),
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
    help: "Print what makes a shell complete commands and flags",
    words: { SHELL: { help: "bash, zsh or fish", of: Object.keys(completionScripts) } },
    flags: {},
    plain: true,
    run: printCompletion,
  },
  ...transferCommands(carrying),
  ...peopleCommands(carrying),
  version: { help: "Print the version", flags: {}, run: printVersion },
}

async function serve(flags: Flags): Promise<Outcome> {
  const config = readConfig({ flags, env })
  refuseDevelopment(folderAt(config.data))
  return serveOn(config, { env })
}

/** The environment and its folders stay out of it. */
async function develop(flags: Flags): Promise<Outcome> {
  const { data, discard } = developmentFolder(flags["--data"])
  try {
    const hasFixedKeys = flags["--fixed-keys"] !== undefined
    const config = readConfig({ flags: { ...settingsIn(flags), "--data": data }, env: {} })
    const place = developmentPlace(config)
    claimForDevelopment(data)
    const publicUrl = localOrigin(place, config.tlsCert.length > 0 ? "https" : "http")
    return await serveOn({ ...config, publicUrl }, { development: publicUrl, hasFixedKeys })
  } finally {
    discard()
  }
}

type Serving = Pick<Start, "development" | "hasFixedKeys" | "env">

async function serveOn(config: Config, serving: Serving): Promise<Outcome> {
  const { development } = serving
  const claim = await claimFolder(config, systemRandom)
  const { folder } = claim
  const server = await import("./server/index.ts")
  const running = await server
    .serve({ config, folder, master: claim.master, started, ...serving })
    .catch((refused) => {
      claim.release()
      throw refused
    })
  const status = async () => ({ pid: process.pid, version, url: running.url })
  const control = serveControl(folder, { status, ...running.control }, complain)
  keepSetupLink(folder, running.setupUrls[0])
  // Before anybody is told that we are there: whoever reads the greeting may stop us at once.
  const stopped = untilStopped(systemClock, {
    drain: async () => {
      await notify(env.NOTIFY_SOCKET, "STOPPING=1")
      await running.drain()
    },
    stop: async () => {
      await notify(env.NOTIFY_SOCKET, "STOPPING=1")
      await control.close()
      await running.stop()
      keepSetupLink(folder, undefined)
    },
  })
  greet(running, config)
  if (development) print(`  Development   ${development}/dev`)
  await notify(env.NOTIFY_SOCKET, "READY=1")
  const code = await stopped
  claim.release()
  return { code }
}

async function setup(flags: Flags): Promise<Outcome> {
  const config = readConfig({ flags: settingsIn(flags), env })
  if (!config.publicUrl) throw startError("public_url_missing", "latchkey setup needs --public-url")
  await setUp({
    config,
    random: systemRandom,
    ids: idsOf(systemClock),
    keyFile: flags["--service-key-file"],
    request: {
      publicUrl: config.publicUrl,
      org: flags["--org"] ?? "",
      owner: flags["--owner"] ?? "",
      ownerEmail: flags["--owner-email"] ?? "",
      ownerPassword: passwordIn(flags["--owner-password-file"] ?? ""),
      passwordRules: passwordRulesIn(flags["--password-rules"]),
    },
    here: async ({ folder, master }, request) => {
      const server = await import("./server/index.ts")
      await server.setup({ config, folder, master, started }, request)
    },
  })
  const { publicUrl } = config
  const owner = flags["--owner"]
  const text = `  Set up. Sign in at ${publicUrl} as ${owner}`
  return { text, data: { publicUrl, owner } }
}

async function setupLink(flags: Flags): Promise<Outcome> {
  const { data } = readConfig({ flags: settingsIn(flags), env })
  const link = String(await ask(folderAt(data), "setup-link"))
  return { text: link, data: { link } }
}

async function recover(flags: Flags): Promise<Outcome> {
  const config = readConfig({ flags: settingsIn(flags), env })
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
        (await server()).previewRecoveryHere({ ...claim, config, started }, request),
      recover: async (claim, request) =>
        (await server()).recoverHere({ ...claim, config, started }, request),
    },
  })
  return { text: recoveredText(recovered), data: recovered }
}

async function checkConfig(flags: Flags): Promise<Outcome> {
  readConfig({ flags: settingsIn(flags), env })
  return { text: "  The configuration can be read.", data: { ok: true } }
}

async function showConfig(flags: Flags): Promise<Outcome> {
  const settings = readSettings({ flags: settingsIn(flags), env })
  return { text: settingsText(settings), data: { settings } }
}

async function printCompletion({ SHELL: shell = "" }: Flags): Promise<Outcome> {
  const text = Object.hasOwn(completionScripts, shell) ? completionScripts[shell] : undefined
  if (text) return { text }
  throw usageError(`${shell} is not one of ${Object.keys(completionScripts).join(", ")}`)
}

async function printVersion(): Promise<Outcome> {
  return { text: `latchkey ${version}`, data: { version } }
}

function greet({ url, setupUrls }: Running, { data }: Config): void {
  const milliseconds = Math.round(systemClock.now() - started)
  const megabytes = Math.round(process.memoryUsage.rss() / 1e6)
  print(`  Latchkey ${shortVersion}  ${url}     ready in ${milliseconds} ms · ${megabytes} MB`)
  const again = data === "latchkey-data" ? "" : ` --data ${data}`
  const [first, ...others] = setupUrls
  if (first) print(`  Set up        ${first}      (again with: latchkey setup-link${again})`)
  for (const other of others) print(`                ${other}`)
}

/** Some of the settings. */
function chosen(flags: readonly string[]): Record<string, Flag> {
  return Object.fromEntries(Object.entries(settingFlags).filter(([flag]) => flags.includes(flag)))
}

function print(text: string): void {
  console.log(process.stdout.isTTY ? text : Bun.stripANSI(text))
}
const words = process.argv.slice(2)
const complain = (error: unknown) =>
  console.error(words.includes("--json") ? failureJson(error) : failureText(error))

// Whatever is made in the data folder, by us or by SQLite, is for its owner only.
process.umask(0o077)

try {
  if (words[0] === completeWord) {
    print(completed(commands, words.slice(1)).join("\n"))
    process.exit(0)
  }
  if (words[0] === pictureWord) await runPictureProcess(words.slice(1))
  if (words[0] === workerWord) {
    const { runWorker } = await import("./server/worker/beside.ts")
    runWorker(env)
    await new Promise(() => {})
  }
  const about = { name: "latchkey", help: "A whole identity service in one file", version }
  process.exit(await runCommandLine(about, commands, words, print))
} catch (error) {
  complain(error)
  process.exit(error instanceof Fault && error.id === "command.usage" ? 2 : 1)
}
