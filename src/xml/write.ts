import { namespaces, type Prefix } from "./names.ts"

/**
 * An element to serialize. Texts among the children are escaped, so that external input can't
 * become markup. Attributes have no prefix.
 */
export type XmlNode = {
  readonly name: `${Prefix}:${string}`
  readonly attributes: Readonly<Record<string, string>>
  readonly children: readonly (XmlNode | RawXml | string)[]
}

/** XML that a library has serialized; it declares its own namespaces. */
export type RawXml = { readonly xml: string }

/** Undefined values are omitted. */
type Attributes = Readonly<Record<string, string | undefined>>

/** Creates an element; undefined attributes and children are omitted. */
export function element(
  name: XmlNode["name"],
  attributes: Attributes = {},
  ...children: readonly (XmlNode | RawXml | string | undefined)[]
): XmlNode {
  const attribute = Object.entries(attributes).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  )
  return {
    name,
    attributes: Object.fromEntries(attribute),
    children: children.filter((child) => child !== undefined),
  }
}

/**
 * Serializes an element in the form of Exclusive XML Canonicalization 1.0, except for XML from
 * libraries. Namespaces are declared on first use, attributes are sorted, and empty elements have
 * an end tag.
 */
export function serialize(node: XmlNode, declared: readonly Prefix[] = []): string {
  const prefix = prefixOf(node)
  const isNew = !declared.includes(prefix)
  const within = isNew ? [...declared, prefix] : declared
  const attributes = Object.entries(node.attributes)
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, value]) => ` ${name}="${escapeAttribute(removeIllegal(value))}"`)
  const children = node.children.map((child) => {
    if (typeof child === "string") return escapeText(removeIllegal(child))
    return "xml" in child ? child.xml : serialize(child, within)
  })
  const declaration = isNew ? ` xmlns:${prefix}="${namespaces[prefix]}"` : ""
  const begin = `<${node.name}${declaration}${attributes.join("")}>`
  return `${begin}${children.join("")}</${node.name}>`
}

const prefixes: readonly Prefix[] = ["ds", "md", "saml", "samlp", "xenc", "xenc11"]

function prefixOf({ name }: XmlNode): Prefix {
  const prefix = prefixes.find((each) => name.startsWith(`${each}:`))
  if (!prefix) throw new Error(`missing namespace in element ${name}`)
  return prefix
}

/** XML 1.0 §2.2: removes characters that are not allowed in a document. */
const removeIllegal = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove.
  text.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")

/** Canonical XML 1.0 §2.3, for text. */
export const escapeText = (text: string): string =>
  /[&<>\r]/.test(text)
    ? text
        .replaceAll("&", "&amp;")
        .replaceAll("<", "&lt;")
        .replaceAll(">", "&gt;")
        .replaceAll("\r", "&#xD;")
    : text

/** The same for attribute values. */
export const escapeAttribute = (text: string): string =>
  /[&<"\t\n\r]/.test(text)
    ? text
        .replaceAll("&", "&amp;")
        .replaceAll("<", "&lt;")
        .replaceAll('"', "&quot;")
        .replaceAll("\t", "&#x9;")
        .replaceAll("\n", "&#xA;")
        .replaceAll("\r", "&#xD;")
    : text
