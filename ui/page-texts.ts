import { mkdir, readdir, readFile, rm } from "node:fs/promises"
import { basename, dirname, join, relative } from "node:path"

const consoleDir = join(import.meta.dirname, "console")
const generatedDir = join(import.meta.dirname, "..", "src", "gen")

/**
 * The languages of the console, with one file each for all texts of its pages beyond the first
 * view.
 */
const languages = ["en", "de"] as const

type TextsByKey = Readonly<Record<string, string>>

/**
 * Writes the texts of each console page to a separate file, and src/gen/console-texts.ts, which
 * loads them by page name. Includes the texts in all sources of the page, also those loaded later.
 */
export async function writePageTexts(): Promise<void> {
  const folder = join(generatedDir, "console-texts")
  await mkdir(folder, { recursive: true })
  const written = new Set<string>()
  const files = await readdir(consoleDir, { recursive: true })
  const pages = files.filter((file) => file.endsWith("-page.tsx")).toSorted()
  for (const language of languages) {
    const all: TextsByKey = await Bun.file(
      join(consoleDir, "shell/texts", `pages.${language}.json`),
    ).json()
    for (const page of pages) {
      const files = [...(await collectSources(join(consoleDir, page)))]
      const own = files.filter(([path]) => !/^(shell|list|form)\//.test(relative(consoleDir, path)))
      const named = findKeyMatchers({ all: joinSources(files), own: joinSources(own) })
      const pageTexts = Object.entries(all).filter(([key]) => named.some((name) => name(key)))
      const name = `${pageName(page)}.${language}.json`
      await writeChanged(join(folder, name), JSON.stringify(Object.fromEntries(pageTexts)))
      written.add(name)
    }
  }
  for (const name of await readdir(folder)) {
    if (!written.has(name)) await rm(join(folder, name))
  }
  const loads = (page: string) =>
    languages.map(
      (language) =>
        `${language}: () => import("./console-texts/${pageName(page)}.${language}.json")`,
    )
  const rows = pages.map((page) => `  "${pageName(page)}": { ${loads(page).join(", ")} },`)
  const source = `// Written by ui/page-texts.ts; never edited.\n\n/** Loads the texts of a page. */
export const pageTexts = {\n${rows.join("\n")}\n} as const\n`
  await writeChanged(join(generatedDir, "console-texts.ts"), source)
}

/** Skips a file whose content is unchanged, because others may be reading it. */
async function writeChanged(path: string, content: string): Promise<void> {
  const file = Bun.file(path)
  if (!(await file.exists()) || (await file.text()) !== content) await Bun.write(path, content)
}

const pageName = (page: string) => basename(page, ".tsx")

const joinSources = (sources: readonly (readonly [string, string])[]) =>
  sources.map(([, text]) => text).join("\n")

/**
 * Keys are literals such as "users.title", or composed from a prefix, as in `users.${state}` or
 * where "users.bulk" is passed on. Pages also pass prefixes such as "groups" to lists and forms.
 */
function findKeyMatchers({ all, own }: Sources): readonly ((key: string) => boolean)[] {
  const prefixes = [...all.matchAll(/`([a-z_]+\.[\w.]*)\$\{/g)].map(([, start = ""]) => start)
  const passedKeys = [...all.matchAll(/["`]([a-z_]+\.[\w.]+)["`]/g)].map(([, name = ""]) => name)
  const familyTexts = all.match(/family="[a-z_]+"/g)?.join() ?? ""
  const families = [...(own + familyTexts).matchAll(/"([a-z_]+)"/g)].map(([, name = ""]) => name)
  const whole = new Set([...passedKeys, ...families])
  return [
    (key) => whole.has(key),
    (key) => [...key.matchAll(/\./g)].some(({ index }) => whole.has(key.slice(0, index))),
    (key) => prefixes.some((start) => key.startsWith(start)),
  ]
}

/** Sources of a page, with and without those shared by every page. */
type Sources = { readonly all: string; readonly own: string }

/**
 * A source file with all console files it imports, statically or dynamically; with `atOnce`, only
 * static imports. Of index files, only the imported names are followed.
 */
export async function collectSources(
  path: string,
  { atOnce = false, all = new Map<string, string>() } = {},
): Promise<ReadonlyMap<string, string>> {
  if (all.has(path)) return all
  const text = await readFile(path, "utf8")
  all.set(path, text)
  for (const [, names = "", early, late] of text.matchAll(importPattern)) {
    const file = join(dirname(path), early ?? late ?? "")
    if (!file.startsWith(consoleDir) || (late && atOnce)) continue
    const behind =
      basename(file) === "index.ts"
        ? await resolveIndexImports(file, parseImportedNames(names))
        : [file]
    for (const each of behind) await collectSources(each, { atOnce, all })
  }
  return all
}

const importPattern = new RegExp(
  [
    String.raw`^(?:import|export) (?!type)\{([^}]*)\} from "(\.[^"]+\.tsx?)"`,
    String.raw`import\("(\.[^"]+\.tsx?)"\)`,
  ].join("|"),
  "gms",
)

/** The value names in an import or export list, without aliases. */
const parseImportedNames = (list: string): readonly string[] =>
  list.split(",").flatMap((name) => /^\s*(?!type )(\w+)/.exec(name)?.[1] ?? [])

/**
 * The files from which an index file re-exports these names; the file itself if it isn't an index.
 */
async function resolveIndexImports(
  door: string,
  importedNames: readonly string[],
): Promise<readonly string[]> {
  const exporting = /^export \{([^}]*)\} from "(\.[^"]+)"/gm
  const rows = [...(await readFile(door, "utf8")).matchAll(exporting)]
  if (rows.length === 0) return [door]
  return rows
    .filter(([, names = ""]) =>
      parseImportedNames(names).some((name) => importedNames.includes(name)),
    )
    .map(([, , file = ""]) => join(dirname(door), file))
}
