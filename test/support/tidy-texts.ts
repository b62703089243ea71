import { readFileSync } from "node:fs"
import { join } from "node:path"

/** A wording that native writers of the field avoid, and what to write instead. */
type Avoided = { readonly pattern: RegExp; readonly instead: string }

/** British spellings: stems with any ending, and verbs in -ise with theirs. */
const british = [
  "(analy|authori|capitali|categori|customi|finali|initiali|minimi|normali|optimi|organi)s",
  "(prioriti|reali|recogni|seriali|speciali|summari|synchroni|utili)s",
]
  .map((stem) => `${stem}(e[drs]?|ing|ations?)\\b`)
  .concat("behaviour|catalogue|centre|colour|defence|favour|honour|labelled|labour|licence")
  .concat("modelled|neighbour|signalled|travelled")
  .join("|")

const glossary = readFileSync(join(import.meta.dirname, "../../docs/glossary.md"), "utf8")

/** The last column of the glossary: words in backticks that stand for its first column. */
export const glossaryTerms: readonly Avoided[] = glossary.split("\n").flatMap((row) => {
  const [, term = "", , , words = ""] = row.split("|").map((cell) => cell.trim())
  return [...words.matchAll(/`([^`]+)`/g)].map(([, word = ""]) => ({
    pattern: new RegExp(`(?<!\\b(?:event|the) )\\b${word}s?\\b(?! PostgreSQL)`, "i"),
    instead: term,
  }))
})

const avoided: readonly Avoided[] = [
  ...glossaryTerms,
  { pattern: /\bwhoever\b|\bwhomever\b/i, instead: "anyone who, users who, or the subject itself" },
  { pattern: /\b(some|no|every|any)body('s|’s)?\b/i, instead: "someone, no one, everyone, anyone" },
  { pattern: /\bby (them|it)self\b|\bby themselves\b|\bthemself\b/i, instead: "automatically" },
  { pattern: /\b(stands|stood)\b/i, instead: "is, is stored, is listed or applies" },
  { pattern: /\bcounts (for|as|no|at|again|already)\b/i, instead: "is valid, applies" },
  { pattern: /\b(is|are|be|stays?|keeps?|no longer) good\b/i, instead: "is valid" },
  { pattern: /\banew\b/i, instead: "again" },
  { pattern: /\bno such\b/i, instead: "… not found" },
  { pattern: /\bshall\b/i, instead: "must" },
  {
    pattern: /\b(is|are) (told|asked|said) (to|that|so|by)\b/i,
    instead: "sees, must, is requested",
  },
  { pattern: /\bcalled so\b|\b(is|are) so already\b/i, instead: "has this name, already has" },
  { pattern: /\brefus(e|es|ed|al|als|ing)\b/i, instead: "reject" },
  { pattern: /\bcancell(ed|ing)\b/i, instead: "canceled" },
  {
    pattern: /(?<!\b(?:event|the) )\blog(s|ged|ging)? (in|out)\b(?! PostgreSQL)/i,
    instead: "sign in, sign out",
  },
  { pattern: new RegExp(`\\b(${british})`, "i"), instead: "the American spelling" },
  { pattern: /\bgrey\b/i, instead: "gray" },
]

type Exception = {
  /** The beginning of the path. */
  readonly path: string
  /** The words around what is found, as they are in the text. */
  readonly words: string
  readonly reason: string
}

const exceptions: readonly Exception[] = [
  {
    path: "ui/console/shell/texts/pages.en.json providers.cause.connection_refused",
    words: "refused the connection",
    reason: "the name of this network error (ECONNREFUSED)",
  },
]

export type OddWording = {
  readonly path: string
  readonly line: number
  readonly found: string
  readonly instead: string
}

/**
 * Where a text has a wording that `avoided` lists. `path` is the file, or the file and the key of a
 * text, and decides which exceptions apply. Code between backticks is not read.
 */
export function oddWordings(path: string, text: string): readonly OddWording[] {
  const prose = withoutCode(text)
  return avoided.flatMap(({ pattern, instead }) =>
    [...prose.matchAll(new RegExp(pattern, `${pattern.flags}g`))]
      .filter(({ index }) => !isAllowed(path, prose, index))
      .map(({ index, 0: found }) => ({ path, line: lineAt(prose, index), found, instead })),
  )
}

/** Exceptions that nothing needs any more, of the texts that are read. */
export const unusedExceptions = (texts: readonly (readonly [path: string, text: string])[]) =>
  exceptions.filter(
    ({ path, words }) =>
      !texts.some(([at, text]) => at.startsWith(path) && spaced(withoutCode(text)).includes(words)),
  )

function isAllowed(path: string, prose: string, index: number): boolean {
  return exceptions.some((exception) => {
    if (!path.startsWith(exception.path)) return false
    const around = spaced(prose.slice(Math.max(0, index - 60), index + 80))
    return around.includes(exception.words)
  })
}

const spaced = (text: string) => text.replaceAll(/\s+/g, " ")

const lineAt = (text: string, index: number) => text.slice(0, index).split("\n").length

/** The same text, of the same length, with blanks for code, addresses and comments of Markdown. */
const withoutCode = (text: string) =>
  text.replaceAll(/^```[\s\S]*?^```|`[^`]*`|\]\([^)]*\)|https?:\/\/\S+|<!--[\s\S]*?-->/gm, blanked)

const blanked = (code: string) => code.replaceAll(/[^\n]/g, " ")
