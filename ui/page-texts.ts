import { mkdir, readdir, readFile, rm } from "node:fs/promises"
import { basename, dirname, join, relative } from "node:path"

const home = join(import.meta.dir, "console")
const generated = join(import.meta.dir, "..", "src", "gen")

/** The languages of the console; each has a file of all that its pages say, but for the first. */
const languages = ["en", "de"] as const

type Texts = Readonly<Record<string, string>>

/**
 * Writes what each page of the console says into files of its own, and src/gen/console-texts.ts,
 * which loads them by the name of the page: the families of texts ("users.…") that its sources
 * name, also those that are loaded later.
 */
export async function writePageTexts(): Promise<void> {
  const folder = join(generated, "console-texts")
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const files = await readdir(home, { recursive: true })
  const pages = files.filter((file) => file.endsWith("-page.tsx")).toSorted()
  for (const language of languages) {
    const all: Texts = await Bun.file(join(home, "shell/texts", `pages.${language}.json`)).json()
    for (const page of pages) {
      const files = [...(await sourcesOf(join(home, page)))]
      const own = files.filter(([path]) => !/^(shell|list|form)\//.test(relative(home, path)))
      const [texts, ownTexts] = [files, own].map((some) => some.map(([, text]) => text).join("\n"))
      const sources = { all: texts ?? "", own: ownTexts ?? "" }
      const said = Object.entries(all).filter(([key]) => isNamed(key, sources))
      const file = join(folder, `${nameOf(page)}.${language}.json`)
      await Bun.write(file, JSON.stringify(Object.fromEntries(said)))
    }
  }
  const loads = (page: string) =>
    languages.map(
      (language) => `${language}: () => import("./console-texts/${nameOf(page)}.${language}.json")`,
    )
  const rows = pages.map((page) => `  "${nameOf(page)}": { ${loads(page).join(", ")} },`)
  const source = `// Written by ui/page-texts.ts; never edited.\n\n/** Loads what a page says. */
export const pageTexts = {\n${rows.join("\n")}\n} as const\n`
  await Bun.write(join(generated, "console-texts.ts"), source)
}

const nameOf = (page: string) => basename(page, ".tsx")

/**
 * Keys are written out or put together behind their family: "users.title", `users.${state}`. A page
 * also hands families to what lists and forms are made of: "groups".
 */
function isNamed(key: string, { all, own }: Sources): boolean {
  const [family] = key.split(".")
  return new RegExp(`["\`]${family}\\.`).test(all) || own.includes(`"${family}"`)
}

/** What a page is made of, and without what is made for every page. */
type Sources = { readonly all: string; readonly own: string }

/** A file with all of the console that it imports, at once or later. */
async function sourcesOf(
  path: string,
  all = new Map<string, string>(),
): Promise<ReadonlyMap<string, string>> {
  if (all.has(path)) return all
  const text = await readFile(path, "utf8")
  all.set(path, text)
  const imported =
    /^(?:import|export) (?!type)[^;]*?from "(\.[^"]+\.tsx?)"|import\("(\.[^"]+)"\)/gms
  for (const [, early, late] of text.matchAll(imported)) {
    const file = join(dirname(path), early ?? late ?? "")
    if (file.startsWith(home)) await sourcesOf(file, all)
  }
  return all
}
