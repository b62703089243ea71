import { type Element, isElement } from "./document.ts"
import { escapeAttribute, escapeText } from "./write.ts"

type Attribute = Element["attributes"][number]

/**
 * A namespace with its prefix; the prefix is empty for the default namespace, and the URI for none.
 */
export type Binding = readonly [prefix: string, uri: string]
type Bindings = Map<string, string>

/**
 * Exclusive XML Canonicalization 1.0 of an element read by `readMessage`: only elements, attributes
 * and text. The prefixes of `inclusive` (§4, InclusiveNamespaces) are declared wherever they are
 * bound; `around` contains their bindings outside the element. The output parses as the same
 * element.
 * The canonicalization of `xml-crypto` 6.3.2 is not used, because it rejects valid signatures: it
 * repeats `xmlns=""` on each child, does not escape namespaces, sorts prefixes in dictionary order
 * and attributes by the concatenation of namespace and name, omits attributes whose names start
 * with `xmlns`, and ignores `#default` in a PrefixList.
 */
export function canonicalize(
  of: Element,
  inclusive: readonly string[] = [],
  around?: readonly Binding[],
): string {
  const prefixes = new Set(inclusive.map((prefix) => (prefix === "#default" ? "" : prefix)))
  const outside = around?.filter(([prefix]) => prefixes.has(prefix)) ?? bindingsAround(of, prefixes)
  const bound = new Map(outside)
  return writeElement(of, { declared: new Map([["", ""]]), bound, prefixes })
}

/**
 * The inherited context of an element. It is modified while the element is written: copying it
 * would cost as many prefixes as there are elements for every signature check.
 */
type NamespaceScope = {
  /** The namespaces that the output has declared. */
  readonly declared: Bindings
  /** The bindings of the inclusive prefixes. */
  readonly bound: Bindings
  readonly prefixes: ReadonlySet<string>
}

const xmlNamespace = "http://www.w3.org/XML/1998/namespace"
const xmlnsNamespace = "http://www.w3.org/2000/xmlns/"

function writeElement(of: Element, scope: NamespaceScope): string {
  const { declared, bound, prefixes } = scope
  const { bindings, attributes } = sortAttributes(of)
  const own = bindings.filter(([prefix]) => prefixes.has(prefix))
  const unbind = bind(bound, own)
  const needed = new Map([...bound, ...usedPrefixes(of, attributes)])
  const added = [...needed].filter(([prefix, uri]) => declared.get(prefix) !== uri)
  const undeclare = bind(declared, added)
  const names = added
    .sort(([left], [right]) => compareText(left, right))
    .map(([prefix, uri]) => formatAttribute(prefix === "" ? "xmlns" : `xmlns:${prefix}`, uri))
  const said = attributes
    .sort(compareAttributes)
    .map(({ name, value }) => formatAttribute(name, value))
  let inside = ""
  for (let child = of.firstChild; child; child = child.nextSibling) {
    inside += isElement(child) ? writeElement(child, scope) : textOfNode(child)
  }
  undeclare()
  unbind()
  return `<${of.tagName}${names.join("")}${said.join("")}>${inside}</${of.tagName}>`
}

/** Adds bindings; the returned function removes them. */
function bind(bindings: Bindings, added: readonly Binding[]): () => void {
  const before = added.map(([prefix]) => [prefix, bindings.get(prefix)] as const)
  for (const [prefix, uri] of added) bindings.set(prefix, uri)
  return () => {
    for (const [prefix, uri] of before) {
      if (uri === undefined) bindings.delete(prefix)
      else bindings.set(prefix, uri)
    }
  }
}

const formatAttribute = (name: string, value: string): string =>
  ` ${name}="${escapeAttribute(value)}"`

/** Attributes except namespace declarations (Namespaces in XML 1.0 §3). */
function sortAttributes(of: Element) {
  const bindings: Binding[] = []
  const attributes: Attribute[] = []
  for (const attribute of Array.from(of.attributes)) {
    const { namespaceURI, prefix, localName, value } = attribute
    if (namespaceURI !== xmlnsNamespace) attributes.push(attribute)
    else bindings.push([prefix === null ? "" : (localName ?? ""), value])
  }
  return { bindings, attributes }
}

/** Other nodes, such as comments, would be lost or become text; `readMessage` rejects them. */
function textOfNode({ nodeType, nodeValue }: Element["childNodes"][number]): string {
  if (nodeType !== 3) throw new Error(`unexpected node of type ${nodeType} among elements and text`)
  return escapeText(nodeValue ?? "")
}

/** §3: the prefixes of the element and its attributes; `xml` is always bound. */
const usedPrefixes = (of: Element, attributes: readonly Attribute[]) =>
  [of, ...attributes.filter(({ prefix }) => prefix !== null)]
    .filter(({ prefix, namespaceURI }) => prefix !== "xml" || namespaceURI !== xmlNamespace)
    .map(({ prefix, namespaceURI }) => [prefix ?? "", namespaceURI ?? ""] as const)

/** The bindings of prefixes around an element, outermost first. */
function bindingsAround(of: Element, prefixes: ReadonlySet<string>): readonly Binding[] {
  const around = of.parentNode
  if (!around || !isElement(around)) return []
  const own = sortAttributes(around).bindings.filter(([prefix]) => prefixes.has(prefix))
  return [...bindingsAround(around, prefixes), ...own]
}

/** Canonical XML 1.0 §2.2: by namespace and local name; no namespace comes first. */
const compareAttributes = (left: Attribute, right: Attribute): number =>
  compareText(left.namespaceURI ?? "", right.namespaceURI ?? "") ||
  compareText(left.localName ?? "", right.localName ?? "")

/**
 * By code points. UTF-16 order differs for characters above U+FFFF; names with them are rejected.
 */
const compareText = (left: string, right: string): number =>
  left === right ? 0 : left < right ? -1 : 1
