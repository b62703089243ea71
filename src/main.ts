import { type CommandLine, type Flag, type Flags, runCommandLine } from "./boot/command-line.ts"
import { ask, serveControl } from "./boot/control.ts"
import { claimFolder } from "./boot/folder/claim.ts"
import { folderAt } from "./boot/folder/folder.ts"
import { notify } from "./boot/readiness.ts"
import type { Running } from "./boot/running.ts"
import { readConfig } from "./boot/settings.ts"
import { passwordIn, setUp } from "./boot/setup.ts"
import { keepSetupLink } from "./boot/setup-link.ts"
import { failureText, startError } from "./boot/start-error.ts"
import { untilStopped } from "./boot/stop.ts"
import { shortVersion, version } from "./boot/version.ts"
import { systemClock } from "./kernel/clock.ts"
import { type Config, keys, keysFrom, spelling } from "./kernel/config.ts"
import { systemRandom } from "./kernel/crypto/random.ts"
import { Fault } from "./kernel/fault.ts"
import { idsOf } from "./kernel/id.ts"

const { env } = process
const started = performance.timeOrigin

const settings: Record<string, Flag> = Object.fromEntries(
  Object.entries(keys)
    .filter(([key]) => keysFrom("flag").includes(key))
    .map(([key, flag]) => [spelling.flag(key), flag]),
)

const whichFolder: Record<string, Flag> = { "--data": keys.data, "--config": keys.config }

const setupFlags = {
  "--org": { hint: "NAME", help: "Name of the first organisation", required: true },
  "--owner": { hint: "LOGIN", help: "Login name of the owner", required: true },
  "--owner-email": { hint: "ADDRESS", help: "The owner's e-mail address", required: true },
  "--owner-password-file": { hint: "FILE", help: "File with the password", required: true },
  "--service-key-file": {
    hint: "OUT.json",
    help: "Also make a service user who owns the instance, and write its key here",
  },
} as const satisfies Record<string, Flag>

const commands: Readonly<Record<string, CommandLine>> = {
  serve: { help: "Run the service", flags: settings, run: serve },
  setup: { help: "Set up without a browser", flags: { ...settings, ...setupFlags }, run: setup },
  "setup-link": { help: "Print a new one-time set-up link", flags: whichFolder, run: setupLink },
  version: { help: "Print the version", flags: {}, run: printVersion },
}

async function serve(flags: Flags): Promise<number> {
  const config = readConfig({ flags, env })
  const claim = await claimFolder(config, systemRandom)
  const { folder } = claim
  const server = await import("./server/index.ts")
  const running = await server
    .serve({ config, folder, master: claim.master, started })
    .catch((refused) => {
      claim.release()
      throw refused
    })
  const status = async () => ({ pid: process.pid, version, url: running.url })
  const control = serveControl(folder, { status, ...running.control }, complain)
  keepSetupLink(folder, running.setupUrl)
  // Before anybody is told that we are there: whoever reads the greeting may stop us at once.
  const stopped = untilStopped(systemClock, async () => {
    await notify(env.NOTIFY_SOCKET, "STOPPING=1")
    await control.close()
    await running.stop()
    keepSetupLink(folder, undefined)
  })
  greet(running, config)
  await notify(env.NOTIFY_SOCKET, "READY=1")
  const code = await stopped
  claim.release()
  return code
}

async function setup(flags: Flags): Promise<number> {
  const own = Object.keys(setupFlags)
  const rest = Object.entries(flags).filter(([flag]) => !own.includes(flag))
  const config = readConfig({ flags: Object.fromEntries(rest), env })
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
    },
    here: async ({ folder, master }, request) => {
      const server = await import("./server/index.ts")
      await server.setup({ config, folder, master, started }, request)
    },
  })
  print(`  Set up. Sign in at ${config.publicUrl} as ${flags["--owner"]}`)
  return 0
}

async function setupLink(flags: Flags): Promise<number> {
  const { data } = readConfig({ flags, env })
  print(String(await ask(folderAt(data), "setup-link")))
  return 0
}

async function printVersion(): Promise<number> {
  print(`latchkey ${version}`)
  return 0
}

function greet({ url, setupUrl }: Running, { data }: Config): void {
  const milliseconds = Math.round(systemClock.now() - started)
  const megabytes = Math.round(process.memoryUsage.rss() / 1e6)
  print(`  Latchkey ${shortVersion}  ${url}     ready in ${milliseconds} ms · ${megabytes} MB`)
  const again = data === "latchkey-data" ? "" : ` --data ${data}`
  if (setupUrl) print(`  Set up        ${setupUrl}      (again with: latchkey setup-link${again})`)
}

const print = (text: string) => console.log(process.stdout.isTTY ? text : Bun.stripANSI(text))
const complain = (error: unknown) => console.error(failureText(error))

// Whatever is made in the data folder, by us or by SQLite, is for its owner only.
process.umask(0o077)

try {
  const about = { name: "latchkey", help: "A whole identity service in one file", version }
  process.exit(await runCommandLine(about, commands, process.argv.slice(2), print))
} catch (error) {
  complain(error)
  process.exit(error instanceof Fault && error.id === "command.usage" ? 2 : 1)
}
