import { spawn } from "node:child_process"
import { join } from "node:path"

export type Child = {
  readonly pid: number
  /** The next line of output. */
  readonly line: () => Promise<string>
  /** All output of both streams, after the process has ended. */
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>
  readonly kill: (signal: NodeJS.Signals) => void
}

/** Runs a program of this directory or of the repository in a separate process. */
export function runProgram(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Child {
  const child = spawn(process.execPath, [join(import.meta.dirname, file), ...args], { env })
  const waiting: ((line: string) => void)[] = []
  const lines: string[] = []
  let output = ""
  let rest = ""
  child.stderr.on("data", (chunk) => {
    output += chunk
  })
  child.stdout.on("data", (chunk) => {
    output += chunk
    const parts = `${rest}${chunk}`.split("\n")
    rest = parts.pop() ?? ""
    for (const line of parts) {
      const next = waiting.shift()
      if (next) next(line)
      else lines.push(line)
    }
  })
  return {
    pid: child.pid ?? 0,
    line: () => {
      const line = lines.shift()
      if (line !== undefined) return Promise.resolve(line)
      return new Promise((done) => waiting.push(done))
    },
    ended: new Promise((done) => child.once("close", (code) => done({ code, output }))),
    kill: (signal) => void child.kill(signal),
  }
}
