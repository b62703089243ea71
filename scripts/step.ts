import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { delimiter, join, relative, resolve } from "node:path"

/**
 * The root folder of the checkout; every script runs there, regardless of the working directory.
 */
export const root = join(import.meta.dirname, "..")

export type CommandResult = { readonly ok: boolean; readonly output: string }

export type RunOptions = {
  readonly cwd?: string
  /** Prints the output while the command runs. */
  readonly show?: boolean
}

/** Prints a step's name while it runs, then its duration. */
export async function runTimed<T>(label: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now()
  process.stdout.write(`${label} … `)
  const value = await work()
  console.log(`${((performance.now() - began) / 1000).toFixed(1)} s`)
  return value
}

/** Runs a tool from node_modules or the machine. */
export async function run(
  command: readonly string[],
  { cwd = root, show = false }: RunOptions = {},
): Promise<CommandResult> {
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...process.env, PATH: toolPath(), NO_COLOR: "1" },
    stdin: "ignore",
    stdout: show ? "inherit" : "pipe",
    stderr: show ? "inherit" : "pipe",
  })
  const [out, err, code] = await Promise.all([
    child.stdout ? new Response(child.stdout).text() : "",
    child.stderr ? new Response(child.stderr).text() : "",
    child.exited,
  ])
  return { ok: code === 0, output: `${out}${err}` }
}

/** Whether `mark` contains the fingerprint of exactly these inputs. */
export function matchesFingerprint(markFile: string, inputs: readonly string[]): boolean {
  const path = resolve(root, markFile)
  return existsSync(path) && readFileSync(path, "utf8") === fingerprint(inputs)
}

/**
 * One hash over names and contents; modification times would be wrong in a fresh clone. Compute it
 * before the work, so that concurrent changes are not missed, and write it afterwards.
 */
export function fingerprint(inputs: readonly string[]): string {
  const hash = createHash("sha256")
  for (const path of inputs.flatMap((input) => filesBelow(resolve(root, input)))) {
    hash
      .update(`${relative(root, path)}\0`)
      .update(readFileSync(path))
      .update("\0")
  }
  return hash.digest("hex")
}

/** Every file below a folder, sorted, without build outputs; a file path returns itself. */
export function filesBelow(path: string): string[] {
  if (!existsSync(path)) return []
  if (statSync(path).isFile()) return [path]
  return readdirSync(path)
    .filter((name) => name !== "dist" && name !== "node_modules")
    .sort()
    .flatMap((name) => filesBelow(join(path, name)))
}

/** Our tools first, and node, which the launchers of buf and its plugin need. */
const toolPath = () => [join(root, "node_modules", ".bin"), process.env.PATH].join(delimiter)
