import { parseFont } from "../../../src/domain/asset/font.ts"
import { decodePicture } from "../../../src/domain/asset/picture/decode.ts"
import { looksLikeSvg, parseSvg } from "../../../src/domain/asset/svg.ts"
import { parseClientHello } from "../../../src/server/edge/acme/client-hello.ts"
import { fontWith, pngOf, svgWith } from "../../support/picture.ts"
import { fuzzTarget, requireEqual, requireProperty } from "../engine/target.ts"

const shapes =
  '<defs><linearGradient id="g"><stop offset="0" stop-color="red"/></linearGradient></defs>' +
  '<g transform="scale(2)"><path d="M0 0h9" fill="url(#g)" style="stroke:blue;opacity:.5"/></g>' +
  '<use xlink:href="#g" x="1"/><text>a &amp; b</text>'

/** SVG images, verified by an independent HTML parser. */
export const svg = fuzzTarget({
  name: "svg",
  seeds: () => [
    svgWith(shapes),
    svgWith('<metadata><x/></metadata><title>t</title><rect width="1" mask="url( #g )"/>'),
    `\ufeff<?xml version="1.0"?><!-- c --><svg xmlns="http://www.w3.org/2000/svg"/>`,
  ],
  tokens: [
    "script",
    "style",
    "image",
    "foreignObject",
    "animate",
    "set",
    "a",
    "iframe",
    "use",
    "svg",
    "onload",
    "ONLOAD",
    "href",
    "xlink:href",
    "style",
    "fill",
    "url(#a)",
    "url(http://a)",
    "javascript:alert(1)",
    "data:text/html,x",
    "&#x3c;",
    "<![CDATA[<script>]]>",
    "\\75rl(a)",
    "http://www.w3.org/1999/xhtml",
    "http://www.w3.org/2000/svg",
    "expression(1)",
    "@import",
  ],
  parse: async (input) => {
    const made = await parseSvg(new Uint8Array(input))
    return { text: Buffer.from(made.bytes).toString(), isSvg: looksLikeSvg(input) }
  },
  check: async ({ text, isSvg }) => {
    requireProperty(isSvg, "what is read as SVG looks like SVG")
    const again = await parseSvg(Buffer.from(text))
    requireEqual(Buffer.from(again.bytes).toString(), text, "what was written is read as the same")
    requireInert(text)
  },
})

const inertElements: ReadonlySet<string> = new Set([
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
  "lineargradient",
  "radialgradient",
  "stop",
  "clippath",
  "mask",
  "pattern",
])

