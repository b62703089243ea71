import { mkdir, readdir, readFile, rm } from "node:fs/promises"
import { basename, extname, join } from "node:path"
import { brotliCompressSync, constants } from "node:zlib"
import { type Plugin, rolldown } from "rolldown"
import { writePageTexts } from "./page-texts.ts"

const uiDir = import.meta.dir
const distDir = join(uiDir, "dist")
const generated = join(uiDir, "..", "src", "gen", "ui-assets.ts")

const contentTypes: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
}

/**
 * Bundles all browser files into ui/dist under content-hashed names, and writes
 * src/gen/ui-assets.ts, through which the server embeds them. Returns the paths of the files that
 * pages load first.
 */
export async function buildUi() {
  await mkdir(distDir, { recursive: true })
  await writePageTexts()
  const { entry: consoleJs, shell, chunks } = await bundleWithChunks("console/main.tsx")
  const entry = {
    css: await bundle("kit/kit.css"),
    consoleCss: await bundle("kit/console.css"),
    pageJs: await bundle("login/page.ts", "iife"),
    consoleJs,
    consoleShell: shell,
    readerCss: await bundle("openapi/reader.css"),
    readerJs: await bundle("openapi/reader.ts", "iife"),
    icon: await copyWithHash("kit/mark.svg"),
  }
  await writeAssetsModule(entry, chunks)
  await removeStale([...Object.values(entry), ...chunks])
  return entry
}

type SplitBundle = {
  readonly entry: string
  /** The chunk that the entry imports immediately. */
  readonly shell: string
  readonly chunks: readonly string[]
}

/**
 * Bundles an entry point. Dynamic imports become separate files; all static imports of the entry
 * are in one file.
 */
async function bundleWithChunks(entry: string): Promise<SplitBundle> {
  // Imported late, because it reads src/gen, and files written there later would not be found.
  const { pruneBook } = await import("../scripts/prune-book.ts")
  const bundle = await rolldown({
    input: join(uiDir, entry),
    platform: "browser",
    transform: { define: { "process.env.NODE_ENV": '"production"' } },
    // Index files re-export only, so unused exports can be dropped.
    treeshake: { moduleSideEffects: [{ test: /\/ui\/.*\/index\.ts$/, sideEffects: false }] },
    plugins: [await pruneBook(await readSources(["console", "kit"])), textsPlugin],
    // "use client" has no meaning without server components.
    checks: { bundlerTimings: false },
    onLog: (level, log, defaultHandler) =>
      log.code === "MODULE_LEVEL_DIRECTIVE" || defaultHandler(level, log),
  })
  const { output } = await bundle.write({
    dir: distDir,
    minify: true,
    hashCharacters: "base36",
    entryFileNames: "[name]-[hash].js",
    chunkFileNames: "[name]-[hash].js",
    codeSplitting: { groups: [{ name: "shell", tags: ["$initial"] }] },
  })
  await bundle.close()
  const files = output.filter((file) => file.type === "chunk")
  const pathOf = (isMatch: (file: (typeof files)[number]) => boolean) => {
    const file = files.find(isMatch)
    if (!file) throw new Error(`bundling ${entry} produced no output file`)
    return servedPath(file.fileName)
  }
  const paths = {
    entry: pathOf((file) => file.isEntry),
    shell: pathOf((file) => file.name === "shell"),
  }
  const chunks = files.map((file) => servedPath(file.fileName))
  return { ...paths, chunks: chunks.filter((path) => !Object.values(paths).includes(path)) }
}

/** Texts are looked up by key, so they need no named exports. */
const textsPlugin: Plugin = {
  name: "texts",
  load: {
    filter: { id: /\.json$/ },
    handler: async (path) => ({
      code: `export default ${await readFile(path, "utf8")}`,
      moduleType: "js",
    }),
  },
}

/** Contents of the source files in these folders, by path. */
async function readSources(folders: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const lists = folders.map(async (folder) => {
    const paths = await readdir(join(uiDir, folder), { recursive: true })
    const sources = paths
      .filter((path) => /\.tsx?$/.test(path))
      .map((path) => join(uiDir, folder, path))
    return Promise.all(sources.map(async (path) => [path, await readFile(path, "utf8")] as const))
  })
  return new Map((await Promise.all(lists)).flat())
}

/** Bundles one entry point and returns its URL path. */
async function bundle(entry: string, format: "esm" | "iife" = "esm"): Promise<string> {
  const extension = entry.endsWith(".css") ? ".css" : ".js"
  const result = await Bun.build({
    entrypoints: [join(uiDir, entry)],
    outdir: distDir,
    target: "browser",
    format,
    minify: true,
    naming: "[name]-[hash].[ext]",
    define: { "process.env.NODE_ENV": '"production"' },
  })
  const output = result.outputs.find(({ path }) => path.endsWith(extension))
  if (!output) throw new Error(`bundling ${entry} produced no ${extension} file`)
  return servedPath(basename(output.path))
}

/** Copies a file under a content-hashed name and returns its URL path. */
async function copyWithHash(source: string): Promise<string> {
  const content = await Bun.file(join(uiDir, source)).text()
  const hash = Bun.hash(content).toString(36).slice(0, 8)
  const file = basename(source).replace(".", `-${hash}.`)
  await Bun.write(join(distDir, file), content)
  return servedPath(file)
}

const servedPath = (file: string) => `/ui/assets/${file}`

const fileNameOf = (path = "") => basename(path)

async function writeAssetsModule(
  entry: Readonly<Record<string, string>>,
  chunks: readonly string[],
): Promise<void> {
  const names = Object.keys(entry)
  const files = { ...entry, ...Object.fromEntries(chunks.map((path, at) => [`chunk${at}`, path])) }
  await Promise.all(Object.values(files).map(compress))
  const imports = Object.entries(files).map(
    ([name, path]) =>
      `import ${name} from "../../ui/dist/${fileNameOf(path)}.br" with { type: "file" }`,
  )
  const rows = Object.entries(files).map(([name, path]) => {
    const type = contentTypes[extname(path)] ?? "application/octet-stream"
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

/** Maximum compression takes seconds, so it is done at build time. */
async function compress(path: string): Promise<void> {
  const content = await Bun.file(join(distDir, fileNameOf(path))).bytes()
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
  await Bun.write(join(distDir, `${fileNameOf(path)}.br`), brotliCompressSync(content, { params }))
}

/** Runs last, so that a server running from the sources always finds its files. */
async function removeStale(paths: readonly string[]): Promise<void> {
  const current = new Set(paths.flatMap((path) => [fileNameOf(path), `${fileNameOf(path)}.br`]))
  for (const file of await readdir(distDir)) {
    if (!current.has(file)) await rm(join(distDir, file))
  }
}

if (import.meta.main) await buildUi()
