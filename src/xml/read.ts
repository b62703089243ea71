import { type Element, isElement, parseXml, type XmlReading } from "./document.ts"
import { namespaces, type Prefix } from "./names.ts"

export type { Element } from "./document.ts"

/** How to read another party's message; see `readMessage`. */
export type MessageReading = Pick<XmlReading, "name" | "refusedError"> & {
  /** Limits larger than those of a request. */
  readonly size?: MessageSize
}

/** Limits for a message; the first number is in characters. */
export type MessageSize = { readonly maxLength: number; readonly bounds: XmlReading["bounds"] }

/** In characters; a signed request with its certificates has a tenth of them. */
export const maxMessageLength = 65_536

const messageDepthMax = 40

/** In characters; the URIs of SAML and its profiles have half of it. Canonical XML repeats them. */
const maxNamespaceLength = 300

/** Per element, including namespace declarations; SAML elements have a dozen. */
const maxAttributes = 64

/**
 * Parses a message strictly before any expensive work: only elements, attributes and text, so that
 * all parsers see the same; limited in size, number and depth; and without duplicate IDs, so that a
 * signature reference is unambiguous.
 */
export async function readMessage(text: string, reading: MessageReading): Promise<Element> {
  const { name, refusedError: rejectedError, size = requestSize } = reading
  const { maxLength, bounds } = size
  if (text === "" || text.length > maxLength) {
    throw rejectedError(`${name} must have 1 to ${maxLength} characters`)
  }
  // Constructs that parsers treat differently: comments split names, entities reference files, and
  // style sheets are programs.
  const body = text.replace(/^\uFEFF?\s*<\?xml [^?<>]*\?>/, "")
  if (/<[!?]/.test(body)) {
    throw rejectedError(`${name} must not have comments, CDATA, DOCTYPE or processing instructions`)
  }
  const root = await parseXml(body.trim(), {
    name,
    bytesMax: maxLength,
    bounds,
    refusedError: rejectedError,
  })
  if (!root) throw rejectedError(`${name} is empty`)
  requireLimits(root, reading)
  return root
}

/**
 * Unauthenticated senders can send requests, which are parsed twice if signed: takes a few
 * milliseconds.
 */
const requestSize: MessageSize = {
  maxLength: maxMessageLength,
  bounds: [
    ["<", 300, "tags"],
    ["=", 300, "equals signs"],
    ["xmlns", 30, "namespaces"],
    ["&", 500, "references"],
    ["\r", 20_000, "carriage returns"],
  ],
}

/**
 * A response from an identity provider. Some send every group, of which Active Directory permits
 * 1,015, and declare three attributes for each. Equals signs in text are harmless: each group name
 * in a directory has several.
 */
export const responseSize: MessageSize = {
  maxLength: 400_000,
  bounds: [
    ["<", 2400, "tags"],
    [/=[\t\n\r ]*["']/g, 4400, "attributes"],
    ["xmlns", 3300, "namespaces"],
    ["&", 4000, "references"],
    ["\r", 20_000, "carriage returns"],
  ],
}

/** SAML Core §1.3.4: IDs are unique. Includes all spellings that any parser accepts as IDs. */
const idNames: readonly string[] = ["id", "assertionid", "requestid", "responseid"]

function requireLimits(root: Element, { name, refusedError: rejectedError }: MessageReading): void {
  const ids = new Set<string>()
  let level: readonly Element[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > messageDepthMax)
      throw rejectedError(`${name} is nested more than ${messageDepthMax} levels deep`)
    if (level.some(({ attributes }) => attributes.length > maxAttributes)) {
      throw rejectedError(`${name} has an element with more than ${maxAttributes} attributes`)
    }
    if (level.some(hasLongNamespace)) {
      throw rejectedError(`${name} has a namespace with more than ${maxNamespaceLength} characters`)
    }
    for (const id of level.flatMap(idsOf)) {
      if (ids.has(id)) throw rejectedError(`${name} has a duplicate ID`)
      ids.add(id)
    }
    level = level.flatMap(elementsIn)
  }
}

const hasLongNamespace = ({ attributes }: Element): boolean =>
  Array.from(attributes).some(
    ({ namespaceURI, value }) =>
      namespaceURI === "http://www.w3.org/2000/xmlns/" && value.length > maxNamespaceLength,
  )

const idsOf = (of: Element): readonly string[] =>
  Array.from(of.attributes)
    .filter(({ localName }) => idNames.includes((localName ?? "").toLowerCase()))
    .map(({ value }) => value)

/** Iterates siblings, because indexed access counts a parent's nodes each time. */
export function elementsIn(of: Element): readonly Element[] {
  const found: Element[] = []
  for (let node = of.firstChild; node; node = node.nextSibling) {
    if (isElement(node)) found.push(node)
  }
  return found
}

/** Whether an element has this name. */
export const isNamed = (of: Element, prefix: Prefix, name: string): boolean =>
  of.namespaceURI === namespaces[prefix] && of.localName === name

/** The direct children with a name. */
export const childrenOf = (of: Element, prefix: Prefix, name: string): readonly Element[] =>
  elementsIn(of).filter((each) => isNamed(each, prefix, name))

/** All elements with a name, including the root, at any depth, in document order. */
export function findAll(root: Element, prefix: Prefix, name: string): readonly Element[] {
  const found: Element[] = []
  const visit = (of: Element) => {
    if (isNamed(of, prefix, name)) found.push(of)
    for (const each of elementsIn(of)) visit(each)
  }
  visit(root)
  return found
}

/** The only direct child with a name, if any; rejects more than one. */
export function findChild(
  of: Element,
  [prefix, name]: readonly [Prefix, string],
  reading: MessageReading,
): Element | undefined {
  const [only, ...others] = childrenOf(of, prefix, name)
  if (others.length > 0) throw reading.refusedError(`${reading.name} has more than one ${name}`)
  return only
}

/** The text of an element, which must contain only text; empty if it is absent. */
export function requireText(of: Element | undefined, reading: MessageReading): string {
  if (!of) return ""
  if (elementsIn(of).length > 0) {
    throw reading.refusedError(`${reading.name} has elements where text is expected`)
  }
  return directTextOf(of).trim()
}

/**
 * The direct text of an element that contains only text. Comments would be part of it, but
 * `readMessage` rejects them.
 */
export function directTextOf(of: Element): string {
  let text = ""
  for (let node = of.firstChild; node; node = node.nextSibling) text += node.nodeValue ?? ""
  return text
}

/** An attribute; undefined if it is absent or empty. */
export const findAttribute = (of: Element | undefined, name: string): string | undefined =>
  of?.getAttribute(name) || undefined

/** XML Schema's boolean. */
export const isTrue = (value: string | undefined): boolean => value === "true" || value === "1"

/** XML Schema's dateTime, ms UTC; undefined if invalid. SAML Core §1.3.3: in UTC. */
export function parseTime(value: string | undefined): number | undefined {
  if (!value || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?$/.test(value)) {
    return undefined
  }
  const time = Date.parse(/(Z|[+-]\d\d:\d\d)$/.test(value) ? value : `${value}Z`)
  return Number.isFinite(time) ? time : undefined
}

/** Formats a time in ms UTC for SAML. */
export const formatTime = (ms: number): string => new Date(ms).toISOString()
