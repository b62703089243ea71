import { mkdir, readdir, readFile, rm } from "node:fs/promises"
import { basename, extname, join } from "node:path"
import { brotliCompressSync, constants } from "node:zlib"
import { type Plugin, rolldown } from "rolldown"
import { writePageTexts } from "./page-texts.ts"

const ui = import.meta.dir
const dist = join(ui, "dist")
const generated = join(ui, "..", "src", "gen", "ui-assets.ts")

const types: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
}

/**
 * Bundles everything the browser loads into ui/dist under names that carry their content's hash,
 * and writes src/gen/ui-assets.ts, through which the server embeds it. Answers the paths of what a
 * page loads first.
 */
export async function buildUi() {
  await mkdir(dist, { recursive: true })
  await writePageTexts()
  const { entry: consoleJs, shell, chunks } = await split("console/main.tsx")
  const entry = {
    css: await bundle("kit/kit.css"),
    consoleCss: await bundle("kit/console.css"),
    pageJs: await bundle("login/page.ts", "iife"),
    consoleJs,
    consoleShell: shell,
    readerCss: await bundle("openapi/reader.css"),
    readerJs: await bundle("openapi/reader.ts", "iife"),
    icon: await hashed("kit/mark.svg"),
  }
  await writeModule(entry, chunks)
  await removeStale([...Object.values(entry), ...chunks])
  return entry
}

type Split = {
  readonly entry: string
  /** What the entry does nothing without. */
  readonly shell: string
  readonly chunks: readonly string[]
}

/**
 * Bundles an entry point whose imports at run time are files of their own, loaded when needed; what
 * it imports at once is one file, however much of it others import too.
 */
async function split(entry: string): Promise<Split> {
  // Only now: it reads src/gen, and what is written there later its process does not find.
  const { pruneBook } = await import("../scripts/prune-book.ts")
  const bundle = await rolldown({
    input: join(ui, entry),
    platform: "browser",
    transform: { define: { "process.env.NODE_ENV": '"production"' } },
    // Who enters through a door gets what they ask for, and not all that is behind it.
    treeshake: { moduleSideEffects: [{ test: /\/ui\/.*\/index\.ts$/, sideEffects: false }] },
    plugins: [await pruneBook(await textsOf(["console", "kit"])), texts],
    // "use client" says nothing where nothing runs on a server.
    checks: { bundlerTimings: false },
    onLog: (level, log, tell) => log.code === "MODULE_LEVEL_DIRECTIVE" || tell(level, log),
  })
  const { output } = await bundle.write({
    dir: dist,
    minify: true,
    hashCharacters: "base36",
    entryFileNames: "[name]-[hash].js",
    chunkFileNames: "[name]-[hash].js",
    codeSplitting: { groups: [{ name: "shell", tags: ["$initial"] }] },
  })
  await bundle.close()
  const files = output.filter((file) => file.type === "chunk")
  const pathOf = (found: (file: (typeof files)[number]) => boolean) => {
    const file = files.find(found)
    if (!file) throw new Error(`Bundling ${entry} gave no file.`)
    return served(file.fileName)
  }
  const paths = {
    entry: pathOf((file) => file.isEntry),
    shell: pathOf((file) => file.name === "shell"),
  }
  const chunks = files.map((file) => served(file.fileName))
  return { ...paths, chunks: chunks.filter((path) => !Object.values(paths).includes(path)) }
}

/** Texts are looked up by their keys alone: they come once, and not again as a name for each. */
const texts: Plugin = {
  name: "texts",
  load: {
    filter: { id: /\.json$/ },
    handler: async (path) => ({
      code: `export default ${await readFile(path, "utf8")}`,
      moduleType: "js",
    }),
  },
}

/** What the sources in these folders say, by their paths. */
async function textsOf(folders: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const lists = folders.map(async (folder) => {
    const paths = await readdir(join(ui, folder), { recursive: true })
    const sources = paths
      .filter((path) => /\.tsx?$/.test(path))
      .map((path) => join(ui, folder, path))
    return Promise.all(sources.map(async (path) => [path, await readFile(path, "utf8")] as const))
  })
  return new Map((await Promise.all(lists)).flat())
}

/** Bundles one entry point and answers the path that serves it. */
async function bundle(entry: string, format: "esm" | "iife" = "esm"): Promise<string> {
  const wanted = entry.endsWith(".css") ? ".css" : ".js"
  const result = await Bun.build({
    entrypoints: [join(ui, entry)],
    outdir: dist,
    target: "browser",
    format,
    minify: true,
    naming: "[name]-[hash].[ext]",
    define: { "process.env.NODE_ENV": '"production"' },
  })
  const output = result.outputs.find(({ path }) => path.endsWith(wanted))
  if (!output) throw new Error(`Bundling ${entry} gave no ${wanted} file.`)
  return served(basename(output.path))
}

/** Takes one file as it is, under a name with its hash; answers the path that serves it. */
async function hashed(source: string): Promise<string> {
  const content = await Bun.file(join(ui, source)).text()
  const hash = Bun.hash(content).toString(36).slice(0, 8)
  const file = basename(source).replace(".", `-${hash}.`)
  await Bun.write(join(dist, file), content)
  return served(file)
}

const served = (file: string) => `/ui/assets/${file}`

const fileOf = (path = "") => basename(path)

async function writeModule(
  entry: Readonly<Record<string, string>>,
  chunks: readonly string[],
): Promise<void> {
  const names = Object.keys(entry)
  const files = { ...entry, ...Object.fromEntries(chunks.map((path, at) => [`chunk${at}`, path])) }
  await Promise.all(Object.values(files).map(compress))
  const imports = Object.entries(files).map(
    ([name, path]) =>
      `import ${name} from "../../ui/dist/${fileOf(path)}.br" with { type: "file" }`,
  )
  const rows = Object.entries(files).map(([name, path]) => {
    const type = types[extname(path)] ?? "application/octet-stream"
    return `  "${path}": { br: String(${name}), type: "${type}" },`
  })
  const named = names.map((name) => `  ${name}: "${entry[name]}",`)
  const source = `// Written by ui/build.ts; never edited.
// @ts-nocheck: what \`type: "file"\` imports has no types of its own; the exports below have.
${imports.join("\n")}

/** \`br\` is where the content lies, compressed with brotli. */
export type UiAsset = { readonly br: string; readonly type: string }

/** The embedded files by the path that serves them; their names change with their content. */
export const uiAssets: Readonly<Record<string, UiAsset>> = {
${rows.join("\n")}
}

/** What a page loads first. */
export const uiEntry = {
${named.join("\n")}
} as const
`
  await mkdir(join(generated, ".."), { recursive: true })
  await Bun.write(generated, source)
}

/** As small as it gets takes seconds, so it is done here and not for the first who asks. */
async function compress(path: string): Promise<void> {
  const content = await Bun.file(join(dist, fileOf(path))).bytes()
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
  await Bun.write(join(dist, `${fileOf(path)}.br`), brotliCompressSync(content, { params }))
}

/** Last, so that a server which runs from the sources never misses a file. */
async function removeStale(paths: readonly string[]): Promise<void> {
  const current = new Set(paths.flatMap((path) => [fileOf(path), `${fileOf(path)}.br`]))
  for (const file of await readdir(dist)) {
    if (!current.has(file)) await rm(join(dist, file))
  }
}

if (import.meta.main) await buildUi()
