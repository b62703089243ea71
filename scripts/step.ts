import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { delimiter, join, relative, resolve } from "node:path"

/** The folder of the checkout; every script works from here, wherever it is called. */
export const root = join(import.meta.dirname, "..")

export type Ended = { readonly ok: boolean; readonly output: string }

export type RunOptions = {
  readonly cwd?: string
  /** Lets the output through as it comes. */
  readonly show?: boolean
}

/** Says what is done while it is, then how long it took. */
export async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now()
  process.stdout.write(`${what} … `)
  const done = await work()
  console.log(`${((performance.now() - began) / 1000).toFixed(1)} s`)
  return done
}

/** Runs a tool of node_modules or of the machine. */
export async function run(
  command: readonly string[],
  { cwd = root, show = false }: RunOptions = {},
): Promise<Ended> {
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

/** Whether `mark` holds the fingerprint of exactly these inputs. */
export function isFresh(mark: string, inputs: readonly string[]): boolean {
  const path = resolve(root, mark)
  return existsSync(path) && readFileSync(path, "utf8") === fingerprint(inputs)
}

/**
 * One hash over names and contents; times would call a fresh clone stale, or a stale one fresh. It
 * is taken before the work, so that a change under way is not missed, and written after it.
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

/** Every file below a folder, sorted, without build outputs; a file stands for itself. */
export function filesBelow(path: string): string[] {
  if (!existsSync(path)) return []
  if (statSync(path).isFile()) return [path]
  return readdirSync(path)
    .filter((name) => name !== "dist" && name !== "node_modules")
    .sort()
    .flatMap((name) => filesBelow(join(path, name)))
}

/** Our tools first, and node itself, which the launchers of buf and its plugin ask for. */
const toolPath = () => [join(root, "node_modules", ".bin"), process.env.PATH].join(delimiter)
