import { describe, expect, test } from "vitest"
import { pictureOf } from "../../../src/domain/asset/picture.ts"
import { svgApart } from "../../../src/domain/asset/svg-thread.ts"
import { fitsWildcards } from "../../../src/kernel/text/wildcard.ts"
import { onePixel, pngOf, svgWith } from "../../support/picture.ts"

const progressive = async (side: number) =>
  Buffer.from(await new Bun.Image(onePixel).resize(side, side).jpeg({ progressive: true }).bytes())

/** A progressive JPEG whose last scan, of a few bytes, is repeated. */
async function jpegOfScans(count: number): Promise<Uint8Array<ArrayBuffer>> {
  const jpeg = await progressive(2000)
  const last = jpeg.lastIndexOf(Buffer.from([0xff, 0xda]))
  const scan = jpeg.subarray(last, -2)
  const more = Array.from({ length: count }, () => scan)
  return new Uint8Array(Buffer.concat([jpeg.subarray(0, -2), ...more, jpeg.subarray(-2)]))
}

const avatar = { side: 512, as: "webp" } as const
const sent = (bytes: Buffer) => new Uint8Array(bytes)

describe("what others send is decoded within a second:", () => {
  const largePath = `<path d="${"M0 0".repeat(60_000)}"/>`
  const rows: readonly (readonly [string, () => Promise<unknown>, string | undefined])[] = [
    [
      "a JPEG of 15,000 scans",
      async () => pictureOf(await jpegOfScans(15_000), avatar, "1/1"),
      "asset.too_many_scans",
    ],
    [
      "a JPEG as programs save it",
      async () => pictureOf(sent(await progressive(64)), avatar, ""),
      undefined,
    ],
    [
      "a PNG at the limit of pixels",
      () => pictureOf(sent(pngOf({ width: 4096, height: 512 })), avatar, ""),
      undefined,
    ],
    ["an SVG of one long path", () => svgApart(sent(svgWith(largePath)), "1/1"), undefined],
    [
      "an SVG of nothing but brackets",
      () => svgApart(sent(svgWith(`<g d="${"a(".repeat(100_000)}"/>`)), "1/1"),
      "asset.svg_forbidden",
    ],
    [
      "an address against a redirect URI with wildcards",
      async () =>
        fitsWildcards(
          `https://${"a*.".repeat(50)}example.com/${"b*/".repeat(200)}`,
          `https://${"aaaa.".repeat(50)}example.com/${"b".repeat(1500)}!`,
        ),
      undefined,
    ],
  ]
  test.each(rows)("%s", { timeout: 20_000 }, async (_, decode, id) => {
    const before = process.cpuUsage()
    const work = decode()
    if (id === undefined) await work
    else await expect(work).rejects.toMatchObject({ id })
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1000).toBeLessThan(1500)
  })
})

test("pictures of one organization don't keep those of another waiting", async () => {
  const picture = sent(pngOf({ width: 2000, height: 2000 }))
  const order: string[] = []
  const upload = async (line: string) => {
    await pictureOf(picture, avatar, line)
    order.push(line)
  }
  const many = Array.from({ length: 9 }, () => upload("1/crowd"))
  await expect(upload("1/crowd")).rejects.toMatchObject({ id: "asset.busy" })
  await Promise.all([...many, upload("1/other")])
  expect(order.indexOf("1/other")).toBeLessThanOrEqual(2)
})
