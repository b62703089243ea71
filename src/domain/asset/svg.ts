import { setImmediate as nextTurn } from "node:timers/promises"
import { Fault } from "../../kernel/fault.ts"
import {
  decodeXml,
  type Element,
  isElement,
  parseXml,
  type XmlReading,
} from "../../xml/document.ts"
import type { AssetFile } from "./file.ts"

const svgNs = "http://www.w3.org/2000/svg"

/** Shapes, text and paint. No scripts, external resources, animations or foreign content. */
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

/** Paint properties, which can also be in `style`. */
const paintProperties: ReadonlySet<string> = new Set([
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
  ...paintProperties,
])

/** Common elements that are not allowed, with their remedies. */
const remediesByElement: ReadonlyMap<string, string> = new Map([
  ["style", 'export it with "presentation attributes" instead of a style sheet'],
  ["image", "draw it with shapes, or send a PNG"],
  ["filter", "export it without shadows and effects, or send a PNG"],
])

/** The maximum number of drawn elements; each use of a copy, mask or pattern counts. */
const drawnMax = 20_000

const xmlLimits: XmlReading = {
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
  refusedError: (message) => invalidSvgError(message),
}

/** Whether the content starts like XML and is therefore meant to be an SVG. */
export const looksLikeSvg = (bytes: Uint8Array): boolean =>
  /^(\uFEFF|ï»¿)?\s*</.test(Buffer.from(bytes.subarray(0, 256)).toString("latin1"))

/**
 * Parses an SVG strictly and writes only the known elements and attributes. Elements that could run
 * or load something are rejected by name; editor metadata is dropped.
 */
export async function parseSvg(bytes: Uint8Array): Promise<AssetFile> {
  const root = await parseXml(decodeXml(bytes, xmlLimits), xmlLimits)
  // Each step takes some milliseconds for the largest file, so other requests are handled in
  // between.
  await nextTurn()
  if (root?.namespaceURI !== svgNs || root.localName !== "svg") {
    throw invalidSvgError("the file is no SVG: it must begin with <svg> in the namespace of SVG")
  }
  limitExpansion(root)
  await nextTurn()
  return { type: "svg", bytes: new Uint8Array(Buffer.from(writeElement(root, 0))) }
}

const elementDepthMax = 50

/** One element; empty for editor metadata. */
function writeElement(element: Element, depth: number): string {
  const { namespaceURI, localName } = element
  const name = localName ?? ""
  if (namespaceURI !== svgNs || name === "metadata") return ""
  if (!elements.has(name)) throw notAllowedError(`<${name}>`, remediesByElement.get(name))
  if (depth > elementDepthMax)
    throw invalidSvgError(`the SVG must be nested at most ${elementDepthMax} elements deep`)
  const attributeText = Object.entries(parseAttributes(element))
    .map(([key, value]) => ` ${key}="${escapeText(value)}"`)
    .join("")
  const own = depth === 0 ? ` xmlns="${svgNs}"` : ""
  const inside = Array.from(element.childNodes).map((node) => {
    if (isElement(node)) return writeElement(node, depth + 1)
    const isText = node.nodeType === node.TEXT_NODE || node.nodeType === node.CDATA_SECTION_NODE
    return isText ? escapeText(node.nodeValue ?? "") : ""
  })
  return `<${name}${own}${attributeText}>${inside.join("")}</${name}>`
}

/** Rejects an SVG that expands to many more elements or references itself. */
function limitExpansion(root: Element): void {
  const all = Array.from(root.getElementsByTagName("*"))
  const byId = new Map(all.map((each) => [each.getAttribute("id") ?? "", each]))
  const weights = new Map<Element, number>()
  const weightOf = (element: Element): number => {
    const known = weights.get(element)
    if (known !== undefined) return known
    // An element without a final weight references itself.
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
  throw invalidSvgError(`the SVG references itself, or expands to more than ${drawnMax} elements`)
}

function parseAttributes(element: Element): Readonly<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const { name, localName, value } of Array.from(element.attributes)) {
    if (/^on/i.test(localName ?? name)) throw notAllowedError(`the attribute ${name}`)
    if (localName === "href") {
      if (!/^#[\w.-]+$/.test(value)) throw notAllowedError(`a URL (${name})`, "embed the resource")
      found.href = value
    } else if (name === "style") Object.assign(found, parseStyle(value))
    else if (attributes.has(name)) found[name] = validateValue(name, value)
  }
  return found
}

/** The paint properties of a style as attributes; others are dropped. */
function parseStyle(style: string): Readonly<Record<string, string>> {
  const declarations = style.split(";").map((each) => each.split(":"))
  return Object.fromEntries(
    declarations.flatMap(([name = "", ...value]) => {
      const property = name.trim().toLowerCase()
      return paintProperties.has(property)
        ? [[property, validateValue(property, value.join(":").trim())]]
        : []
    }),
  )
}

/** The allowed functions: transforms, colors, and references within the picture. */
const functions = /^(matrix|translate|rotate|scale|skew[XY]|rgba?|hsla?|url)$/i

/** Throws unless references stay within the picture. */
function validateValue(name: string, value: string): string {
  const isLocal = Array.from(value.matchAll(/url\(\s*(["']?)(.?)/gi)).every(
    ([, , sign]) => sign === "#",
  )
  const isKnown = functionNamesIn(value).every((each) => functions.test(each))
  if (isLocal && isKnown && !/[\\<>{}@]|\/\*/.test(value)) return value
  throw notAllowedError(`a URL or a function (${name})`, "embed the resource")
}

/** Longer than the name of every allowed function. */
const nameMax = 12

/**
 * The text before each parenthesis. Only the last few characters are searched: an expression over
 * the whole value would take seconds for a value of spaces.
 */
const functionNamesIn = (value: string): readonly string[] =>
  value
    .split("(")
    .slice(0, -1)
    .map((before) => /[^\s,]*$/.exec(before.trimEnd().slice(-nameMax))?.[0] ?? "")

const escapeText = (text: string): string =>
  text.replace(/[&<>"'\r\n\t]/g, (sign) => `&#${sign.charCodeAt(0)};`)

const invalidSvgError = (message: string) =>
  new Fault("invalid_argument", "asset.svg_invalid", message)

const notAllowedError = (subject: string, remedy = "remove it") =>
  new Fault(
    "invalid_argument",
    "asset.svg_forbidden",
    `the SVG contains ${subject}, which is not allowed; ${remedy}`,
  )
