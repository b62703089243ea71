import { type Element, isElement } from "./document.ts"
import { escapedAttribute, escapedText } from "./write.ts"

type Attribute = Element["attributes"][number]

/** A namespace by its prefix; that of the default namespace is empty, and so is no namespace. */
export type Binding = readonly [prefix: string, uri: string]
type Bindings = Map<string, string>

/**
 * Exclusive XML Canonicalization 1.0 of an element where it stands in what `readMessage` has read:
 * elements, attributes and text alone. The prefixes of `inclusive` (§4, InclusiveNamespaces) are
 * declared wherever they are bound; `around` is what they are bound to outside the element.
 * Whatever it writes reads as the same element again.
 *
 * The canonicalization of `xml-crypto` 6.3.2 is not used, because it rejects valid signatures: it
 * writes `xmlns=""` again on each child, does not escape namespaces, sorts prefixes as a dictionary
 * does and attributes by namespace and name joined, leaves out attributes whose names begin with
 * `xmlns`, and ignores `#default` in a PrefixList.
 */
export function canonical(
  of: Element,
  inclusive: readonly string[] = [],
  around?: readonly Binding[],
): string {
  const prefixes = new Set(inclusive.map((prefix) => (prefix === "#default" ? "" : prefix)))
  const outside = around?.filter(([prefix]) => prefixes.has(prefix)) ?? boundAround(of, prefixes)
  const bound = new Map(outside)
  return written(of, { declared: new Map([["", ""]]), bound, prefixes })
}

/**
 * What an element has from those that it stands in. An element adds its own for as long as it is
 * written: to copy all of it would cost whoever checks a signature as many prefixes as there are
 * elements, each time.
 */
type Scope = {
  /** What the output has declared there. */
  readonly declared: Bindings
  /** What the inclusive prefixes are bound to there. */
  readonly bound: Bindings
  readonly prefixes: ReadonlySet<string>
}

const xmlNamespace = "http://www.w3.org/XML/1998/namespace"
const xmlnsNamespace = "http://www.w3.org/2000/xmlns/"

function written(of: Element, scope: Scope): string {
  const { declared, bound, prefixes } = scope
  const { bindings, attributes } = sorted(of)
  const own = bindings.filter(([prefix]) => prefixes.has(prefix))
  const unbind = bind(bound, own)
  const needed = new Map([...bound, ...usedBy(of, attributes)])
  const added = [...needed].filter(([prefix, uri]) => declared.get(prefix) !== uri)
  const undeclare = bind(declared, added)
  const names = added
    .sort(([left], [right]) => inOrder(left, right))
    .map(([prefix, uri]) => pair(prefix === "" ? "xmlns" : `xmlns:${prefix}`, uri))
  const said = attributes.sort(byName).map(({ name, value }) => pair(name, value))
  let inside = ""
  for (let child = of.firstChild; child; child = child.nextSibling) {
    inside += isElement(child) ? written(child, scope) : textOf(child)
  }
  undeclare()
  unbind()
  return `<${of.tagName}${names.join("")}${said.join("")}>${inside}</${of.tagName}>`
}

/** Binds prefixes until that is undone. */
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

const pair = (name: string, value: string): string => ` ${name}="${escapedAttribute(value)}"`

/** Attributes apart from those that only bind prefixes (Namespaces in XML 1.0 §3). */
function sorted(of: Element) {
  const bindings: Binding[] = []
  const attributes: Attribute[] = []
  for (const attribute of Array.from(of.attributes)) {
    const { namespaceURI, prefix, localName, value } = attribute
    if (namespaceURI !== xmlnsNamespace) attributes.push(attribute)
    else bindings.push([prefix === null ? "" : (localName ?? ""), value])
  }
  return { bindings, attributes }
}

/** A comment or the like would be lost, or be text; `readMessage` lets none through. */
function textOf({ nodeType, nodeValue }: Element["childNodes"][number]): string {
  if (nodeType !== 3) throw new Error(`a node of type ${nodeType} among elements and text`)
  return escapedText(nodeValue ?? "")
}

/** §3: prefixes of the element and of its attributes; `xml` is bound by itself. */
const usedBy = (of: Element, attributes: readonly Attribute[]) =>
  [of, ...attributes.filter(({ prefix }) => prefix !== null)]
    .filter(({ prefix, namespaceURI }) => prefix !== "xml" || namespaceURI !== xmlNamespace)
    .map(({ prefix, namespaceURI }) => [prefix ?? "", namespaceURI ?? ""] as const)

/** What prefixes are bound to around an element, outermost first. */
function boundAround(of: Element, prefixes: ReadonlySet<string>): readonly Binding[] {
  const around = of.parentNode
  if (!around || !isElement(around)) return []
  const own = sorted(around).bindings.filter(([prefix]) => prefixes.has(prefix))
  return [...boundAround(around, prefixes), ...own]
}

/** Canonical XML 1.0 §2.2: by namespace and local name; what has no namespace comes first. */
const byName = (left: Attribute, right: Attribute): number =>
  inOrder(left.namespaceURI ?? "", right.namespaceURI ?? "") ||
  inOrder(left.localName ?? "", right.localName ?? "")

/** By code points. UTF-16 has those above U+FFFF in another place: what is named so is refused. */
const inOrder = (left: string, right: string): number =>
  left === right ? 0 : left < right ? -1 : 1
