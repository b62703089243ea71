import type { PageLanguage } from "../../../kernel/text/language.ts"
import type { MessageField, MessageKind } from "../kind.ts"
import de from "./de.json" with { type: "json" }
import en from "./en.json" with { type: "json" }
import es from "./es.json" with { type: "json" }
import fr from "./fr.json" with { type: "json" }
import it from "./it.json" with { type: "json" }
import ja from "./ja.json" with { type: "json" }
import nl from "./nl.json" with { type: "json" }
import pl from "./pl.json" with { type: "json" }
import pt from "./pt.json" with { type: "json" }
import zh from "./zh.json" with { type: "json" }

export type Message = { readonly [Field in MessageField]: string }

/**
 * The default texts of one language; most kinds have the same greeting and footer and use their
 * subject as title.
 */
export type DefaultTexts = { readonly [Kind in MessageKind]: Partial<Message> } & {
  readonly greeting: string
  readonly footer: string
}

/** The default texts by language. */
export const defaultTexts: Readonly<Record<PageLanguage, DefaultTexts>> &
  Readonly<Record<string, DefaultTexts>> = {
  en,
  de,
  fr,
  es,
  it,
  pt,
  nl,
  pl,
  ja,
  zh,
}

const emptyMessage: Message = {
  title: "",
  preHeader: "",
  subject: "",
  greeting: "",
  text: "",
  buttonText: "",
  footerText: "",
}

/** Completes a message with empty fields. */
export const completeMessage = (
  fields: { readonly [Field in MessageField]?: string },
): Message => ({
  ...emptyMessage,
  ...fields,
})

/** The complete default message of a kind in a language. An SMS has only a text. */
export function defaultMessage(language: string, kind: MessageKind): Message {
  const standard = defaultTexts[language] ?? defaultTexts.en
  const fields = standard[kind]
  if (fields.subject === undefined) return { ...emptyMessage, ...fields }
  const { greeting, footer: footerText } = standard
  return { ...emptyMessage, title: fields.subject, greeting, footerText, ...fields }
}
