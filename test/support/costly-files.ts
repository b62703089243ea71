// The costliest uploads, metadata, keys and imports. As for the other costly requests, the work for
// each is limited; images are decoded in a separate process.

import type { CostlyRequest } from "./costly-requests.ts"
import { onePixel, pngOf, svgWith, webpOfGroups } from "./picture.ts"

const boundary = "worst"
const multipart = `multipart/form-data; boundary=${boundary}`

const partOf = (content: Uint8Array, name = "file") =>
  Buffer.concat([
    Buffer.from(
      `--${boundary}\r\ncontent-disposition: form-data; name="${name}"; filename="a"\r\n\r\n`,
    ),
    content,
    Buffer.from("\r\n"),
  ])
const formOf = (...parts: readonly Uint8Array[]) =>
  new Uint8Array(Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]))

const avatar = "/assets/v1/users/me/avatar"
const logo = "/assets/v1/instance/policy/label/logo"

/** A progressive JPEG with many scans of a few bytes. */
async function jpegOfScans(count: number): Promise<Buffer> {
  const image = new Bun.Image(onePixel).resize(2000, 2000).jpeg({ progressive: true })
  const jpeg = Buffer.from(await image.bytes())
  const scan = jpeg.subarray(jpeg.lastIndexOf(Buffer.from([0xff, 0xda])), -2)
  const scans = Array.from({ length: count }, () => scan)
  return Buffer.concat([jpeg.subarray(0, -2), ...scans, jpeg.subarray(-2)])
}

const tall = pngOf({ width: 1, height: 4096 * 4096 })
const huge = pngOf({ width: 60_000, height: 60_000, pixels: Buffer.alloc(4) })

const owner = { as: "owner", type: multipart } as const
const costlyPictures: readonly CostlyRequest[] = [
  ...Object.entries({
    "a WebP of 65,536 codes": [webpOfGroups(65_536), /^400 .*more than 256 MB of memory/],
    "a JPEG of 15,000 scans": [await jpegOfScans(15_000), /^400 .*at most 100 scans/],
    "a PNG of 3.6 billion pixels": [huge, /^400 .*16 million pixels/],
    "a PNG of 16 million rows": [tall, /^200 /],
    "half a megabyte of anything": [Buffer.alloc(500_000, "abcdef"), /^400 .*not a valid picture/],
  } as const).map(
    ([what, [file, answer]]): CostlyRequest => ({
      ...owner,
      decoder: "picture",
      what,
      path: logo,
      body: formOf(partOf(file)),
      answer,
    }),
  ),
  ...Object.entries({
    "2,900 tags": ["<g/>".repeat(2900), /^200 /],
    "uses that double 1,000 times": [
      Array.from({ length: 1000 }, (_, at) => `<g id="a${at}"><use href="#a${at + 1}"/></g>`).join(
        "",
      ),
      /^(200|400) /,
    ],
    "brackets alone": [`<g d="${"a(".repeat(100_000)}"/>`, /^400 /],
    "250 kB of spaces": [`<g d="${" ".repeat(250_000)}"/>`, /^200 /],
    "250 kB of a style": [`<g style="${"fill:red;".repeat(27_000)}"/>`, /^200 /],
    "1,400 tags in a stack": [
      "<g>".repeat(1400) + "</g>".repeat(1400),
      /^400 .*nested at most \d+ elements deep/,
    ],
  } as const).map(
    ([what, [inside, answer]]): CostlyRequest => ({
      ...owner,
      decoder: "SVG",
      what,
      path: logo,
      body: formOf(partOf(svgWith(inside))),
      answer,
    }),
  ),
  ...Object.entries({
    "10,000 parts": [
      formOf(...Array.from({ length: 10_000 }, () => partOf(onePixel, "x"))),
      /^400 .*at most 20 parts/,
    ],
    "1.4 MB without an end": [
      new Uint8Array(partOf(Buffer.alloc(1_400_000, "\r\n--wors"))),
      /^400 .*the form must be valid multipart/,
    ],
    "1.4 MB of a head": [
      new Uint8Array(Buffer.from(`--${boundary}\r\n${"a:b\r\n".repeat(280_000)}`)),
      /^400 .*multipart/,
    ],
  } as const).map(
    ([what, [body, answer]]): CostlyRequest => ({
      ...owner,
      decoder: "multipart",
      what,
      path: avatar,
      body,
      answer,
    }),
  ),
]

