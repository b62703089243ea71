import { setImmediate as nextTurn } from "node:timers/promises"
import { Fault } from "../../kernel/fault.ts"
import {
  type Element,
  isElement,
  type XmlReading,
  xmlRootOf,
  xmlTextOf,
} from "../../xml/document.ts"
import type { File } from "./file.ts"

const svgNs = "http://www.w3.org/2000/svg"

/** Shapes, text and paint. Nothing that runs, loads, animates, or holds another language. */
const elements: ReadonlySet<string> = new Set([
  "svg",
  "g",
  "defs",
  "symbol",
  "use",
  "title",
  "desc",
  "path",
  "rect",
  "circle",
  "ellipse",
  "line",
  "polyline",
  "polygon",
  "text",
  "tspan",
  "linearGradient",
  "radialGradient",
  "stop",
  "clipPath",
  "mask",
  "pattern",
])

/** How something is painted; these may also stand in `style`. */
const paint: ReadonlySet<string> = new Set([
  "fill",
  "fill-opacity",
  "fill-rule",
  "stroke",
  "stroke-dasharray",
  "stroke-dashoffset",
  "stroke-linecap",
  "stroke-linejoin",
  "stroke-miterlimit",
  "stroke-opacity",
  "stroke-width",
  "opacity",
  "color",
  "display",
  "visibility",
  "overflow",
  "paint-order",
  "vector-effect",
  "clip-path",
  "clip-rule",
  "mask",
  "stop-color",
  "stop-opacity",
  "shape-rendering",
  "font-family",
  "font-size",
  "font-style",
  "font-weight",
  "letter-spacing",
  "text-anchor",
  "dominant-baseline",
  "word-spacing",
  "isolation",
  "mix-blend-mode",
])

const attributes: ReadonlySet<string> = new Set([
  "id",
  "width",
  "height",
  "viewBox",
  "preserveAspectRatio",
  "transform",
  "version",
  "d",
  "points",
  "x",
  "y",
  "x1",
  "y1",
  "x2",
  "y2",
  "cx",
  "cy",
  "r",
  "rx",
  "ry",
  "dx",
  "dy",
  "fx",
  "fy",
  "fr",
  "offset",
  "gradientUnits",
  "gradientTransform",
  "spreadMethod",
  "clipPathUnits",
  "maskUnits",
  "maskContentUnits",
  "patternUnits",
  "patternContentUnits",
  "patternTransform",
  "pathLength",
  "rotate",
  "textLength",
  "lengthAdjust",
  "role",
  ...paint,
])

/** What a picture may not have, and how one gets rid of it. */
const refusals: ReadonlyMap<string, string> = new Map([
  ["style", 'export it with "presentation attributes" instead of a style sheet'],
  ["image", "draw it with shapes, or send a PNG"],
  ["filter", "export it without shadows and effects, or send a PNG"],
])

/** What may be drawn: a copy, a mask or a pattern counts as often as it is used. */
const drawnMax = 20_000

const reading: XmlReading = {
  name: "the SVG",
  bytesMax: 256 * 1024,
  bounds: [
    ["<", 3000, "tags"],
    ["=", 4000, "attributes"],
    ["xmlns", 50, "namespaces"],
    ["&", 2000, "references"],
    ["--", 2000, "comments"],
    ["\r", 20_000, "carriage returns"],
  ],
  refusedError: (message) => refusedError(message),
}

/** Whether somebody means this to be an SVG: it begins as text with a tag does. */
export const looksLikeSvg = (bytes: Uint8Array): boolean =>
  /^(\uFEFF|ï»¿)?\s*</.test(Buffer.from(bytes.subarray(0, 256)).toString("latin1"))

/**
 * Reads an SVG strictly and writes it anew from the elements and attributes that are known here.
 * What could act or load something is refused by its name; notes of drawing programs are left out.
 */
export async function svgOf(bytes: Uint8Array): Promise<File> {
  const root = await xmlRootOf(xmlTextOf(bytes, reading), reading)
  // Each step takes some milliseconds for the largest: who waits is answered between them.
  await nextTurn()
  if (root?.namespaceURI !== svgNs || root.localName !== "svg") {
    throw refusedError("the file is no SVG: it must begin with <svg> in the namespace of SVG")
  }
  weigh(root)
  await nextTurn()
  return { type: "svg", bytes: new Uint8Array(Buffer.from(written(root, 0))) }
}

const depthMax = 50

