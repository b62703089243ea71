import { spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { binary, owner } from "../../support/latchkey.ts"

export type ExitResult = {
  readonly code: number | null
  readonly out: string
  readonly error: string
}

/** The running binary; `kill` sends SIGKILL by default, and resolves when it has exited. */
export type Child = {
  readonly ended: Promise<ExitResult>
  /** The URL of its ready line; undefined if it exited without one. */
  readonly ready: Promise<string | undefined>
  readonly kill: (signal?: NodeJS.Signals) => Promise<ExitResult>
}

/** Differences from the built binary with an empty environment. */
export type LaunchOptions = {
  readonly program?: string
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly uid?: number
  readonly gid?: number
}

export function launch(
  args: readonly string[],
  { program = binary, env = {}, ...options }: LaunchOptions = {},
): Child {
  const child = spawn(program, [...args], { env, ...options })
  const greeting = Promise.withResolvers<string | undefined>()
  let [out, error] = ["", ""]
  child.stdout.on("data", (chunk) => {
    out += chunk
    const [, url] = /^ {2}Latchkey \S+ +(http\S+)/m.exec(out) ?? []
    if (url) greeting.resolve(url)
  })
  child.stderr.on("data", (chunk) => (error += chunk))
  const ended = new Promise<ExitResult>((done) =>
    child.once("close", (code) => done({ code, out, error })),
  )
  void ended.then(() => greeting.resolve(undefined))
  return {
    ended,
    ready: greeting.promise,
    kill: (signal = "SIGKILL") => {
      child.kill(signal)
      return ended
    },
  }
}

/** The arguments to serve a data directory on ports that the system chooses. */
export const serveArgs = (data: string): readonly string[] => [
  "serve",
  "--data",
  data,
  "--listen",
  "127.0.0.1:0",
  "--grpc-listen",
  "127.0.0.1:0",
]

/** The arguments to set up a data directory, with the password in a file of `folder`. */
export function setupArgs(
  folder: string,
  data: string,
  publicUrl = "http://localhost:8080",
): readonly string[] {
  const passwordFile = join(folder, "password")
  writeFileSync(passwordFile, `${owner.password}\n`)
  return [
    "setup",
    "--data",
    data,
    "--public-url",
    publicUrl,
    "--org",
    "Acme",
    "--owner",
    owner.loginName,
    "--owner-email",
    owner.email,
    "--owner-password-file",
    passwordFile,
  ]
}

/** Whether it rejected the start properly: one plain line on standard error, and nothing else. */
export const isPlainError = ({ code, out, error }: ExitResult): boolean =>
  code === 1 &&
  out === "" &&
  /^latchkey: [^\n]+\n$/.test(error) &&
  !/internal error|SQLITE_|Error:/.test(error)
