import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { pause } from "../../support/wait.ts"
import { audit, foldAll, openDatabase } from "../audit.ts"
import { isPlainRefusal, launch, serveArgs, setupArgs } from "./process.ts"

/** What a stopped server's database holds of what set-up makes. */
export type Census = {
  readonly streams: Readonly<Record<string, number>>
  readonly owners: number
  readonly keys: readonly string[]
}

/** Exactly one of everything, and a key for each algorithm. */
export const whole: Census = {
  streams: { app: 1, instance: 1, org: 1, policy: 1, project: 1, user: 1, web_key: 2 },
  owners: 1,
  keys: ["ES256 active", "RS256 active"],
}

/** What is asked of the states of some kinds. */
type Asked = {
  readonly members?: Readonly<Record<string, { readonly roles: readonly string[] }>>
  readonly algorithm?: string
  readonly status?: string
}

export async function census(file: string): Promise<Census> {
  const store = openDatabase(file)
  const rows = [...(await foldAll(store)).values()].map(({ kind, state }) => ({
    stream: kind.stream,
    // Reason for the cast: the list forgets which state is whose; each has some of these or none.
    state: state as Asked,
  }))
  await store.close()
  const members = rows.flatMap(({ state }) => Object.values(state.members ?? {}))
  const streams: Record<string, number> = {}
  // What has been reached is noted by whoever serves next, not by what sets up.
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

export type Interrupted = "serve" | "setup"

/**
 * Kills a first start or a set-up after so long, then does both again. Answers what is wrong, and
 * whether the set-up that was killed had happened.
 */
export async function interrupt(folder: string, what: Interrupted, afterMs: number) {
  mkdirSync(folder)
  const data = join(folder, "data")
  const setup = setupArgs(folder, data)
  const killed = launch(what === "serve" ? serveArgs(data) : setup)
  await pause(afterMs, "the kill must come at any moment, which is what is tested")
  await killed.kill()

  const complaints: string[] = []
  const server = launch(serveArgs(data))
  const url = await server.greeted
  if (url === undefined) complaints.push(`the next start failed: ${(await server.ended).error}`)
  const second = await launch(setup).ended
  const had = second.code !== 0
  if (had && !isPlainRefusal(second)) complaints.push(`the next set-up failed: ${second.error}`)
  if (url && !(await fetch(`${url}/healthz`)).ok) complaints.push("it is not healthy")
  const { code } = await server.kill("SIGTERM")
  if (code !== 0) complaints.push(`the next server ended with ${code}`)

  const file = join(data, "latchkey.db")
  const found = await census(file)
  if (!Bun.deepEquals(found, whole)) complaints.push(`not whole: ${JSON.stringify(found)}`)
  complaints.push(...(await audit(file)))
  return { complaints, had }
}
