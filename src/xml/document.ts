import type { Element } from "@xmldom/xmldom"
import { loadOnce } from "../kernel/lazy.ts"

export type { Element } from "@xmldom/xmldom"

/** How to read untrusted XML: its name in messages, and its limits. */
export type XmlReading = {
  /** For example "the metadata". */
  readonly name: string
  readonly bytesMax: number
  /** Signs with their maximum count and name; patterns are global. */
  readonly bounds: readonly (readonly [sign: string | RegExp, most: number, what: string])[]
  readonly refusedError: (message: string) => Error
}

/** XML as text, within its limits. */
export function decodeXml(
  xml: Uint8Array,
  { name, bytesMax: maxBytes, refusedError: rejectedError }: XmlReading,
): string {
  if (xml.length === 0 || xml.length > maxBytes) {
    throw rejectedError(`${name} must have 1 to ${maxBytes} bytes`)
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(xml)
  } catch {
    throw rejectedError(`${name} must be UTF-8`)
  }
}

/**
 * The root of strictly parsed XML: errors that a parser would tolerate are rejected, and so is a
 * DOCTYPE, whose entities could reference files or grow exponentially. Within the limits, parsing
 * takes milliseconds for any input.
 */
export async function parseXml(text: string, reading: XmlReading): Promise<Element | null> {
  const { name, bounds, refusedError: rejectedError } = reading
  for (const [pattern, maxCount, what] of bounds) {
    if (exceedsCount(text, pattern, maxCount))
      throw rejectedError(`${name} has more than ${maxCount} ${what}`)
  }
  if (/<!(DOCTYPE|ENTITY)/i.test(text)) throw rejectedError(`${name} must not have a DOCTYPE`)
  if (hasIllegalCharacter(text)) throw rejectedError(`${name} is not well-formed XML`)
  const { DOMParser } = await loadParser()
  // Positions are not needed, and counting lines is slow for large documents.
  const parser = new DOMParser({ onError: throwParseError, locator: false, normalizeLineEndings })
  try {
    return parser.parseFromString(text, "text/xml").documentElement
  } catch {
    throw rejectedError(`${name} is not well-formed XML`)
  }
}

const loadParser = loadOnce(() => import("@xmldom/xmldom"))

/** XML 1.0 §2.11. The parser uses XML 1.1 rules, which no signer uses. */
const normalizeLineEndings = (text: string): string =>
  text.includes("\r") ? text.replaceAll(/\r\n?/g, "\n") : text

/** Escapes line ends in trusted XML, for XML 1.1 parsers and for serializers that don't escape. */
export const escapeLineEnds = (text: string): string =>
  text.replaceAll(/[\r\u0085\u2028]/g, (pattern) => `&#${pattern.charCodeAt(0)};`)

/** XML 1.0 §2.2: the characters that a document may contain. */
const illegalCharacter = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u

/**
 * Whether a text contains a character, or a reference to one (§4.1), that is not allowed in a
 * document. The parser accepts them, also NUL and unpaired surrogates, which other parsers treat
 * differently.
 */
function hasIllegalCharacter(text: string): boolean {
  if (illegalCharacter.test(text)) return true
  for (const [, hex, decimal] of text.matchAll(/&#(?:x([\da-f]+)|(\d+));/gi)) {
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
    if (code > 0x10_ffff || illegalCharacter.test(String.fromCodePoint(code))) return true
  }
  return false
}

function exceedsCount(text: string, pattern: string | RegExp, maxCount: number): boolean {
  if (pattern instanceof RegExp) return text.matchAll(pattern).drop(maxCount).next().done === false
  let at = text.indexOf(pattern)
  for (let count = 0; at >= 0 && count < maxCount; count++)
    at = text.indexOf(pattern, at + pattern.length)
  return at >= 0
}

function throwParseError(_: string, message: string): never {
  throw new Error(message)
}

export const isElement = (node: object): node is Element => "localName" in node && "tagName" in node
