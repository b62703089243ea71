import { mkdir, readdir, readFile, rm } from "node:fs/promises"
import { basename, dirname, join, relative } from "node:path"

const home = join(import.meta.dirname, "console")
const generated = join(import.meta.dirname, "..", "src", "gen")

/** The languages of the console; each has a file of all that its pages say, but for the first. */
const languages = ["en", "de"] as const

type Texts = Readonly<Record<string, string>>

/**
 * Writes what each page of the console says into files of its own, and src/gen/console-texts.ts,
 * which loads them by the name of the page: the texts that its sources name, also those that are
 * loaded later.
 */
export async function writePageTexts(): Promise<void> {
  const folder = join(generated, "console-texts")
  await mkdir(folder, { recursive: true })
  const written = new Set<string>()
  const files = await readdir(home, { recursive: true })
  const pages = files.filter((file) => file.endsWith("-page.tsx")).toSorted()
  for (const language of languages) {
    const all: Texts = await Bun.file(join(home, "shell/texts", `pages.${language}.json`)).json()
    for (const page of pages) {
      const files = [...(await sourcesOf(join(home, page)))]
      const own = files.filter(([path]) => !/^(shell|list|form)\//.test(relative(home, path)))
      const named = namedIn({ all: textOf(files), own: textOf(own) })
      const said = Object.entries(all).filter(([key]) => named.some((name) => name(key)))
      const name = `${nameOf(page)}.${language}.json`
      await writeChanged(join(folder, name), JSON.stringify(Object.fromEntries(said)))
      written.add(name)
    }
  }
  for (const name of await readdir(folder)) {
    if (!written.has(name)) await rm(join(folder, name))
  }
  const loads = (page: string) =>
    languages.map(
      (language) => `${language}: () => import("./console-texts/${nameOf(page)}.${language}.json")`,
    )
  const rows = pages.map((page) => `  "${nameOf(page)}": { ${loads(page).join(", ")} },`)
  const source = `// Written by ui/page-texts.ts; never edited.\n\n/** Loads what a page says. */
export const pageTexts = {\n${rows.join("\n")}\n} as const\n`
  await writeChanged(join(generated, "console-texts.ts"), source)
}

/** Leaves a file alone that has this content already: others may be reading it. */
async function writeChanged(path: string, content: string): Promise<void> {
  const file = Bun.file(path)
  if (!(await file.exists()) || (await file.text()) !== content) await Bun.write(path, content)
}

const nameOf = (page: string) => basename(page, ".tsx")

const textOf = (sources: readonly (readonly [string, string])[]) =>
  sources.map(([, text]) => text).join("\n")

/**
 * Keys are written out, "users.title", or put together behind what they begin with, as in
 * `users.${state}` or where "users.bulk" is handed on. A page also hands whole families to what
 * lists and forms are made of: "groups".
 */
function namedIn({ all, own }: Sources): readonly ((key: string) => boolean)[] {
  const begun = [...all.matchAll(/`([a-z_]+\.[\w.]*)\$\{/g)].map(([, start = ""]) => start)
  const handed = [...all.matchAll(/["`]([a-z_]+\.[\w.]+)["`]/g)].map(([, name = ""]) => name)
  const given = all.match(/family="[a-z_]+"/g)?.join() ?? ""
  const families = [...(own + given).matchAll(/"([a-z_]+)"/g)].map(([, name = ""]) => name)
  const whole = new Set([...handed, ...families])
  return [
    (key) => whole.has(key),
    (key) => [...key.matchAll(/\./g)].some(({ index }) => whole.has(key.slice(0, index))),
    (key) => begun.some((start) => key.startsWith(start)),
  ]
}

/** What a page is made of, and without what is made for every page. */
type Sources = { readonly all: string; readonly own: string }

/**
 * A file with all of the console that it imports, at once or later, unless only what is needed
 * `atOnce` is asked for; of a door what comes through it by name, and nothing else behind it.
 */
export async function sourcesOf(
  path: string,
  { atOnce = false, all = new Map<string, string>() } = {},
): Promise<ReadonlyMap<string, string>> {
  if (all.has(path)) return all
  const text = await readFile(path, "utf8")
  all.set(path, text)
  for (const [, names = "", early, late] of text.matchAll(importing)) {
    const file = join(dirname(path), early ?? late ?? "")
    if (!file.startsWith(home) || (late && atOnce)) continue
    const behind = basename(file) === "index.ts" ? await behindDoor(file, namesIn(names)) : [file]
    for (const each of behind) await sourcesOf(each, { atOnce, all })
  }
  return all
}

const importing = new RegExp(
  [
    String.raw`^(?:import|export) (?!type)\{([^}]*)\} from "(\.[^"]+\.tsx?)"`,
    String.raw`import\("(\.[^"]+\.tsx?)"\)`,
  ].join("|"),
  "gms",
)

/** The values among the names of an import or export, without what they are called here. */
const namesIn = (list: string): readonly string[] =>
  list.split(",").flatMap((name) => /^\s*(?!type )(\w+)/.exec(name)?.[1] ?? [])

/** The files that a door has these names from; the door itself, where it is none. */
async function behindDoor(door: string, wanted: readonly string[]): Promise<readonly string[]> {
  const exporting = /^export \{([^}]*)\} from "(\.[^"]+)"/gm
  const rows = [...(await readFile(door, "utf8")).matchAll(exporting)]
  if (rows.length === 0) return [door]
  return rows
    .filter(([, names = ""]) => namesIn(names).some((name) => wanted.includes(name)))
    .map(([, , file = ""]) => join(dirname(door), file))
}
