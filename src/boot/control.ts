import { chmodSync, lstatSync, rmSync } from "node:fs"
import * as z from "zod/mini"
import { codes, Fault } from "../kernel/fault.ts"
import type { Folder } from "./folder/folder.ts"
import { startError, systemCode, withFile } from "./start-error.ts"

/** What a running server does for the command line: a name and a function of plain JSON. */
export type Commands = Readonly<Record<string, (input: unknown) => Promise<unknown>>>

export type Control = { readonly close: () => Promise<void> }

/** A part of an import: a line may hold half a megabyte of metadata, in base64. */
const inputMax = 4 * 1024 * 1024
const secondsMax = 30

const answerSchema = z.lazy(() =>
  z.union([
    z.object({ fault: z.object({ code: z.enum(codes), id: z.string(), message: z.string() }) }),
    z.object({ result: z.unknown() }),
  ]),
)

/**
 * Answers commands on a socket in the data folder that only its owner may open. The caller holds
 * the lock, so what lies there already is what a killed process left. `bug` is told of errors that
 * are no Faults; the asker only learns that there was one.
 */
export function serveControl(
  folder: Folder,
  commands: Commands,
  bug: (error: unknown) => void,
): Control {
  withFile(folder.controlSocket, () => rmSync(folder.controlSocket, { force: true }))
  const server = Bun.serve({
    unix: folder.controlSocket,
    maxRequestBodySize: inputMax,
    fetch: async (requested) => Response.json(await answer(commands, requested, bug)),
  })
  chmodSync(folder.controlSocket, 0o600)
  return {
    close: async () => {
      await server.stop()
      rmSync(folder.controlSocket, { force: true })
    },
  }
}

async function answer(commands: Commands, requested: Request, bug: (error: unknown) => void) {
  try {
    const command = Object.entries(commands).find(([name]) => `/${name}` === pathOf(requested))?.[1]
    if (!command) throw new Fault("unimplemented", "control.unknown", unknownText)
    return { result: (await command(await requested.json())) ?? null }
  } catch (error) {
    if (!(error instanceof Fault)) bug(error)
    const fault = error instanceof Fault ? error : internal
    return { fault: { code: fault.code, id: fault.id, message: fault.message } }
  }
}

const pathOf = (requested: Request) => new URL(requested.url).pathname
const unknownText = "the running server does not know this command; is it of another version?"
const internal = new Fault("internal", "control.bug", "the server ran into a bug; see its log")

/**
 * Asks the server that runs on `folder`; faults as it does, and with "start.not_running" when there
 * is none. It may be silent for so many seconds.
 */
export async function ask(
  folder: Folder,
  command: string,
  input: unknown = {},
  seconds = secondsMax,
): Promise<unknown> {
  const posted = await post(folder, { path: `/${command}`, input, seconds })
  const answer = answerSchema.safeParse(JSON.parse(posted))
  if (!answer.success) throw new Error(`${folder.controlSocket} is not Latchkey's`)
  if ("result" in answer.data) return answer.data.result
  const { code, id, message } = answer.data.fault
  throw new Fault(code, id, message)
}

type Post = { readonly path: string; readonly input: unknown; readonly seconds: number }

async function post(folder: Folder, { path, input, seconds }: Post): Promise<string> {
  refuseUnserved(folder)
  // Loaded with the first question: a start that finds no socket asks none.
  const { request } = await import("node:http")
  return new Promise((done, fail) => {
    const requested = request({
      socketPath: folder.controlSocket,
      path,
      method: "POST",
      // One connection for each question: one that is kept may have lost its server by the next.
      agent: false,
      headers: { "content-type": "application/json" },
      timeout: seconds * 1000,
    })
    requested.on("timeout", () => requested.destroy(silentError(seconds)))
    requested.on("error", (error) => fail(unreachable(folder, error)))
    requested.on("response", (response) => {
      let text = ""
      response.setEncoding("utf8")
      response.on("data", (chunk) => {
        text += chunk
      })
      response.on("end", () => done(text))
      response.on("error", fail)
    })
    requested.end(JSON.stringify(input))
  })
}

/** Where there is no socket, nobody listens. What else stands in the way, the client says. */
function refuseUnserved(folder: Folder): void {
  try {
    lstatSync(folder.controlSocket)
  } catch (error) {
    if (systemCode(error) === "ENOENT") throw unreachable(folder, error)
  }
}

function unreachable(folder: Folder, error: unknown): unknown {
  const code = systemCode(error)
  if (["EACCES", "EPERM"].includes(code)) {
    return startError("control_forbidden", `only the owner of ${folder.path} may do this`, error)
  }
  if (!["ENOENT", "ECONNREFUSED", "FailedToOpenSocket"].includes(code)) return error
  return startError(
    "not_running",
    `no server runs on ${folder.path}; start one with: latchkey serve --data ${folder.path}`,
    error,
  )
}

const silentError = (seconds: number) =>
  startError("silent", `the running server has not answered for ${seconds} s; see its log`)
