import type { Cx } from "../../store/index.ts"
import { negotiateLanguages } from "../quota/index.ts"
import { findText, placeFor } from "./commands.ts"
import { formatDuration } from "./duration.ts"
import { invalidTextError } from "./invalid-text.ts"
import { allMessageKinds, type MessageField, type MessageKind, type MessageValues } from "./kind.ts"
import { fillPlaceholders, validatePlaceholders } from "./placeholder.ts"
import { defaultMessage, type Message } from "./standard/index.ts"
import type { TextTemplate } from "./template.ts"

/** The maximum length of each field in bytes of UTF-8, and whether it can contain line breaks. */
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

/** The maximum length of an SMS text, in characters. */
const phoneTextMax = 800

const isSms = (kind: MessageKind) => kind === "verify_phone" || kind === "verify_sms_otp"

/** The template of one kind of message. */
export const messageTemplate = (kind: MessageKind): TextTemplate => ({
  name: `message.${kind}`,
  defaults: (language) => defaultMessage(language, kind),
  validate: (key, text) => {
    if (!isField(key)) throw invalidTextError(`messages have no field ${key}`)
    const { max, lines } = fields[key]
    if (Buffer.byteLength(text) > max) throw invalidTextError(`${key} must be at most ${max} bytes`)
    if (isSms(kind) && key === "text" && text.length > phoneTextMax)
      throw invalidTextError(`text must be at most ${phoneTextMax} characters in an SMS`)
    const unseen = lines ? /[^\P{Cc}\n\r\t]/u : /[\p{Cc}\p{Zl}\p{Zp}]/u
    if (unseen.test(text))
      throw invalidTextError(`${key} must be plain text${lines ? "" : ", one line"}`)
    validatePlaceholders(key, text, allMessageKinds[kind])
  },
})

/** The message to render and its recipient. */
export type MessageTextInput<Kind extends MessageKind> = {
  readonly kind: Kind
  /** Empty for the texts of the instance. */
  readonly orgId: string
  /** The recipient; empty if there is no account yet. */
  readonly userId: string
  /** The preferred language (BCP 47); if it is not supported, another one is used. */
  readonly language: string
}

/** A rendered message and its language. Plain text without HTML or links. */
export type MessageText = Message & { readonly language: string }

/**
 * Renders a message with the texts of the organization, of the instance or the defaults, in this
 * order. Fields that a kind does not have are empty; an SMS has only a `text`.
 */
export function renderMessageText<Kind extends MessageKind>(
  cx: Cx,
  { kind, orgId, userId, language: preferred }: MessageTextInput<Kind>,
  values: MessageValues<Kind>,
): MessageText {
  const [wanted = "en"] = negotiateLanguages(cx, [preferred])
  const language = wanted.toLowerCase().split("-")[0] ?? wanted
  const localized = { template: messageTemplate(kind), language }
  const { texts } = findText(cx, placeFor(cx, { userId, orgId }, localized), localized)
  const rawValues: Readonly<Record<string, string | number>> = values
  const placeholderValues = Object.fromEntries(
    Object.entries(rawValues).map(([name, value]) => [
      name,
      typeof value === "number" ? formatDuration(language, value) : value,
    ]),
  )
  const renderField = (field: MessageField) =>
    fillPlaceholders(texts[field] ?? "", placeholderValues)
  return {
    language,
    title: renderField("title"),
    preHeader: renderField("preHeader"),
    subject: renderField("subject"),
    greeting: renderField("greeting"),
    text: renderField("text"),
    buttonText: renderField("buttonText"),
    footerText: renderField("footerText"),
  }
}
