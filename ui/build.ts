import { mkdir, readdir, readFile, rm } from "node:fs/promises"
import { basename, extname, join } from "node:path"
import { brotliCompressSync, constants } from "node:zlib"
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
 * and writes src/gen/ui-assets.ts, through which the server embeds it.
 */
export async function buildUi(): Promise<void> {
  await mkdir(dist, { recursive: true })
  await writePageTexts()
  const { entry: consoleJs, chunks } = await split("console/main.tsx")
  const entry = {
    css: await bundle("kit/kit.css"),
    consoleCss: await bundle("kit/console.css"),
    pageJs: await bundle("login/page.ts", "iife"),
    consoleJs,
    readerCss: await bundle("openapi/reader.css"),
    readerJs: await bundle("openapi/reader.ts", "iife"),
    icon: await hashed("kit/mark.svg"),
  }
  await writeModule(entry, chunks)
  await removeStale([...Object.values(entry), ...chunks])
}

/** Bundles an entry point whose imports at run time are files of their own, loaded when needed. */
async function split(entry: string): Promise<{ entry: string; chunks: readonly string[] }> {
  // Only now: it reads src/gen, and what is written there later its process does not find.
  const { pruneBook } = await import("../scripts/prune-book.ts")
  const result = await Bun.build({
    entrypoints: [join(ui, entry)],
    outdir: dist,
    target: "browser",
    splitting: true,
    minify: true,
    naming: { entry: "[name]-[hash].[ext]", chunk: "[name]-[hash].[ext]" },
    define: { "process.env.NODE_ENV": '"production"' },
    plugins: [pruneBook(await textsOf(["console", "kit"]))],
  })
  const main = result.outputs.find(({ kind }) => kind === "entry-point")
  if (!main) throw new Error(`Bundling ${entry} gave no file.`)
  const chunks = result.outputs.filter(({ kind }) => kind === "chunk")
  return {
    entry: served(basename(main.path)),
    chunks: chunks.map(({ path }) => served(basename(path))),
  }
}

/** What the sources in these folders say. */
async function textsOf(folders: readonly string[]): Promise<readonly string[]> {
  const lists = folders.map(async (folder) => {
    const paths = await readdir(join(ui, folder), { recursive: true })
    const sources = paths.filter((path) => /\.tsx?$/.test(path))
    return Promise.all(sources.map((path) => readFile(join(ui, folder, path), "utf8")))
  })
  return (await Promise.all(lists)).flat()
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
