import { namespaces, type Prefix } from "./names.ts"

/**
 * An element to be written. Texts among the children are escaped, so that nothing that somebody
 * else has said becomes markup. Attributes have no prefix.
 */
export type Written = {
  readonly name: `${Prefix}:${string}`
  readonly attributes: Readonly<Record<string, string>>
  readonly children: readonly (Written | Raw | string)[]
}

/** XML that a library has written; it declares its namespaces itself. */
export type Raw = { readonly xml: string }

/** What may be left out stands there as undefined. */
type Attributes = Readonly<Record<string, string | undefined>>

/** Makes an element; attributes and children that are undefined are left out. */
export function element(
  name: Written["name"],
  attributes: Attributes = {},
  ...children: readonly (Written | Raw | string | undefined)[]
): Written {
  const given = Object.entries(attributes).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  )
  return {
    name,
    attributes: Object.fromEntries(given),
    children: children.filter((child) => child !== undefined),
  }
}

/**
 * Writes an element as Exclusive XML Canonicalization 1.0 would, except for what libraries have
 * written in it. A namespace is declared where it is used first, attributes are in order, no
 * element is empty by a slash.
 */
export function write(node: Written, declared: readonly Prefix[] = []): string {
  const prefix = prefixOf(node)
  const isNew = !declared.includes(prefix)
  const within = isNew ? [...declared, prefix] : declared
  const attributes = Object.entries(node.attributes)
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, value]) => ` ${name}="${escapedAttribute(allowed(value))}"`)
  const children = node.children.map((child) => {
    if (typeof child === "string") return escapedText(allowed(child))
    return "xml" in child ? child.xml : write(child, within)
  })
  const declaration = isNew ? ` xmlns:${prefix}="${namespaces[prefix]}"` : ""
  const begin = `<${node.name}${declaration}${attributes.join("")}>`
  return `${begin}${children.join("")}</${node.name}>`
}

const prefixes: readonly Prefix[] = ["ds", "md", "saml", "samlp", "xenc", "xenc11"]

function prefixOf({ name }: Written): Prefix {
  const prefix = prefixes.find((each) => name.startsWith(`${each}:`))
  if (!prefix) throw new Error(`an element without a namespace: ${name}`)
  return prefix
}

/** XML 1.0 §2.2: characters that no document can have are left out. */
const allowed = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is left out.
  text.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")

/** Canonical XML 1.0 §2.3, of text. */
export const escapedText = (text: string): string =>
  /[&<>\r]/.test(text)
    ? text
        .replaceAll("&", "&amp;")
        .replaceAll("<", "&lt;")
        .replaceAll(">", "&gt;")
        .replaceAll("\r", "&#xD;")
    : text

/** The same of values of attributes. */
export const escapedAttribute = (text: string): string =>
  /[&<"\t\n\r]/.test(text)
    ? text
        .replaceAll("&", "&amp;")
        .replaceAll("<", "&lt;")
        .replaceAll('"', "&quot;")
        .replaceAll("\t", "&#x9;")
        .replaceAll("\n", "&#xA;")
        .replaceAll("\r", "&#xD;")
    : text
