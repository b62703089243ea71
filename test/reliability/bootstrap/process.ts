import { spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { binary, owner } from "../../support/latchkey.ts"

export type End = { readonly code: number | null; readonly out: string; readonly error: string }

/** The binary at work; `kill` is kill -9 unless told, and resolves with its end. */
export type Child = {
  readonly ended: Promise<End>
  /** The address of its greeting; undefined when it ended without. */
  readonly greeted: Promise<string | undefined>
  readonly kill: (signal?: NodeJS.Signals) => Promise<End>
}

/** How a child differs from the binary of the build with an empty environment. */
export type Surroundings = {
  readonly program?: string
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly uid?: number
  readonly gid?: number
}

export function launch(
  args: readonly string[],
  { program = binary, env = {}, ...options }: Surroundings = {},
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
  const ended = new Promise<End>((done) =>
    child.once("close", (code) => done({ code, out, error })),
  )
  void ended.then(() => greeting.resolve(undefined))
  return {
    ended,
    greeted: greeting.promise,
    kill: (signal = "SIGKILL") => {
      child.kill(signal)
      return ended
    },
  }
}

/** Serves a data folder on ports that the system chooses. */
export const serveArgs = (data: string): readonly string[] => [
  "serve",
  "--data",
  data,
  "--listen",
  "127.0.0.1:0",
  "--grpc-listen",
  "127.0.0.1:0",
]

/** Sets a data folder up, with its password in a file of `folder`. */
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

/** Whether it refused as it should: one plain line on standard error, and nothing else. */
export const isPlainRefusal = ({ code, out, error }: End): boolean =>
  code === 1 &&
  out === "" &&
  /^latchkey: [^\n]+\n$/.test(error) &&
  !/a bug|SQLITE_|Error:/.test(error)
