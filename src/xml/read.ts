import { type Element, isElement, type XmlReading, xmlRootOf } from "./document.ts"
import { namespaces, type Prefix } from "./names.ts"

export type { Element } from "./document.ts"

/** How a message of somebody else is read; see `readMessage`. */
export type Reading = Pick<XmlReading, "name" | "refusedError"> & {
  /** How much it may have, where that is not as little as a request does. */
  readonly size?: MessageSize
}

/** How much a message may have; the first number is of characters. */
export type MessageSize = { readonly most: number; readonly bounds: XmlReading["bounds"] }

/** Characters; a signed request with the certificates of its signer has a tenth of them. */
export const messageMax = 65_536

const depthMax = 40

/** Characters; those of SAML and its profiles have half of it. Canonical XML repeats them. */
const namespaceMax = 300

/** Of one element, namespaces that it declares included; those of SAML have a dozen. */
const attributesMax = 64

/**
 * Reads a message strictly, before anything of it costs: nothing in it but elements, attributes and
 * text, so that no two readers see different things; bounded in size, count and depth; and no ID
 * twice, so that what a signature names is one thing.
 */
export async function readMessage(text: string, reading: Reading): Promise<Element> {
  const { name, refusedError, size = requestSize } = reading
  const { most: bytesMax, bounds } = size
  if (text === "" || text.length > bytesMax) {
    throw refusedError(`${name} must have 1 to ${bytesMax} characters`)
  }
  // What one reader skips and another one doesn't: comments cut names in two, entities name files,
  // and a style sheet is a program.
  const body = text.replace(/^\uFEFF?\s*<\?xml [^?<>]*\?>/, "")
  if (/<[!?]/.test(body)) {
    throw refusedError(`${name} must not have comments, CDATA, DOCTYPE or processing instructions`)
  }
  const root = await xmlRootOf(body.trim(), { name, bytesMax, bounds, refusedError })
  if (!root) throw refusedError(`${name} is empty`)
  mustBeModest(root, reading)
  return root
}

/** What anybody sends is read, and read again where it is signed: that takes some milliseconds. */
const requestSize: MessageSize = {
  most: messageMax,
  bounds: [
    ["<", 300, "tags"],
    ["=", 300, "equals signs"],
    ["xmlns", 30, "namespaces"],
    ["&", 500, "references"],
    ["\r", 20_000, "carriage returns"],
  ],
}

/**
 * What an identity provider says of somebody who was sent there. Some send every group, of which
 * Active Directory permits 1,015, and declare three attributes with each. Equals signs in text cost
 * nothing: each name of a group in a directory has several.
 */
export const responseSize: MessageSize = {
  most: 400_000,
  bounds: [
    ["<", 2400, "tags"],
    [/=[\t\n\r ]*["']/g, 4400, "attributes"],
    ["xmlns", 3300, "namespaces"],
    ["&", 4000, "references"],
    ["\r", 20_000, "carriage returns"],
  ],
}

/** SAML Core §1.3.4: an ID is unique. All spellings that anybody takes for one count. */
const idNames: readonly string[] = ["id", "assertionid", "requestid", "responseid"]

function mustBeModest(root: Element, { name, refusedError }: Reading): void {
  const ids = new Set<string>()
  let level: readonly Element[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > depthMax) throw refusedError(`${name} is nested more than ${depthMax} deep`)
    if (level.some(({ attributes }) => attributes.length > attributesMax)) {
      throw refusedError(`${name} has an element of more than ${attributesMax} attributes`)
    }
    if (level.some(hasLongNamespace)) {
      throw refusedError(`${name} has a namespace of more than ${namespaceMax} characters`)
    }
    for (const id of level.flatMap(idsOf)) {
      if (ids.has(id)) throw refusedError(`${name} has an ID twice`)
      ids.add(id)
    }
    level = level.flatMap(elementsIn)
  }
}

const hasLongNamespace = ({ attributes }: Element): boolean =>
  Array.from(attributes).some(
    ({ namespaceURI, value }) =>
      namespaceURI === "http://www.w3.org/2000/xmlns/" && value.length > namespaceMax,
  )

const idsOf = (of: Element): readonly string[] =>
  Array.from(of.attributes)
    .filter(({ localName }) => idNames.includes((localName ?? "").toLowerCase()))
    .map(({ value }) => value)

/** By what stands beside each: the list of a parent's nodes is counted again with each look. */
export function elementsIn(of: Element): readonly Element[] {
  const found: Element[] = []
  for (let node = of.firstChild; node; node = node.nextSibling) {
    if (isElement(node)) found.push(node)
  }
  return found
}

/** Whether an element is the one of this name. */
export const isNamed = (of: Element, prefix: Prefix, name: string): boolean =>
  of.namespaceURI === namespaces[prefix] && of.localName === name

/** The elements of a name right below another. */
export const childrenOf = (of: Element, prefix: Prefix, name: string): readonly Element[] =>
  elementsIn(of).filter((each) => isNamed(each, prefix, name))

/** All elements of a name, the root included, wherever they stand; in the order of the text. */
export function allOf(root: Element, prefix: Prefix, name: string): readonly Element[] {
  const found: Element[] = []
  const look = (of: Element) => {
    if (isNamed(of, prefix, name)) found.push(of)
    for (const each of elementsIn(of)) look(each)
  }
  look(root)
  return found
}

/** The one element of a name right below another, if there is one; refuses more. */
export function childOf(
  of: Element,
  [prefix, name]: readonly [Prefix, string],
  reading: Reading,
): Element | undefined {
  const [only, ...others] = childrenOf(of, prefix, name)
  if (others.length > 0) throw reading.refusedError(`${reading.name} has more than one ${name}`)
  return only
}

/** What an element says, which must be text alone; empty where there is none. */
export function textOf(of: Element | undefined, reading: Reading): string {
  if (!of) return ""
  if (elementsIn(of).length > 0) {
    throw reading.refusedError(`${reading.name} has elements where a text is expected`)
  }
  return textIn(of).trim()
}

/**
 * What stands right below an element that holds text alone. The text of a comment would be part of
 * it: `readMessage` lets none through.
 */
export function textIn(of: Element): string {
  let text = ""
  for (let node = of.firstChild; node; node = node.nextSibling) text += node.nodeValue ?? ""
  return text
}

/** An attribute; undefined where it is not there, or empty. */
export const attributeOf = (of: Element | undefined, name: string): string | undefined =>
  of?.getAttribute(name) || undefined

/** XML Schema's boolean. */
export const isTrue = (value: string | undefined): boolean => value === "true" || value === "1"

/** XML Schema's dateTime, ms UTC; undefined for what is none. SAML Core §1.3.3: in UTC. */
export function timeOf(value: string | undefined): number | undefined {
  if (!value || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?$/.test(value)) {
    return undefined
  }
  const time = Date.parse(/(Z|[+-]\d\d:\d\d)$/.test(value) ? value : `${value}Z`)
  return Number.isFinite(time) ? time : undefined
}

/** A time as SAML writes it; ms UTC. */
export const timeText = (ms: number): string => new Date(ms).toISOString()
