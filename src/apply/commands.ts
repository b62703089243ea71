import type { CommandResult, CommandTable, Flag, Flags } from "../boot/command-line.ts"
import type { Network } from "../runtime/network.ts"
import type { ApplyResult, ApplyStep } from "./run.ts"

type CommandContext = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly network: Pick<Network, "send">
}

/** The exit code of a plan with differences. */
const differencesExitCode = 3

const serverFlags = {
  "--server": { hint: "URL", help: "Public URL of the server (default: http://localhost:8080)" },
  "--key": {
    hint: "FILE",
    help: "Key file of a service account with the required permissions",
    required: true,
  },
} as const satisfies Record<string, Flag>

const serverFrom = (flags: Flags) => ({
  url: flags["--server"] ?? "http://localhost:8080",
  keyFile: flags["--key"] ?? "",
})

/** The commands that use the API of a server as a service account. */
export const applyCommands = (context: CommandContext): CommandTable => ({
  token: {
    help: "Print an access token of a service account, for programs that call the API",
    flags: serverFlags,
    run: async (flags) => {
      const { requestAccessToken } = await import("./api-client.ts")
      const token = await requestAccessToken(serverFrom(flags), context.network.send)
      return { text: token, data: { accessToken: token } }
    },
  },
  apply: {
    help: "Create and update organizations, projects, users, providers and policies from files",
    arguments: { PATH: { help: "YAML file, or directory of YAML files" } },
    flags: {
      ...serverFlags,
      "--secrets": {
        help: "Set the secrets of providers again, because differences can't be detected",
      },
      "--plan": {
        help: `Only print the differences; exit with code ${differencesExitCode} if there are any`,
      },
    },
    run: (flags) => runApply(flags, context),
  },
})

async function runApply(flags: Flags, { env, network }: CommandContext): Promise<CommandResult> {
  const { readDocuments } = await import("./document.ts")
  const { createApiClient } = await import("./api-client.ts")
  const { apply } = await import("./apply.ts")
  const documents = readDocuments(flags.PATH ?? "", env)
  const call = await createApiClient(serverFrom(flags), network.send)
  const isPlan = flags["--plan"] !== undefined
  const saysSecrets = flags["--secrets"] !== undefined
  const applied = await apply(call, documents, { isPlan, saysSecrets })
  const { fault, undescribed, ...done } = applied
  const error = fault && { id: fault.id, message: fault.message }
  const exitCode = error ? 1 : isPlan && applied.steps.length > 0 ? differencesExitCode : 0
  // Programs read these names.
  const data = { plan: isPlan, ...done, beyond: undescribed, ...(error && { error }) }
  return { exitCode, text: formatResult(applied, isPlan), data }
}

function formatResult({ steps, undescribed, fault }: ApplyResult, isPlan: boolean): string {
  const lines =
    steps.length === 0 && !fault ? ["  Everything matches the description."] : steps.map(formatStep)
  const note = isPlan && steps.length > 0 ? ["  Plan only: nothing was changed."] : []
  const extras = undescribed.map((label) => `  ? ${label} exists, but is not described`)
  const failure = fault ? [`  ! ${fault.message}; the remaining steps were skipped`] : []
  return [...lines, ...extras, ...note, ...failure].join("\n")
}

function formatStep({ action, thing, fields, once }: ApplyStep): string {
  const sign = action === "create" ? "+" : "~"
  const changedFields = fields.length === 0 ? "" : `: ${fields.join(", ")}`
  const onceLines = Object.entries(once).map(([name, value]) => `\n      ${name}  ${value}`)
  return `  ${sign} ${thing}${changedFields}${onceLines.join("")}`
}
