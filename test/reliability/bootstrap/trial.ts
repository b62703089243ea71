import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { pause } from "../../support/wait.ts"
import { audit, foldAll, openDatabase } from "../audit.ts"
import { isPlainError, launch, serveArgs, setupArgs } from "./process.ts"

/** What a stopped server's database contains of the setup. */
export type Census = {
  readonly streams: Readonly<Record<string, number>>
  readonly owners: number
  readonly keys: readonly string[]
}

/** Exactly one of everything, and a key for each algorithm. */
export const completeCensus: Census = {
  streams: { app: 1, instance: 1, org: 1, policy: 1, project: 1, user: 1, web_key: 2 },
  owners: 1,
  keys: ["ES256 active", "RS256 active"],
}

/** The inspected fields of the states of some kinds. */
type InspectedState = {
  readonly members?: Readonly<Record<string, { readonly roles: readonly string[] }>>
  readonly algorithm?: string
  readonly status?: string
}

export async function takeCensus(file: string): Promise<Census> {
  const store = openDatabase(file)
  const rows = [...(await foldAll(store)).values()].map(({ kind, state }) => ({
    stream: kind.stream,
    // Reason for the cast: the list loses the state type of each kind; every state has some of
    // these fields or none.
    state: state as InspectedState,
  }))
  await store.close()
  const members = rows.flatMap(({ state }) => Object.values(state.members ?? {}))
  const streams: Record<string, number> = {}
  // Milestones are recorded by the next server, not by setup.
  for (const { stream } of rows.filter((row) => row.stream !== "milestone"))
    streams[stream] = (streams[stream] ?? 0) + 1
  return {
    streams,
    owners: members.filter(({ roles }) => roles.includes("IAM_OWNER")).length,
    keys: rows
      .filter(({ stream }) => stream === "web_key")
      .map(({ state }) => `${state.algorithm} ${state.status}`)
      .sort(),
  }
}

export type InterruptedCommand = "serve" | "setup"

/**
 * Kills a first start or a setup after a delay, then runs both again. Returns the errors, and
 * whether the killed setup had completed.
 */
export async function interruptStart(folder: string, command: InterruptedCommand, afterMs: number) {
  mkdirSync(folder)
  const data = join(folder, "data")
  const setup = setupArgs(folder, data)
  const killed = launch(command === "serve" ? serveArgs(data) : setup)
  await pause(afterMs, "the kill must come at any moment, which is what is tested")
  await killed.kill()

  const complaints: string[] = []
  const server = launch(serveArgs(data))
  const url = await server.ready
  if (url === undefined) complaints.push(`the next start failed: ${(await server.ended).error}`)
  const second = await launch(setup).ended
  const had = second.code !== 0
  if (had && !isPlainError(second)) complaints.push(`the next set-up failed: ${second.error}`)
  if (url && !(await fetch(`${url}/healthz`)).ok) complaints.push("it is not healthy")
  const { code } = await server.kill("SIGTERM")
  if (code !== 0) complaints.push(`the next server ended with ${code}`)

  const file = join(data, "latchkey.db")
  const found = await takeCensus(file)
  if (!Bun.deepEquals(found, completeCensus)) complaints.push(`not whole: ${JSON.stringify(found)}`)
  complaints.push(...(await audit(file)))
  return { complaints, had }
}
