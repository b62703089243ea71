import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import de from "./texts/de.json"
import en from "./texts/en.json"
import es from "./texts/es.json"
import fr from "./texts/fr.json"
import it from "./texts/it.json"
import ja from "./texts/ja.json"
import nl from "./texts/nl.json"
import pl from "./texts/pl.json"
import pt from "./texts/pt.json"
import zh from "./texts/zh.json"

type Texts = Readonly<Record<"types" | "streams" | "fields", Readonly<Record<string, string>>>>

/** Every language that people read of us in. */
export const texts = { en, de, fr, es, it, pt, nl, pl, ja, zh } as const satisfies Readonly<
  Record<string, Texts>
>

const isKnown = (language: string): language is keyof typeof texts => Object.hasOwn(texts, language)

/** The first language of the caller in which it is known what events say, else English. */
function textsFor({ languages }: Pick<Cx, "languages">): Texts {
  const bases = languages.map((each) => each.toLowerCase().split("-")[0] ?? "")
  return texts[bases.find(isKnown) ?? "en"]
}

/** What happened, as people read it: "project.role.added". */
export const wordsOf = (cx: Pick<Cx, "languages">, type: string): string =>
  textsFor(cx).types[type] ?? type

/** What kind of thing it happened to, as people read it: "projectgrant". */
export const wordsOfStream = (cx: Pick<Cx, "languages">, stream: string): string =>
  textsFor(cx).streams[stream] ?? stream

/** What is kept by ids, names and keys that somebody chose: those stay as they are. */
export const keyed: ReadonlySet<string> = new Set([
  "actions",
  "all",
  "domains",
  "keys",
  "memberGroups",
  "members",
  "personalTokens",
  "providers",
  "roles",
  "secrets",
  "texts",
  "trustedDomains",
])

/** Which field, from the outside in, as people read it: "oidc › redirectUris". */
export function wordsOfPath(cx: Pick<Cx, "languages">, path: readonly string[]): string {
  const { fields } = textsFor(cx)
  const isKey = (at: number) => keyed.has(path[at - 1] ?? "")
  const wordsOf = (part: string) => (Object.hasOwn(fields, part) ? fields[part] : undefined)
  return path.map((part, at) => (isKey(at) ? part : (wordsOf(part) ?? spaced(part)))).join(" › ")
}

const spaced = (name: string): string =>
  name.replaceAll(/([a-z])([A-Z])/g, (_, end, next) => `${end} ${next.toLowerCase()}`)

/** Zero is what a query says that does not say it. */
export function sequenceOf(sequence = 0n): number | undefined {
  if (sequence > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new Fault("invalid_argument", "page.offset_out_of_range", "sequence is out of range")
  }
  return sequence === 0n ? undefined : Number(sequence)
}
