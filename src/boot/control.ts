import { chmodSync, lstatSync, rmSync } from "node:fs"
import * as z from "zod/mini"
import { codes, Fault } from "../kernel/fault.ts"
import type { Folder } from "./folder/folder.ts"
import { startError, systemCode, tryFile } from "./start-error.ts"

/**
 * The commands that a running server provides to the command line: a name and a function on plain
 * JSON.
 */
export type Commands = Readonly<Record<string, (input: unknown) => Promise<unknown>>>

export type Control = { readonly close: () => Promise<void> }

/**
 * The maximum size of a request. A part of an import can contain a line with half a megabyte of
 * metadata in base64.
 */
const inputMax = 4 * 1024 * 1024
const defaultTimeoutSeconds = 30

const answerSchema = z.lazy(() =>
  z.union([
    z.object({ fault: z.object({ code: z.enum(codes), id: z.string(), message: z.string() }) }),
    z.object({ result: z.unknown() }),
  ]),
)

/**
 * Serves commands on a socket in the data directory that only its owner can open. The caller holds
 * the lock, so an existing socket was left by a killed process. `bug` is called with errors that
 * are not Faults; the client receives only a generic error.
 */
export function serveControl(
  folder: Folder,
  commands: Commands,
  reportBug: (error: unknown) => void,
): Control {
  tryFile(folder.controlSocket, () => rmSync(folder.controlSocket, { force: true }))
  const server = Bun.serve({
    unix: folder.controlSocket,
    maxRequestBodySize: inputMax,
    fetch: async (commandRequest) =>
      Response.json(await runCommand(commands, commandRequest, reportBug)),
  })
  chmodSync(folder.controlSocket, 0o600)
  return {
    close: async () => {
      await server.stop()
      rmSync(folder.controlSocket, { force: true })
    },
  }
}

async function runCommand(
  commands: Commands,
  commandRequest: Request,
  reportBug: (error: unknown) => void,
) {
  try {
    const command = Object.entries(commands).find(
      ([name]) => `/${name}` === pathOf(commandRequest),
    )?.[1]
    if (!command) throw new Fault("unimplemented", "control.unknown", unknownText)
    return { result: (await command(await commandRequest.json())) ?? null }
  } catch (error) {
    if (!(error instanceof Fault)) reportBug(error)
    const fault = error instanceof Fault ? error : bugError
    return { fault: { code: fault.code, id: fault.id, message: fault.message } }
  }
}

const pathOf = (commandRequest: Request) => new URL(commandRequest.url).pathname
const unknownText =
  "the running server does not support this command; check that it has the same version"
const bugError = new Fault(
  "internal",
  "control.bug",
  "the server encountered an internal error; see its log",
)

/**
 * Sends a command to the server that runs on `folder`. Throws the fault of the server, or
 * "start.not_running" if there is none. Times out after the given number of seconds without a
 * response.
 */
export async function sendCommand(
  folder: Folder,
  command: string,
  input: unknown = {},
  seconds = defaultTimeoutSeconds,
): Promise<unknown> {
  const posted = await postJson(folder, { path: `/${command}`, input, seconds })
  const answer = answerSchema.safeParse(JSON.parse(posted))
  if (!answer.success) throw new Error(`${folder.controlSocket} is not a Latchkey socket`)
  if ("result" in answer.data) return answer.data.result
  const { code, id, message } = answer.data.fault
  throw new Fault(code, id, message)
}

type PostInput = { readonly path: string; readonly input: unknown; readonly seconds: number }

async function postJson(folder: Folder, { path, input, seconds }: PostInput): Promise<string> {
  requireSocket(folder)
  // Loaded on first use, because a start that finds no socket sends no request.
  const { request } = await import("node:http")
  return new Promise((done, fail) => {
    const commandRequest = request({
      socketPath: folder.controlSocket,
      path,
      method: "POST",
      // One connection per request: the server of a kept connection can stop before the next
      // request.
      agent: false,
      headers: { "content-type": "application/json" },
      timeout: seconds * 1000,
    })
    commandRequest.on("timeout", () => commandRequest.destroy(timeoutError(seconds)))
    commandRequest.on("error", (error) => fail(connectionError(folder, error)))
    commandRequest.on("response", (response) => {
      let text = ""
      response.setEncoding("utf8")
      response.on("data", (chunk) => {
        text += chunk
      })
      response.on("end", () => done(text))
      response.on("error", fail)
    })
    commandRequest.end(JSON.stringify(input))
  })
}

/**
 * Throws if there is no socket, because then no server runs. Other problems are reported by the
 * HTTP client.
 */
function requireSocket(folder: Folder): void {
  try {
    lstatSync(folder.controlSocket)
  } catch (error) {
    if (systemCode(error) === "ENOENT") throw connectionError(folder, error)
  }
}

function connectionError(folder: Folder, error: unknown): unknown {
  const code = systemCode(error)
  if (["EACCES", "EPERM"].includes(code)) {
    return startError(
      "control_forbidden",
      `only the owner of ${folder.path} can run this command`,
      error,
    )
  }
  if (!["ENOENT", "ECONNREFUSED", "FailedToOpenSocket"].includes(code)) return error
  return startError(
    "not_running",
    `no server runs on ${folder.path}; start one with: latchkey serve --data ${folder.path}`,
    error,
  )
}

const timeoutError = (seconds: number) =>
  startError("silent", `the running server did not respond within ${seconds} s; see its log`)
