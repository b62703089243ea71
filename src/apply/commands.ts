import type { CommandTable, Flag, Flags, Outcome } from "../boot/command-line.ts"
import type { Network } from "../runtime/network.ts"
import type { Applied, Step } from "./run.ts"

type Lent = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly network: Pick<Network, "send">
}

/** The exit code of a plan that something is left to do for. */
const differsCode = 3

const serverFlags = {
  "--server": { hint: "URL", help: "Its public address (default: http://localhost:8080)" },
  "--key": { hint: "FILE", help: "The key file of a service user who may do it", required: true },
} as const satisfies Record<string, Flag>

const serverIn = (flags: Flags) => ({
  url: flags["--server"] ?? "http://localhost:8080",
  keyFile: flags["--key"] ?? "",
})

/** What is done to a server by its interface, as a service user. */
export const applyCommands = (lent: Lent): CommandTable => ({
  token: {
    help: "Print an access token of a service user, for programs that call the interface",
    flags: serverFlags,
    run: async (flags) => {
      const { accessToken } = await import("./api-client.ts")
      const token = await accessToken(serverIn(flags), lent.network.send)
      return { text: token, data: { accessToken: token } }
    },
  },
  apply: {
    help: "Make organisations, projects, people, providers and policies what files describe",
    words: { PATH: { help: "A YAML file, or a folder of them" } },
    flags: {
      ...serverFlags,
      "--secrets": {
        help: "Say the secrets of providers again: nobody can see whether they differ",
      },
      "--plan": { help: `Only say what differs; exit code ${differsCode} where anything does` },
    },
    run: (flags) => runApply(flags, lent),
  },
})

async function runApply(flags: Flags, { env, network }: Lent): Promise<Outcome> {
  const { readDocuments } = await import("./document.ts")
  const { apiClient } = await import("./api-client.ts")
  const { apply } = await import("./apply.ts")
  const documents = readDocuments(flags.PATH ?? "", env)
  const call = await apiClient(serverIn(flags), network.send)
  const isPlan = flags["--plan"] !== undefined
  const saysSecrets = flags["--secrets"] !== undefined
  const applied = await apply(call, documents, { isPlan, saysSecrets })
  const { refused, ...done } = applied
  const error = refused && { id: refused.id, message: refused.message }
  const code = error ? 1 : isPlan && applied.steps.length > 0 ? differsCode : 0
  const data = { plan: isPlan, ...done, ...(error && { error }) }
  return { code, text: textOf(applied, isPlan), data }
}

function textOf({ steps, beyond, refused }: Applied, isPlan: boolean): string {
  const said =
    steps.length === 0 && !refused ? ["  Everything is as described."] : steps.map(lineOf)
  const left = isPlan && steps.length > 0 ? ["  Nothing was changed: this is the plan."] : []
  const more = beyond.map((thing) => `  ? ${thing} is there, and is not described`)
  const broken = refused ? [`  ! ${refused.message}; nothing after that was done`] : []
  return [...said, ...more, ...left, ...broken].join("\n")
}

function lineOf({ action, thing, fields, once }: Step): string {
  const sign = action === "create" ? "+" : "~"
  const what = fields.length === 0 ? "" : `: ${fields.join(", ")}`
  const told = Object.entries(once).map(([name, value]) => `\n      ${name}  ${value}`)
  return `  ${sign} ${thing}${what}${told.join("")}`
}
