import type { MessageCustomText } from "../../../src/gen/core/text/v1/text_pb.ts"
import { streamOf } from "../list/index.ts"
import { call, unless, useReadIfAllowed } from "../shell/index.ts"
import { type FieldName, fields, type KindName } from "./message-kind.ts"
import { methods } from "./message-operations.ts"

/** The organisation that says it; undefined: the instance. */
export type TextOwner = string | undefined

/** The history of what a place says with one template in one language. */
export const textHistory = (template: string, place: TextOwner, locale: string) =>
  streamOf("customtext", `${template}/${locale}/${place ? `org/${place}` : "instance"}`)

/** What a message says, by its fields. */
export type Words = Readonly<Record<FieldName, string>>

export const methodsAt = (place: TextOwner) =>
  methods[place === undefined ? "instance" : "organization"]
const at = (place: TextOwner) => (place === undefined ? {} : { within: place })

/** What is said at a place, and what would be said there without it. */
export type EffectiveTexts = {
  readonly own: Words
  readonly inherited: Words
  readonly isOwn: boolean
}

/** Texts of one kind in one language; undefined where one may not see them. */
export function useMessageTexts(
  kind: KindName,
  place: TextOwner,
  language: string,
): EffectiveTexts | undefined {
  const { present, inherited } = methodsAt(place)
  const here = useReadIfAllowed(present, { kind, language }, at(place))
  const above = useReadIfAllowed(inherited, { kind, language }, at(place))
  if (!here || !above) return undefined
  return effectiveTextsIn(here, above)
}

type Answer = { readonly customText?: MessageCustomText | undefined }

function effectiveTextsIn(here: Answer, above: Answer): EffectiveTexts {
  const [present, without] = [customTextIn(here), customTextIn(above)]
  const inherited = wordsOf((field) => without[field])
  // A text that equals the inherited one is not shown as a text of its own.
  const own = wordsOf((field) => (present[field] === inherited[field] ? "" : present[field]))
  return { own, inherited, isOwn: !present.isDefault }
}

function customTextIn({ customText }: Answer): MessageCustomText {
  if (customText) return customText
  throw new Error("the server has answered without the text that was asked for")
}

export const wordsOf = (said: (field: FieldName) => string): Words => ({
  subject: said("subject"),
  preHeader: said("preHeader"),
  title: said("title"),
  greeting: said("greeting"),
  text: said("text"),
  buttonText: said("buttonText"),
  footerText: said("footerText"),
})

/** Says what is given, and nothing else; what is empty comes from above. */
export async function saveMessageTexts(
  kind: KindName,
  place: TextOwner,
  { language, words }: { readonly language: string; readonly words: Words },
): Promise<void> {
  if (fields.every((field) => words[field] === "")) return resetMessageTexts(kind, place, language)
  const saving = call(methodsAt(place).set, { ...words, kind, language }, at(place))
  await unless("text.unchanged", saving)
}

/** Says again what a place has taken back; what it has said of its own since stays. */
export async function restoreMessageTexts(
  kind: KindName,
  place: TextOwner,
  { language, words }: { readonly language: string; readonly words: Words },
): Promise<void> {
  const { present, inherited } = methodsAt(place)
  const { own } = effectiveTextsIn(
    await call(present, { kind, language }, at(place)),
    await call(inherited, { kind, language }, at(place)),
  )
  const restored = wordsOf((field) => own[field] || words[field])
  await saveMessageTexts(kind, place, { language, words: restored })
}

/** Takes back what a place says. */
export async function resetMessageTexts(
  kind: KindName,
  place: TextOwner,
  language: string,
): Promise<void> {
  const resetting = call(methodsAt(place).reset, { kind, language }, at(place))
  await unless("text.missing", resetting)
}