function requireInert(text: string): void {
  const rewriter = new HTMLRewriter().on("*", {
    element: ({ tagName, attributes }) => {
      requireProperty(
        inertElements.has(tagName.toLowerCase()),
        `an HTML parser sees no other element: ${tagName}`,
      )
      for (const [name, value] of attributes) {
        requireProperty(
          !/^on|^style$|^src$/i.test(name),
          `an HTML parser sees no attribute that acts: ${name}`,
        )
        requireProperty(
          !/href/i.test(name) || value.startsWith("#"),
          "links stay within the picture",
        )
        requireProperty(!/url\(\s*["']?[^#"'\s]/i.test(value), "nothing is loaded")
      }
    },
  })
  rewriter.transform(text)
}

const gif = Buffer.from(
  "47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b",
  "hex",
)
const wideImage = Buffer.alloc(13)

/** Raster images: PNG, JPEG, WebP, and GIF. */
export const picture = fuzzTarget({
  name: "picture",
  seeds: async () => [
    await new Bun.Image(pngOf({ width: 3, height: 2 })).jpeg().bytes(),
    await new Bun.Image(pngOf({ width: 3, height: 2 })).webp().bytes(),
    pngOf({ width: 3, height: 2 }),
    pngOf({
      width: 2,
      height: 9,
      more: [
        ["tEXt", Buffer.from("a\0b")],
        ["iCCP", wideImage],
      ],
    }),
    pngOf({ width: 60_000, height: 60_000, pixels: Buffer.alloc(4) }),
    gif,
  ],
  tokens: ["IHDR", "IDAT", "IEND", "PLTE", "tRNS", "acTL", "RIFF", "VP8X", "GIF89a", "\xff\xd8"],
  parse: (input) => decodePicture(new Uint8Array(input), { side: 16, as: "png" }),
  check: (bytes) => {
    const view = Buffer.from(bytes)
    const [width, height] = [view.readUInt32BE(16), view.readUInt32BE(20)]
    requireProperty(width >= 1 && width <= 16 && height >= 1 && height <= 16, "no side is too long")
    for (let at = 8; at < view.length; at += 12 + view.readUInt32BE(at)) {
      const name = view.toString("latin1", at + 4, at + 8)
      requireProperty(
        /^(IHDR|PLTE|tRNS|IDAT|IEND)$/.test(name),
        `only pixels are left, not ${name}`,
      )
    }
  },
})

/** Fonts: WOFF2, WOFF, TTF and OTF. */
export const font = fuzzTarget({
  name: "font",
  seeds: () => {
    const packed = Buffer.alloc(64)
    packed.write("wOF2", "latin1")
    packed.writeUInt32BE(64, 8)
    return [fontWith(), fontWith(30, 2), packed, Buffer.concat([Buffer.from("true"), fontWith()])]
  },
  tokens: ["wOF2", "wOFF", "OTTO", "true", "\0\x01\0\0", "name"],
  parse: (input) => parseFont(new Uint8Array(input)),
  check: ({ bytes }, input) =>
    requireProperty(Buffer.from(bytes).equals(input), "a font is kept as it is"),
})

/** A ClientHello with a server name and protocols (RFC 8446 §4.1.2), in one record. */
function helloWith(host: string, protocols: readonly string[]): Buffer {
  const sized = (size: number, value: Buffer) => {
    const length = Buffer.alloc(size)
    length.writeUIntBE(value.length, 0, size)
    return Buffer.concat([length, value])
  }
  const extension = (type: number, value: Buffer) =>
    Buffer.concat([Buffer.from([0, type]), sized(2, value)])
  const name = sized(2, Buffer.concat([Buffer.from([0]), sized(2, Buffer.from(host))]))
  const list = sized(2, Buffer.concat(protocols.map((each) => sized(1, Buffer.from(each)))))
  const body = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32, 5),
    Buffer.from([0]),
    Buffer.from([0, 2, 0x13, 1]),
    Buffer.from([1, 0]),
    sized(2, Buffer.concat([extension(0, name), extension(16, list)])),
  ])
  const message = Buffer.concat([Buffer.from([1]), sized(3, body)])
  return Buffer.concat([Buffer.from([22, 3, 1]), sized(2, message)])
}

/** The first bytes of a TLS connection, which determine its destination. */
export const tlsHello = fuzzTarget({
  name: "tls-hello",
  seeds: () => [
    helloWith("id.example.com", ["h2", "http/1.1"]),
    helloWith("A.Example", ["acme-tls/1"]),
    helloWith("a", []).subarray(0, 30),
  ],
  tokens: ["\x16\x03\x01", "\0\0", "\0\x10", "acme-tls/1", "\xff\xff"],
  parse: (input) => ({ hello: parseClientHello(input), size: input.length }),
  check: ({ hello }, input) => {
    if (hello === undefined || hello === "more") return
    requireProperty(
      hello.host === undefined || hello.host === hello.host.toLowerCase(),
      "lower case",
    )
    // A connection delivers its bytes in pieces: nothing is decided before the message is complete.
    for (let size = 1; size < input.length; size += 1 + (size >> 2)) {
      const early = parseClientHello(input.subarray(0, size))
      requireProperty(early !== undefined, "the beginning of a hello is not rejected")
      if (early !== "more") requireEqual(early, hello, "more bytes do not change what was read")
    }
  },
})
