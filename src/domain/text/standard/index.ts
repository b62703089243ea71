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

/** The texts of one language; most kinds greet and end alike, and are headed by their subject. */
export type Standard = { readonly [Kind in MessageKind]: Partial<Message> } & {
  readonly greeting: string
  readonly footer: string
}

/** What messages say where nobody has said anything else, by language; English is always there. */
export const standards: { readonly en: Standard } & Readonly<Record<string, Standard>> = {
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

const nothing: Message = {
  title: "",
  preHeader: "",
  subject: "",
  greeting: "",
  text: "",
  buttonText: "",
  footerText: "",
}

/** A message of which some fields are said. */
export const wholeMessage = (said: { readonly [Field in MessageField]?: string }): Message => ({
  ...nothing,
  ...said,
})

/** A message of one kind in one language, complete. A text message has a text, and nothing else. */
export function standardMessage(language: string, kind: MessageKind): Message {
  const standard = standards[language] ?? standards.en
  const said = standard[kind]
  if (said.subject === undefined) return { ...nothing, ...said }
  const { greeting, footer: footerText } = standard
  return { ...nothing, title: said.subject, greeting, footerText, ...said }
}
