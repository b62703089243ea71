import type { Element } from "@xmldom/xmldom"
import { lazily } from "../kernel/lazy.ts"

export type { Element } from "@xmldom/xmldom"

/** How XML of strangers is read: what it is called in refusals, and what it may have. */
export type XmlReading = {
  /** "the metadata". */
  readonly name: string
  readonly bytesMax: number
  /** Signs, how often each may stand there, and what they are signs of; a pattern is global. */
  readonly bounds: readonly (readonly [sign: string | RegExp, most: number, what: string])[]
  readonly refusedError: (message: string) => Error
}

/** XML as text, within its bounds. */
export function xmlTextOf(xml: Uint8Array, { name, bytesMax, refusedError }: XmlReading): string {
  if (xml.length === 0 || xml.length > bytesMax) {
    throw refusedError(`${name} must have 1 to ${bytesMax} bytes`)
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(xml)
  } catch {
    throw refusedError(`${name} must be UTF-8`)
  }
}

/**
 * The root of XML that is read strictly: what a parser would mend and go on with is refused, and so
 * is a DOCTYPE, with which entities could name files or grow without end. Within the bounds it
 * takes some milliseconds, whatever somebody thinks up.
 */
export async function xmlRootOf(text: string, reading: XmlReading): Promise<Element | null> {
  const { name, bounds, refusedError } = reading
  for (const [sign, most, what] of bounds) {
    if (holdsMore(text, sign, most)) throw refusedError(`${name} has more than ${most} ${what}`)
  }
  if (/<!(DOCTYPE|ENTITY)/i.test(text)) throw refusedError(`${name} must not have a DOCTYPE`)
  if (hasIllegalCharacter(text)) throw refusedError(`${name} is not well-formed XML`)
  const { DOMParser } = await loadParser()
  // Nobody asks in which line something stands, and to count lines takes long where there are many.
  const parser = new DOMParser({ onError: fail, locator: false, normalizeLineEndings })
  try {
    return parser.parseFromString(text, "text/xml").documentElement
  } catch {
    throw refusedError(`${name} is not well-formed XML`)
  }
}

const loadParser = lazily(() => import("@xmldom/xmldom"))

/** XML 1.0 §2.11. The parser's own is that of XML 1.1, with which nobody signs. */
const normalizeLineEndings = (text: string): string =>
  text.includes("\r") ? text.replaceAll(/\r\n?/g, "\n") : text

/**
 * XML that has been read strictly or written here, for parsers of XML 1.1 and for those that
 * serialize without escaping: line ends in text or values as references.
 */
export const withLineEnds = (text: string): string =>
  text.replaceAll(/[\r\u0085\u2028]/g, (sign) => `&#${sign.charCodeAt(0)};`)

/** XML 1.0 §2.2: the characters that a document can have. */
const illegal = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u

/**
 * Whether a text has a character, or a reference to one (§4.1), that no document can have. The
 * parser accepts them, also NUL and half of a surrogate pair, which other readers see differently.
 */
function hasIllegalCharacter(text: string): boolean {
  if (illegal.test(text)) return true
  for (const [, hex, decimal] of text.matchAll(/&#(?:x([\da-f]+)|(\d+));/gi)) {
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
    if (code > 0x10_ffff || illegal.test(String.fromCodePoint(code))) return true
  }
  return false
}

function holdsMore(text: string, sign: string | RegExp, most: number): boolean {
  if (sign instanceof RegExp) return text.matchAll(sign).drop(most).next().done === false
  let at = text.indexOf(sign)
  for (let count = 0; at >= 0 && count < most; count++) at = text.indexOf(sign, at + sign.length)
  return at >= 0
}

function fail(_: string, message: string): never {
  throw new Error(message)
}

export const isElement = (node: object): node is Element => "localName" in node && "tagName" in node
