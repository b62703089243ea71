import type { Cx } from "../../store/index.ts"
import { allowedOf } from "../quota/index.ts"
import { refusedError } from "./bound.ts"
import { findText, placeFor } from "./commands.ts"
import { durationIn } from "./duration.ts"
import { allMessageKinds, type MessageField, type MessageKind, type MessageValues } from "./kind.ts"
import { checkPlaceholders, fillIn } from "./placeholder.ts"
import { type Message, standardMessage } from "./standard/index.ts"
import type { Template } from "./template.ts"

/** The longest that a text may be, in bytes of UTF-8, and whether it may have several lines. */
const fields: Readonly<Record<MessageField, { readonly max: number; readonly lines: boolean }>> = {
  title: { max: 2000, lines: false },
  preHeader: { max: 2000, lines: false },
  subject: { max: 2000, lines: false },
  greeting: { max: 4000, lines: true },
  text: { max: 40_000, lines: true },
  buttonText: { max: 4000, lines: false },
  footerText: { max: 8000, lines: true },
}

const isField = (key: string): key is MessageField => Object.hasOwn(fields, key)

/** The longest text of a message to a phone, in characters. */
const phoneTextMax = 800

const isForPhones = (kind: MessageKind) => kind === "verify_phone" || kind === "verify_sms_otp"

/** The texts of one kind of message. */
export const messageTemplate = (kind: MessageKind): Template => ({
  name: `message.${kind}`,
  standard: (language) => standardMessage(language, kind),
  check: (key, text) => {
    if (!isField(key)) throw refusedError(`a message has no ${key}`)
    const { max, lines } = fields[key]
    if (Buffer.byteLength(text) > max) throw refusedError(`${key} may have at most ${max} bytes`)
    if (isForPhones(kind) && key === "text" && text.length > phoneTextMax)
      throw refusedError(`text may have at most ${phoneTextMax} characters in a text message`)
    const unseen = lines ? /[^\P{Cc}\n\r\t]/u : /[\p{Cc}\p{Zl}\p{Zp}]/u
    if (unseen.test(text))
      throw refusedError(`${key} must be plain text${lines ? "" : ", one line"}`)
    checkPlaceholders(key, text, allMessageKinds[kind])
  },
})

/** What is to be said, to whom: the organisation that they belong to says it in its words. */
export type MessageAsked<Kind extends MessageKind> = {
  readonly kind: Kind
  /** Empty asks for the instance's own words. */
  readonly orgId: string
  /** To whom; empty for somebody who has no account yet. */
  readonly userId: string
  /** What the person prefers (BCP 47); another is chosen where the instance doesn't speak it. */
  readonly language: string
}

/** A message in words, and the language that these are in. It is plain text: no HTML, no links. */
export type MessageText = Message & { readonly language: string }

/**
 * The words of a message: what the organisation says, else the instance, else the standard, filled
 * with values. What has no place in a kind is empty; a message to a phone has a `text` alone.
 */
export function messageText<Kind extends MessageKind>(
  cx: Cx,
  { kind, orgId, userId, language: preferred }: MessageAsked<Kind>,
  values: MessageValues<Kind>,
): MessageText {
  const [wanted = "en"] = allowedOf(cx, [preferred])
  const language = wanted.toLowerCase().split("-")[0] ?? wanted
  const asked = { template: messageTemplate(kind), language }
  const { texts } = findText(cx, placeFor(cx, { userId, orgId }, asked), asked)
  const given: Readonly<Record<string, string | number>> = values
  const shown = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      name,
      typeof value === "number" ? durationIn(language, value) : value,
    ]),
  )
  const said = (field: MessageField) => fillIn(texts[field] ?? "", shown)
  return {
    language,
    title: said("title"),
    preHeader: said("preHeader"),
    subject: said("subject"),
    greeting: said("greeting"),
    text: said("text"),
    buttonText: said("buttonText"),
    footerText: said("footerText"),
  }
}
