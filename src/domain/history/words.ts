import { Fault } from "../../kernel/fault.ts"
import type { PageLanguage } from "../../kernel/text/language.ts"
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

/** The texts in every supported language. */
export const texts = { en, de, fr, es, it, pt, nl, pl, ja, zh } as const satisfies Readonly<
  Record<PageLanguage, Texts>
>

const isKnown = (language: string): language is keyof typeof texts => Object.hasOwn(texts, language)

/** The texts in the first supported language of the caller, or in English. */
function textsFor({ languages }: Pick<Cx, "languages">): Texts {
  const bases = languages.map((each) => each.toLowerCase().split("-")[0] ?? "")
  return texts[bases.find(isKnown) ?? "en"]
}

/** The title of an event type, such as "project.role.added", in the caller's language. */
export const eventTitle = (cx: Pick<Cx, "languages">, type: string): string =>
  textsFor(cx).types[type] ?? type

/** The name of a kind of resource, such as "projectgrant", in the caller's language. */
export const streamTitle = (cx: Pick<Cx, "languages">, stream: string): string =>
  textsFor(cx).streams[stream] ?? stream

/** Collections whose keys are IDs or chosen names, which are shown untranslated. */
export const keyedCollections: ReadonlySet<string> = new Set([
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

/** The name of a field in the caller's language, outermost part first: "oidc › redirectUris". */
export function fieldTitle(cx: Pick<Cx, "languages">, path: readonly string[]): string {
  const { fields } = textsFor(cx)
  const isKey = (at: number) => keyedCollections.has(path[at - 1] ?? "")
  const wordsOf = (part: string) => (Object.hasOwn(fields, part) ? fields[part] : undefined)
  return path.map((part, at) => (isKey(at) ? part : (wordsOf(part) ?? splitName(part)))).join(" › ")
}

const splitName = (name: string): string =>
  name.replaceAll(/([a-z])([A-Z])/g, (_, end, next) => `${end} ${next.toLowerCase()}`)

/** Converts a sequence; zero means unset. */
export function parseSequence(sequence = 0n): number | undefined {
  if (sequence > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new Fault("invalid_argument", "page.offset_out_of_range", "sequence is out of range")
  }
  return sequence === 0n ? undefined : Number(sequence)
}
