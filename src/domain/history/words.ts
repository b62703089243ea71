import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import de from "./texts/de.json"
import en from "./texts/en.json"

type Texts = Readonly<Record<"types" | "streams", Readonly<Record<string, string>>>>

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

/** Zero is what a query says that does not say it. */
export function sequenceOf(sequence = 0n): number | undefined {
  if (sequence > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new Fault("invalid_argument", "page.offset_out_of_range", "sequence is out of range")
  }
  return sequence === 0n ? undefined : Number(sequence)
}
