import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import de from "./texts/de.json"
import en from "./texts/en.json"

type Texts = Readonly<Record<"types" | "streams" | "fields", Readonly<Record<string, string>>>>

const texts: Readonly<Record<string, Texts>> = { en, de }

/** The first language of the caller in which it is known what events say, else English. */
function textsFor({ languages }: Pick<Cx, "languages">): Texts {
  const bases = languages.map((each) => each.toLowerCase().split("-")[0] ?? "")
  const base = bases.find((each) => Object.hasOwn(texts, each))
  return (base !== undefined && texts[base]) || en
}

/** What happened, as people read it: "project.role.added". */
export const wordsOf = (cx: Pick<Cx, "languages">, type: string): string =>
  textsFor(cx).types[type] ?? type

/** What kind of thing it happened to, as people read it: "projectgrant". */
export const wordsOfStream = (cx: Pick<Cx, "languages">, stream: string): string =>
  textsFor(cx).streams[stream] ?? stream

/** What is kept by ids, names and keys that somebody chose: those stay as they are. */
export const keyed: ReadonlySet<string> = new Set([
  ...["actions", "all", "domains", "keys", "members", "personalTokens", "providers", "roles"],
  ...["secrets", "texts", "trustedDomains"],
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
