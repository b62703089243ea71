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

const avoidedEverywhere: readonly Avoided[] = [
  { pattern: /\bwhoever\b|\bwhomever\b/i, instead: "anyone who, users who, or the subject itself" },
  { pattern: /\b(some|no|every|any)body('s|’s)?\b/i, instead: "someone, no one, everyone, anyone" },
  { pattern: /\bby (them|it)self\b|\bby themselves\b|\bthemself\b/i, instead: "automatically" },
  { pattern: /\b(stands|stood)\b/i, instead: "is, is stored, is listed or applies" },
  { pattern: /\bcounts (for|no|at|again|already)\b/i, instead: "is valid, applies" },
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
    pattern: /(?<!\b(?:event|the|its|own) )\blog(s|ged|ging)? (in|out)\b(?! (PostgreSQL|a|the)\b)/i,
    instead: "sign in, sign out",
  },
  { pattern: new RegExp(`\\b(${british})`, "i"), instead: "the American spelling" },
  { pattern: /\bgrey\b/i, instead: "gray" },
]

/** Wordings that texts for users avoid, and comments don't need to. */
const avoidedInTexts: readonly Avoided[] = [
  ...glossaryTerms,
  ...avoidedEverywhere,
  { pattern: /\bcounts as\b/i, instead: "is" },
]

/** Verbs of people, which programs don't do, and inexact words. */
const avoidedInCode: readonly Avoided[] = [
  ...avoidedEverywhere,
  { pattern: /\b(tells?|telling|told)\b(?! apart)/i, instead: "sends, returns, shows, notifies" },
  { pattern: /\b(says|said|saying)\b/i, instead: "contains, returns, requires" },
  { pattern: /\b(knows|knew)\b/i, instead: "has, stores, recognizes" },
  { pattern: /\b(wants|wanted)\b/i, instead: "requests, requires, expects" },
  { pattern: /\b(goes|went|gone)\b/i, instead: "is removed, has ended, is sent" },
  { pattern: /\b(dies|died)\b/i, instead: "exits, ends" },
  { pattern: /\b(hence|lest|thereby|therein|thus)\b/i, instead: "therefore, so that" },
]

/** Texts for users, and comments and messages in source code. */
type TextKind = "text" | "code"

type Exception = {
  /** The beginning of the path. */
  readonly path: string
  /** The words around what is found, as they are in the text. */
  readonly words: string
  readonly reason: string
}

const textExceptions: readonly Exception[] = [
  {
    path: "ui/console/shell/texts/pages.en.json providers.cause.connection_refused",
    words: "refused the connection",
    reason: "the name of this network error (ECONNREFUSED)",
  },
]

/** Exceptions for source code. */
const codeExceptions: readonly Exception[] = [
  {
    path: "test/domain/message/",
    words: "550 no such user",
    reason: "the answer of a mail server (RFC 5321 §4.2.2)",
  },
  {
    path: "test/support/round-robin.ts",
    words: "Servers that refuse connections",
    reason: "the name of this network error (ECONNREFUSED)",
  },
  {
    path: "test/reliability/nodes/rolling.ts",
    words: "nodes that refuse connections",
    reason: "the name of this network error (ECONNREFUSED)",
  },
  {
    path: "test/saml/upstream-attack.test.ts",
    words: "Be Whoever You Want to Be",
    reason: "the title of a paper",
  },
]

const lists = {
  text: { avoided: avoidedInTexts, exceptions: textExceptions },
  code: { avoided: avoidedInCode, exceptions: codeExceptions },
} as const

export type OddWording = {
  readonly path: string
  readonly line: number
  readonly found: string
  readonly instead: string
}

/**
 * Where a text has a wording that the list for its kind contains. `path` is the file, or
 * the file and the key of a text, and decides which exceptions apply. Code between backticks is not
 * read.
 */
export function oddWordings(
  path: string,
  text: string,
  kind: TextKind = "text",
): readonly OddWording[] {
  const prose = withoutCode(text)
  const { avoided, exceptions } = lists[kind]
  return avoided.flatMap(({ pattern, instead }) =>
    [...prose.matchAll(acrossLines(pattern))]
      .filter(({ index }) => !isAllowed(exceptions, path, prose, index))
      .map(({ index, 0: found }) => ({ path, line: lineAt(prose, index), found, instead })),
  )
}

/** Exceptions that nothing needs any more, of the texts that are read. */
export const unusedExceptions = (
  texts: readonly (readonly [path: string, text: string])[],
  kind: TextKind = "text",
) =>
  lists[kind].exceptions.filter(
    ({ path, words }) =>
      !texts.some(
        ([at, text]) => at.startsWith(path) && collapseSpaces(withoutCode(text)).includes(words),
      ),
  )

function isAllowed(
  exceptions: readonly Exception[],
  path: string,
  prose: string,
  index: number,
): boolean {
  return exceptions.some((exception) => {
    if (!path.startsWith(exception.path)) return false
    const around = collapseSpaces(prose.slice(Math.max(0, index - 60), index + 80))
    return around.includes(exception.words)
  })
}

/** The pattern, for words on two lines as well. */
const acrossLines = ({ source, flags }: RegExp) =>
  new RegExp(source.replaceAll(" ", "\\s+"), `${flags}g`)

const collapseSpaces = (text: string) => text.replaceAll(/\s+/g, " ")

const lineAt = (text: string, index: number) => text.slice(0, index).split("\n").length

/** The same text, of the same length, with blanks for code, addresses and comments of Markdown. */
const withoutCode = (text: string) =>
  text.replaceAll(/^```[\s\S]*?^```|`[^`]*`|\]\([^)]*\)|https?:\/\/\S+|<!--[\s\S]*?-->/gm, blank)

const blank = (code: string) => code.replaceAll(/[^\n]/g, " ")
