import type { MessageCustomText } from "../../../src/gen/core/text/v1/text_pb.ts"
import { streamResource } from "../list/index.ts"
import { call, ignoreError, useReadIfAllowed } from "../shell/index.ts"
import { type FieldName, type KindName, messageFieldNames } from "./message-kind.ts"
import { messageOperations } from "./message-operations.ts"

/** The organization that owns the texts, or undefined for the instance. */
export type TextOwner = string | undefined

/** History of an owner's texts for one template and language. */
export const textHistory = (template: string, owner: TextOwner, locale: string) =>
  streamResource("customtext", `${template}/${locale}/${owner ? `org/${owner}` : "instance"}`)

/** Texts of a message by field. */
export type MessageFieldTexts = Readonly<Record<FieldName, string>>

export const operationsOf = (owner: TextOwner) =>
  messageOperations[owner === undefined ? "instance" : "organization"]
const withinOwner = (owner: TextOwner) => (owner === undefined ? {} : { within: owner })

/** The owner's texts and the inherited ones. */
export type EffectiveTexts = {
  readonly own: MessageFieldTexts
  readonly inherited: MessageFieldTexts
  readonly isOwn: boolean
}

/** Texts of one kind and language; undefined if the caller can't read them. */
export function useMessageTexts(
  kind: KindName,
  owner: TextOwner,
  language: string,
): EffectiveTexts | undefined {
  const { present, inherited } = operationsOf(owner)
  const here = useReadIfAllowed(present, { kind, language }, withinOwner(owner))
  const above = useReadIfAllowed(inherited, { kind, language }, withinOwner(owner))
  if (!here || !above) return undefined
  return toEffectiveTexts(here, above)
}

type TextResponse = { readonly customText?: MessageCustomText | undefined }

function toEffectiveTexts(response: TextResponse, above: TextResponse): EffectiveTexts {
  const [present, without] = [requireCustomText(response), requireCustomText(above)]
  const inherited = toMessageTexts((field) => without[field])
  // A text that equals the inherited one doesn't count as own.
  const own = toMessageTexts((field) => (present[field] === inherited[field] ? "" : present[field]))
  return { own, inherited, isOwn: !present.isDefault }
}

function requireCustomText({ customText }: TextResponse): MessageCustomText {
  if (customText) return customText
  throw new Error("the server returned no text")
}

export const toMessageTexts = (textOf: (field: FieldName) => string): MessageFieldTexts => ({
  subject: textOf("subject"),
  preHeader: textOf("preHeader"),
  title: textOf("title"),
  greeting: textOf("greeting"),
  text: textOf("text"),
  buttonText: textOf("buttonText"),
  footerText: textOf("footerText"),
})

/** Saves the given texts only; empty ones are inherited. */
export async function saveMessageTexts(
  kind: KindName,
  owner: TextOwner,
  { language, words: texts }: { readonly language: string; readonly words: MessageFieldTexts },
): Promise<void> {
  if (messageFieldNames.every((field) => texts[field] === ""))
    return resetMessageTexts(kind, owner, language)
  const saving = call(operationsOf(owner).set, { ...texts, kind, language }, withinOwner(owner))
  await ignoreError("text.unchanged", saving)
}

/** Restores texts after a reset; texts set since are kept. */
export async function restoreMessageTexts(
  kind: KindName,
  owner: TextOwner,
  { language, words: texts }: { readonly language: string; readonly words: MessageFieldTexts },
): Promise<void> {
  const { present, inherited } = operationsOf(owner)
  const { own } = toEffectiveTexts(
    await call(present, { kind, language }, withinOwner(owner)),
    await call(inherited, { kind, language }, withinOwner(owner)),
  )
  const restored = toMessageTexts((field) => own[field] || texts[field])
  await saveMessageTexts(kind, owner, { language, words: restored })
}

/** Resets an owner's texts. */
export async function resetMessageTexts(
  kind: KindName,
  owner: TextOwner,
  language: string,
): Promise<void> {
  const resetting = call(operationsOf(owner).reset, { kind, language }, withinOwner(owner))
  await ignoreError("text.missing", resetting)
}
