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
import { fingerprint, matchesFingerprint, root, runTimed } from "./step.ts"

const markFile = "dist/.made-from"
const inputs = [
  "proto",
  "src",
  "ui",
  "scripts/build.ts",
  "scripts/openapi.ts",
  "scripts/prune-book.ts",
  "package-lock.json",
]

/** Maximum size of the download; a larger file contains something unintended. */
const maxSize = 131_000_000

/** The name of the compiled binary on this machine. */
export const binary = join(root, "dist", process.platform === "win32" ? "latchkey.exe" : "latchkey")

/** Generates code, bundles the pages and compiles everything into `binary`. */
export async function build(): Promise<void> {
  await prepare()
  await compileAll()
}

/**
 * Compiles the output of `prepare` into `binary`. Writes nothing that a parallel type check reads.
 */
export async function compileAll(): Promise<void> {
  const isUpToDate = fingerprint(inputs)
  mkdirSync(join(root, "dist"), { recursive: true })
  // The rename is atomic and works while the old binary is running.
  const newBinary = `${binary}.${process.pid}`
  const order = `${newBinary}.order`
  try {
    await runTimed("Compiling the binary", () => compile(newBinary))
    await runTimed("Recording the modules loaded at start", () => recordStart(newBinary, order))
    await runTimed("Compiling in that order", () => compile(newBinary, order))
    const size = statSync(newBinary).size
    if (size > maxSize) {
      throw new Error(
        `the binary has ${formatMegabytes(size)}, more than the limit of ` +
          `${formatMegabytes(maxSize)}`,
      )
    }
    renameSync(newBinary, binary)
    console.log(`dist/latchkey  ${formatMegabytes(size)}`)
  } finally {
    for (const file of [newBinary, order]) rmSync(file, { force: true })
  }
  writeFileSync(join(root, markFile), isUpToDate)
}

const workers = [
  "src/domain/action/script/script-worker.ts",
  "src/domain/asset/svg-worker.ts",
  "src/store/log/checkpoint-worker.ts",
  "src/store/inspection-worker.ts",
  "src/store/search/reader-worker.ts",
]

/** Library files that are never used, and their replacements. */
const unusedFiles: readonly (readonly [file: RegExp, contents: string])[] = [
  // The push gateway and sliding quantiles are unused.
  [/[\\/]prom-client[\\/]lib[\\/](pushgateway|summary)\.js$/, "module.exports = class {}"],
  // Would attach trace IDs to metrics, which is never enabled.
  [/[\\/]@opentelemetry[\\/]api[\\/]dist[\\/]index\.cjs$/, ""],
  // xml-encryption gets parsed documents, so its own parser is unused.
  [/[\\/]xml-encryption[\\/]node_modules[\\/]@xmldom[\\/]xmldom[\\/]lib[\\/]index\.js$/, ""],
  // Pages are rendered as a whole, by another file; this one streams them.
  [/[\\/]react-dom[\\/]cjs[\\/]react-dom-server\.bun\.production\.js$/, "exports.version = ''"],
]

const replaceUnusedPlugin: BunPlugin = {
  name: "without-unread",
  setup: (build) => {
    for (const [filter, contents] of unusedFiles) {
      build.onLoad({ filter }, () => ({ contents, loader: "js" }))
    }
  },
}

/** A system other than this machine's. */
export type ForeignTarget = {
  readonly outfile: string
  readonly target: Bun.Build.CompileTarget
  /** The runtime for that system. */
  readonly executablePath: string
  /** The password library's package for that system, and the folder it was unpacked to. */
  readonly addon: { readonly name: string; readonly folder: string }
  /** The result of `recordStart` on this system: the code is the same. */
  readonly bytecodeOrder: string
}

/** Compiles for another system. */
export const compileFor = ({
  outfile,
  bytecodeOrder,
  addon,
  ...foreign
}: ForeignTarget): Promise<void> =>
  compile(outfile, bytecodeOrder, { ...foreign, plugin: addonPlugin(addon) })

type ForeignBuild = Pick<ForeignTarget, "target" | "executablePath"> & {
  readonly plugin: BunPlugin
}

/**
 * Embeds the one addon for the system, with its package.json, whose version the library checks;
 * addons of other systems are left out.
 */
export const addonPlugin = ({ name, folder }: ForeignTarget["addon"]): BunPlugin => ({
  name: "with-addon",
  setup: (build) => {
    const api = join(folder, "package.json")
    const { main: mainFile } = JSON.parse(readFileSync(api, "utf8"))
    const embedded = new Map([
      [name, join(folder, mainFile)],
      [`${name}/package.json`, api],
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
  elsewhere?: ForeignBuild,
): Promise<void> {
  const { plugin, ...foreign } = elsewhere ?? {}
  const built = await Bun.build({
    // A worker is loaded by path at run time: only a separate entry point is embedded.
    entrypoints: ["src/main.ts", ...workers].map((file) => join(root, file)),
    root: join(root, "src"),
    format: "esm",
    minify: true,
    bytecode: true,
    // Deeper functions are compiled on their first call: the download is 4 MB smaller, without a
    // measurable difference in start time, memory or first requests.
    bytecodeDepth: 1,
    // Code that a start does not need (pages, React) is only read on demand.
    splitting: true,
    define: { "process.env.NODE_ENV": '"production"' },
    // Elysia loads it for schemas of typed files, which are not used.
    external: ["file-type"],
    plugins: [replaceUnusedPlugin, ...(plugin ? [plugin] : [])],
    throw: false,
    compile: {
      outfile,
      ...foreign,
      bytecodeOrder: bytecodeOrder ?? false,
      // Otherwise the binary would read .env, and run the preloads of a bunfig.toml in the current
      // folder.
      autoloadDotenv: false,
      autoloadBunfig: false,
    },
  })
  if (!built.success) throw new Error(`the build failed:\n${built.logs.join("\n")}`)
}

const formatMegabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`

if (import.meta.main) {
  const isCurrent = existsSync(binary) && matchesFingerprint(markFile, inputs)
  if (!isCurrent || !process.argv.includes("--if-stale")) await build()
}