/** One element, or nothing for a note of a drawing program. */
function written(element: Element, depth: number): string {
  const { namespaceURI, localName } = element
  const name = localName ?? ""
  if (namespaceURI !== svgNs || name === "metadata") return ""
  if (!elements.has(name)) throw forbiddenError(`<${name}>`, refusals.get(name))
  if (depth > depthMax) throw refusedError(`the SVG is nested deeper than ${depthMax} elements`)
  const said = Object.entries(attributesOf(element))
    .map(([key, value]) => ` ${key}="${escaped(value)}"`)
    .join("")
  const own = depth === 0 ? ` xmlns="${svgNs}"` : ""
  const inside = Array.from(element.childNodes).map((node) => {
    if (isElement(node)) return written(node, depth + 1)
    const isText = node.nodeType === node.TEXT_NODE || node.nodeType === node.CDATA_SECTION_NODE
    return isText ? escaped(node.nodeValue ?? "") : ""
  })
  return `<${name}${own}${said}>${inside.join("")}</${name}>`
}

/** Refuses what unrolls into much more than it is, or into itself. */
function weigh(root: Element): void {
  const all = Array.from(root.getElementsByTagName("*"))
  const byId = new Map(all.map((each) => [each.getAttribute("id") ?? "", each]))
  const weights = new Map<Element, number>()
  const weightOf = (element: Element): number => {
    const known = weights.get(element)
    if (known !== undefined) return known
    // Met again before it has a weight of its own, it holds itself.
    weights.set(element, Number.POSITIVE_INFINITY)
    const used = Array.from(element.attributes).flatMap(({ value }) =>
      Array.from(value.matchAll(/#([\w.-]+)/g), ([, id = ""]) => byId.get(id) ?? []).flat(),
    )
    const parts = [...Array.from(element.childNodes).filter(isElement), ...used]
    const weight = parts.reduce((sum, part) => sum + weightOf(part), 1)
    weights.set(element, weight)
    return weight
  }
  if (weightOf(root) <= drawnMax) return
  throw refusedError(`the SVG copies itself, or unrolls into more than ${drawnMax} elements`)
}

function attributesOf(element: Element): Readonly<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const { name, localName, value } of Array.from(element.attributes)) {
    if (/^on/i.test(localName ?? name)) throw forbiddenError(`the attribute ${name}`)
    if (localName === "href") {
      if (!/^#[\w.-]+$/.test(value))
        throw forbiddenError(`an address (${name})`, "embed what it loads")
      found.href = value
    } else if (name === "style") Object.assign(found, styleOf(value))
    else if (attributes.has(name)) found[name] = checked(name, value)
  }
  return found
}

/** A style as attributes; what is no paint is left out. */
function styleOf(style: string): Readonly<Record<string, string>> {
  const declarations = style.split(";").map((each) => each.split(":"))
  return Object.fromEntries(
    declarations.flatMap(([name = "", ...value]) => {
      const property = name.trim().toLowerCase()
      return paint.has(property) ? [[property, checked(property, value.join(":").trim())]] : []
    }),
  )
}

/** What may stand before a bracket: transforms, colours, and parts of the same picture. */
const functions = /^(matrix|translate|rotate|scale|skew[XY]|rgba?|hsla?|url)$/i

/** Values lead to parts of the same picture, and nowhere else. */
function checked(name: string, value: string): string {
  const isLocal = Array.from(value.matchAll(/url\(\s*(["']?)(.?)/gi)).every(
    ([, , sign]) => sign === "#",
  )
  const isKnown = calledIn(value).every((each) => functions.test(each))
  if (isLocal && isKnown && !/[\\<>{}@]|\/\*/.test(value)) return value
  throw forbiddenError(`an address or a function (${name})`, "embed what it loads")
}

/** Longer than all that may be called. */
const nameMax = 12

/**
 * What stands before each bracket. Each is looked for in the last few characters: an expression
 * over the whole would take seconds for a value of nothing but spaces.
 */
const calledIn = (value: string): readonly string[] =>
  value
    .split("(")
    .slice(0, -1)
    .map((before) => /[^\s,]*$/.exec(before.trimEnd().slice(-nameMax))?.[0] ?? "")

const escaped = (text: string): string =>
  text.replace(/[&<>"'\r\n\t]/g, (sign) => `&#${sign.charCodeAt(0)};`)

const refusedError = (message: string) =>
  new Fault("invalid_argument", "asset.svg_invalid", message)

const forbiddenError = (what: string, remedy = "remove it") =>
  new Fault(
    "invalid_argument",
    "asset.svg_forbidden",
    `the SVG has ${what}, which is not allowed; ${remedy}`,
  )
