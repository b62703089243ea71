import { simpleParser } from "mailparser"
import { parseForeignHash } from "../../../src/domain/credential/foreign/formats.ts"
import { fillPlaceholders, validatePlaceholders } from "../../../src/domain/text/placeholder.ts"
import { Fault } from "../../../src/kernel/fault.ts"
import { parseDisplayName, parseResourceId } from "../../../src/kernel/text/identifier.ts"
import { fold, foldName } from "../../../src/kernel/text/name.ts"
import { createMimeMessage } from "../../../src/notify/smtp.ts"
import { parseUserCode } from "../../../src/oauth/device/user-code.ts"
import {
  parseEmail,
  parseLanguage,
  parseLoginName,
  parseOptionalText,
  parsePhone,
  parseUrlTemplate,
} from "../../../src/protocol/user-field.ts"
import { createTranslator, findTextError } from "../../../ui/kit/catalog.ts"
import { fuzzTarget, requireEqual, requireProperty } from "../engine/target.ts"

const readers = {
  email: parseEmail,
  phone: parsePhone,
  loginName: parseLoginName,
  language: parseLanguage,
  text: (text: string) => parseOptionalText("nick_name", text),
  urlTemplate: parseUrlTemplate,
  name: (text: string) => parseDisplayName("name", text),
  id: (text: string) => parseResourceId({ next: () => "1" }, "id", text),
}

