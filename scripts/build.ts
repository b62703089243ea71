import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import type { BunPlugin } from "bun"
import { prepare } from "./gen.ts"
import { recordStart } from "./start-order.ts"
import { fingerprint, isFresh, root, timed } from "./step.ts"

const mark = "dist/.made-from"
const inputs = [
  "proto",
  "src",
  "ui",
  "scripts/build.ts",
  "scripts/openapi.ts",
  "scripts/prune-book.ts",
  "package-lock.json",
]

/** A user downloads this file; beyond this size something slipped in that does not belong. */
const sizeMax = 131_000_000

/** The name of the compiled binary on this machine. */
export const binary = join(root, "dist", process.platform === "win32" ? "latchkey.exe" : "latchkey")

/** Generates code, bundles the pages and compiles everything into `binary`. */
export async function build(): Promise<void> {
  await prepare()
  await compileAll()
}

/**
 * Compiles what `prepare` has made into `binary`. It writes nothing that a type check beside it
 * reads.
 */
export async function compileAll(): Promise<void> {
  const made = fingerprint(inputs)
  mkdirSync(join(root, "dist"), { recursive: true })
  // The new binary takes the place of the old one in one step, which works while that one runs.
  const fresh = `${binary}.${process.pid}`
  const order = `${fresh}.order`
  try {
    await timed("Compiling the binary", () => compile(fresh))
    await timed("Recording what a start reads", () => recordStart(fresh, order))
    await timed("Compiling it in that order", () => compile(fresh, order))
    const size = statSync(fresh).size
    if (size > sizeMax) {
      throw new Error(`the binary has ${megabytes(size)}, more than ${megabytes(sizeMax)}`)
    }
    renameSync(fresh, binary)
    console.log(`dist/latchkey  ${megabytes(size)}`)
  } finally {
    for (const file of [fresh, order]) rmSync(file, { force: true })
  }
  writeFileSync(join(root, mark), made)
}

const workers = [
  "src/domain/action/script/script-worker.ts",
  "src/domain/asset/svg-worker.ts",
  "src/store/log/checkpoint-worker.ts",
  "src/store/inspection-worker.ts",
  "src/store/search/reader-worker.ts",
]

/** Files of libraries that nothing here reads, and what takes their place. */
const unread: readonly (readonly [file: RegExp, contents: string])[] = [
  // Metrics that are pushed, and sliding quantiles: nothing here uses them.
  [/[\\/]prom-client[\\/]lib[\\/](pushgateway|summary)\.js$/, "module.exports = class {}"],
  // It would put the number of a trace beside a metric, where it is told to.
  [/[\\/]@opentelemetry[\\/]api[\\/]dist[\\/]index\.cjs$/, ""],
  // The library for XML Encryption is given trees; its own parser would read texts.
  [/[\\/]xml-encryption[\\/]node_modules[\\/]@xmldom[\\/]xmldom[\\/]lib[\\/]index\.js$/, ""],
  // Pages are rendered whole, which is in another file; this one streams them.
  [/[\\/]react-dom[\\/]cjs[\\/]react-dom-server\.bun\.production\.js$/, "exports.version = ''"],
]

const withoutUnread: BunPlugin = {
  name: "without-unread",
  setup: (build) => {
    for (const [filter, contents] of unread) {
      build.onLoad({ filter }, () => ({ contents, loader: "js" }))
    }
  },
}

/** Another system than this machine's. */
export type Foreign = {
  readonly outfile: string
  readonly target: Bun.Build.CompileTarget
  /** The runtime for it. */
  readonly executablePath: string
  /** The package with the password library for it, and where that was unpacked. */
  readonly addon: { readonly name: string; readonly folder: string }
  /** What `recordStart` has written on this system: the code is the same there. */
  readonly bytecodeOrder: string
}

/** Compiles for another system. */
export const compileFor = ({ outfile, bytecodeOrder, addon, ...foreign }: Foreign): Promise<void> =>
  compile(outfile, bytecodeOrder, { ...foreign, plugin: withAddon(addon) })

type Elsewhere = Pick<Foreign, "target" | "executablePath"> & { readonly plugin: BunPlugin }

/**
 * The one addon that is meant is embedded, with its package.json, whose version the library asks
 * for; of another system's nothing is.
 */
export const withAddon = ({ name, folder }: Foreign["addon"]): BunPlugin => ({
  name: "with-addon",
  setup: (build) => {
    const described = join(folder, "package.json")
    const { main } = JSON.parse(readFileSync(described, "utf8"))
    const embedded = new Map([
      [name, join(folder, main)],
      [`${name}/package.json`, described],
    ])
    build.onResolve({ filter: /^@node-rs\/argon2-/ }, ({ path }) => {
      const file = embedded.get(path)
      return file === undefined ? { path, external: true } : { path: file }
    })
  },
})

async function compile(
  outfile: string,
  bytecodeOrder?: string,
  elsewhere?: Elsewhere,
): Promise<void> {
  const { plugin, ...foreign } = elsewhere ?? {}
  const built = await Bun.build({
    // A worker is loaded by path at run time: only an entry point of its own is embedded.
    entrypoints: ["src/main.ts", ...workers].map((file) => join(root, file)),
    root: join(root, "src"),
    format: "esm",
    minify: true,
    bytecode: true,
    // What is nested deeper is compiled when it is first called: 4 MB less to download, and neither
    // a start, memory nor the first requests differ measurably.
    bytecodeDepth: 1,
    // What start-up does without (pages, React) stays unread until somebody asks for it.
    splitting: true,
    define: { "process.env.NODE_ENV": '"production"' },
    // Elysia asks for it where a schema wants a file of a kind, and none of ours does.
    external: ["file-type"],
    plugins: [withoutUnread, ...(plugin ? [plugin] : [])],
    throw: false,
    compile: {
      outfile,
      ...foreign,
      bytecodeOrder: bytecodeOrder ?? false,
      // Else the binary would read .env, and run what a bunfig.toml in the current folder preloads.
      autoloadDotenv: false,
      autoloadBunfig: false,
    },
  })
  if (!built.success) throw new Error(`the build failed:\n${built.logs.join("\n")}`)
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`

if (import.meta.main) {
  const isCurrent = existsSync(binary) && isFresh(mark, inputs)
  if (!isCurrent || !process.argv.includes("--if-stale")) await build()
}