const json = "application/json"
const nestArrays = (depth: number) => "[".repeat(depth) + "]".repeat(depth)
const members = (count: number) => Array.from({ length: count }, (_, at) => `"a${at}":{}`).join()
const authorizing = "/oauth/v2/authorize?client_id=$client&claims="
const users = (count: number) =>
  Array.from({ length: count }, (_, at) => `{"userId":"w${at}","user":{}}`).join()

const otherFiles: readonly CostlyRequest[] = [
  ...Object.entries({
    "9,000 lists in a list": [`{"dataOrgs":${nestArrays(4500)}}`, /^400 /],
    "2,400 users without a name": [
      `{"dataOrgs":{"orgs":[{"orgId":"$fresh","org":{"name":"worst"},` +
        `"humanUsers":[${users(2400)}]}]}}`,
      /^(200|400) /,
    ],
    "1 MB of an organization": [`{"dataOrgs":{"orgs":[${"{},".repeat(300_000)}{}]}}`, /many_parts/],
  } as const).map(
    ([what, [body, answer]]): CostlyRequest => ({
      decoder: "JSON import",
      what,
      as: "owner",
      path: "/admin/v1/import",
      type: json,
      body,
      answer,
    }),
  ),
  ...Object.entries({
    "14 kB of lists": nestArrays(5000),
    "14 kB of members": `{"userinfo":{${members(1400)}}}`,
  }).map(
    ([what, claims]): CostlyRequest => ({
      decoder: "claims parameter",
      what,
      as: "stranger",
      answer: /^(400|302|303|431) /,
      path: authorizing + encodeURIComponent(claims).slice(0, 14_000),
    }),
  ),
  ...Object.entries({
    "16 kB of lists": nestArrays(8000),
    "1 MB of spaces": " ".repeat(1024 * 1024),
    "16 kB of redirect URIs": `{"redirect_uris":[${'"a",'.repeat(3900)}"a"]}`,
    "600 keys": `{"jwks":{"keys":[${'{"kty":"RSA","n":"AQ"},'.repeat(600)}{}]}}`,
  }).map(
    ([what, body]): CostlyRequest => ({
      decoder: "client registration",
      what,
      as: "stranger",
      path: "/oauth/v2/register",
      type: json,
      body,
      answer: /^(400|401|403|413) /,
    }),
  ),
  ...Object.entries({
    "700 kB of PEM": "-----BEGIN PUBLIC KEY-----\n".repeat(26_000),
    "700 kB of one line": `-----BEGIN PUBLIC KEY-----\n${"A".repeat(700_000)}`,
    // RFC 8017 §A.1.1: SEQUENCE { INTEGER of 65,000 bytes, INTEGER 65537 }.
    "a modulus of half a million bits": pemOf(65_000),
  }).map(
    ([what, pem]): CostlyRequest => ({
      decoder: "keys",
      what,
      as: "owner",
      path: "/core.user.v2.UserService/AddKey",
      type: json,
      answer: /^400 /,
      body: JSON.stringify({ userId: "$user", publicKey: Buffer.from(pem).toString("base64") }),
    }),
  ),
]

function pemOf(bytes: number): string {
  const length = (size: number) => Buffer.from([0x83, size >> 16, (size >> 8) & 0xff, size & 0xff])
  const tagged = (tag: number, content: Buffer) =>
    Buffer.concat([Buffer.from([tag]), length(content.length), content])
  const modulus = tagged(2, Buffer.alloc(bytes, 0x7f))
  const key = tagged(0x30, Buffer.concat([modulus, Buffer.from("0203010001", "hex")]))
  const algorithm = Buffer.from("300d06092a864886f70d0101010500", "hex")
  const bits = tagged(3, Buffer.concat([Buffer.from([0]), key]))
  const info = tagged(0x30, Buffer.concat([algorithm, bits]))
  return `-----BEGIN PUBLIC KEY-----\n${info.toString("base64")}\n-----END PUBLIC KEY-----\n`
}

export const costlyFiles: readonly CostlyRequest[] = [...costlyPictures, ...otherFiles]