function acceptedText(read: (text: string) => string, text: string): string | undefined {
  try {
    return read(text)
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

/** Text fields: names, addresses, phone numbers, languages, codes. */
export const userField = fuzzTarget({
  name: "user-field",
  seeds: () => [
    "ada@example.com",
    "+41 79 123 45 67",
    "Ada Lovelace",
    "pt-BR",
    "https://a/{{.Code}}",
    "Müller",
    "ａｄａ",
    "e\u0301",
    "BCDF-GHJK",
    "a\u200bb",
    "İstanbul",
    "x@xn--mller-kva.de",
  ],
  tokens: ["@", ".", "+", "-", "\u202e", "\ufb01", "\u0345", "ǅ", "ẞ", "\u1e9e", "㎒", "\u{1f3f3}"],
  parse: (input) => {
    const text = input.toString()
    const read = Object.entries(readers).map(([name, reader]) => [name, acceptedText(reader, text)])
    return { ...Object.fromEntries(read), code: parseUserCode(text), folded: fold(text) }
  },
  check: ({ folded, code, ...fields }) => {
    for (const [name, value] of Object.entries(fields)) {
      if (typeof value !== "string") continue
      const reader = Object.entries(readers).find(([each]) => each === name)?.[1]
      requireEqual(reader?.(value), value, `${name}: what was read is read as itself`)
      requireProperty(!/[\r\n\0]/.test(value), `${name} is one line`)
      requireProperty(value.isWellFormed(), `${name} is text`)
    }
    requireEqual(fold(folded), folded, "what is folded stays as it is")
    requireEqual(foldName(foldName(folded)), foldName(folded), "and so does a name")
    if (code !== undefined)
      requireProperty(/^[B-DF-HJ-NP-TV-XZ]{8}$/.test(code), "a code has eight letters")
  },
})

/** Password hashes of other systems, as in an import. */
export const foreignHashes = fuzzTarget({
  name: "foreign-hash",
  seeds: () => [
    "$2y$04$abcdefghijklmnopqrstuuAVTkEbZjnAkBsjZjzQfzT3XBaSnYcY6",
    "$scrypt$ln=2,r=1,p=1$AAAA$AAAAAAAAAAAAAAAAAAAAAA",
    "$pbkdf2-sha256$2$AAAA$AAAAAAAAAAAAAAAAAAAAAA",
    "$1$salt$AAAAAAAAAAAAAAAAAAAAAA",
    "$5$rounds=1000$salt$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "$P$5saltsaltAAAAAAAAAAAAAAAAAAAAAA",
    "$sha256salted-suffix$salt$00ff",
    "$md5salted-prefix-b64$AAA=$00ff",
    "0123456789abcdef0123456789ABCDEF",
  ],
  tokens: ["$", "rounds=", "ln=", "r=", "p=", "$2a$", "$5$", "$6$", "$S$", "sha512", ".", "/", "+"],
  parse: async (input) => {
    const text = input.toString()
    const hash = parseForeignHash(text)
    // Cost has a separate limit; computing each hash would only be slow.
    const isCheap = !/\d{4}|\$\d[5-9]\$|\$[1-9]\d\$|ln=\d\d|ln=[6-9]|[HPS]\$[^56]/.test(text)
    const isRight = hash && !hash.isTooCostly && isCheap ? await hash.verify("password") : undefined
    return { isTooCostly: hash?.isTooCostly, isRight }
  },
  check: ({ isRight }) =>
    requireProperty(isRight !== true, "nobody's hash is that of this password"),
})

const values = { FirstName: "Ada\r\nBcc: x", Code: "123456" }

/** Custom texts: messages with {{.Value}}, pages in MessageFormat. */
export const customText = fuzzTarget({
  name: "custom-text",
  seeds: () => [
    "Hello {{.FirstName}}, your code is {{ .Code }}",
    "You have {$count} days, {$name}",
    ".input {$count :number} .match $count one {{one day}} * {{{$count} days}}",
    "{#b}bold{/b} {|literal|} \\{",
  ],
  tokens: [
    "{{",
    "}}",
    "{$name}",
    "{$count :number}",
    ".match",
    ".input",
    ".local",
    "{#",
    "{/",
    "\\",
  ],
  parse: (input) => {
    const text = input.toString()
    validatePlaceholders("text", text.includes("{{.") ? text : "", Object.keys(values))
    const complaint = findTextError(text, { values: ["name", "count"], numbers: ["count"] })
    return { text, filled: fillPlaceholders(text, values), complaint }
  },
  check: ({ text, filled, complaint }) => {
    const lines = (of: string) => of.split(/[\r\n]/).length
    requireProperty(lines(filled) <= lines(text), "a value adds no line")
    if (complaint !== undefined) return
    for (const language of ["en", "ja", "pl"]) {
      const { t } = createTranslator({ language, messages: { text } })
      for (const count of [0, 1, 2.5]) {
        requireProperty(
          typeof t("text", { name: "\u202e<b>", count }) === "string",
          "it can be shown",
        )
      }
    }
  },
})

const headers = [
  "auto-submitted",
  "content-type",
  "date",
  "from",
  "message-id",
  "mime-version",
  "subject",
  "to",
]

/** Emails with foreign names and texts, verified by an independent MIME parser. */
export const mimeMessage = fuzzTarget({
  name: "mime-message",
  seeds: () => [
    "Latchkey\nHello Ada\nada@example.com\nYour code is 123.\n.\nFrom x",
    'Müller, "GmbH" <x@y>\n=?utf-8?q?a?= 🦊\nmüller@exämple.com\n<p>--b</p>',
    "a\nb\nc@d\nContent-Type: text/html\r\n\r\n\t",
  ],
  tokens: [
    "\r\n",
    "\nBcc: x@y",
    "=?utf-8?b?",
    "?=",
    "<x@y>",
    ",",
    ";",
    '"',
    "--",
    "\u2028",
    ":",
    "(c)",
  ],
  parse: async (input) => {
    const [name = "", subject = "", to = "", ...rest] = input.toString().split("\n")
    const shown = parseOptionalText("name", name)
    const line = fillPlaceholders("{{.text}}", { text: subject }).slice(0, 500)
    const [address, body] = [parseEmail(to), rest.join("\n")]
    const mail = {
      messageId: "1@id.example.com",
      replyTo: "",
      subject: line,
      to: address,
      from: { name: shown, address: "no-reply@example.com" },
      text: body,
      html: "<p>a</p>",
    }
    return { mail, bytes: await createMimeMessage(mail) }
  },
  check: async ({ mail, bytes }) => {
    const read = await simpleParser(bytes)
    const names = new Set(read.headerLines.map(({ key }) => key))
    // A single-part email has its encoding there.
    names.delete("content-transfer-encoding")
    requireProperty(read.headerLines.length <= headers.length + 1, "no header is there twice")
    const expected = headers.filter(
      (key) => key !== "subject" || collapseSpaces(mail.subject) !== "",
    )
    requireEqual([...names].sort(), expected, "there are no other headers")
    const to = [read.to ?? []].flat().flatMap(({ value }) => value)
    requireProperty(to.length === 1, "there is one recipient")
    requireEqual(
      collapseSpaces(read.subject),
      collapseSpaces(mail.subject),
      "the subject is as it was given",
    )
    const from = read.from?.value ?? []
    requireEqual(
      from.map(({ address }) => address),
      [mail.from.address],
      "there is one sender",
    )
  },
})

/** RFC 5322 §2.2.3: line folding has no meaning. */
const collapseSpaces = (text = ""): string => text.replaceAll(/\s+/g, " ").trim()
