import { describe, expect, test } from "vitest"
import { costMeter, pictureApart } from "../../../src/domain/asset/picture.ts"
import { svgOf } from "../../../src/domain/asset/svg.ts"
import { Fault } from "../../../src/kernel/fault.ts"
import { fitsWildcards } from "../../../src/protocol/wildcard.ts"
import { onePixel, pngOf, svgWith, webpOfGroups } from "../../support/picture.ts"
import { worked } from "../../support/work.ts"

const progressive = async (side: number) =>
  Buffer.from(await new Bun.Image(onePixel).resize(side, side).jpeg({ progressive: true }).bytes())

/** A progressive JPEG whose last scan, of a few bytes, is repeated. */
async function jpegOfScans(count: number, side = 2000): Promise<Uint8Array<ArrayBuffer>> {
  const jpeg = await progressive(side)
  const last = jpeg.lastIndexOf(Buffer.from([0xff, 0xda]))
  const scan = jpeg.subarray(last, -2)
  const more = Array.from({ length: count }, () => scan)
  return new Uint8Array(Buffer.concat([jpeg.subarray(0, -2), ...more, jpeg.subarray(-2)]))
}

const avatar = { side: 512, as: "webp" } as const
const sent = (bytes: Buffer) => new Uint8Array(bytes)

test("a picture that takes too much memory is refused, and one that takes less isn't", async () => {
  const bomb = pictureApart(sent(webpOfGroups(65_536)), avatar, "1/1")
  await expect(bomb).rejects.toMatchObject({
    id: "asset.too_costly",
    message: expect.stringContaining("more than 256 MB of memory"),
  })
  expect(await pictureApart(sent(webpOfGroups(2000)), avatar, "1/1")).toMatchObject({
    type: "webp",
  })
})

test.each([
  ["its computing time", { workMs: 0, waitMs: 30_000 }],
  ["its time", { workMs: 10_000, waitMs: 0 }],
])("the process that reads a picture is ended after %s", async (_, bounds) => {
  const budget = { memoryMax: Number.POSITIVE_INFINITY, ...bounds }
  const picture = sent(pngOf({ width: 4096, height: 4096 }))
  const ended = pictureApart(picture, avatar, "1/1", budget)
  await expect(ended).rejects.toMatchObject({ id: "asset.too_costly" })
  expect(await pictureApart(sent(onePixel), avatar, "1/1")).toMatchObject({ type: "webp" })
})

test("what a process costs is read while it runs, and is nothing once it has ended", async () => {
  const child = Bun.spawn(["cat"], { stdin: "pipe" })
  const cost = costMeter(child.pid)
  expect(cost.now()).toMatchObject({ memory: expect.any(Number) })
  await child.stdin.end()
  await child.exited
  expect(cost.now()).toEqual({})
  cost.close()
})

/** Half of what a picture may cost. */
const half = { workMs: 2000, memoryMax: Number.POSITIVE_INFINITY, waitMs: 60_000 }

describe("what others send is decoded within a fraction of its budget:", () => {
  const rows: readonly (readonly [string, () => Promise<Uint8Array<ArrayBuffer>>])[] = [
    ["a JPEG as programs save it", async () => sent(await progressive(64))],
    ["a JPEG at the limits of scans and pixels", () => jpegOfScans(90, 4096)],
    ["a PNG at the limit of pixels", async () => sent(pngOf({ width: 4096, height: 4096 }))],
    ["a PNG of rows of one pixel", async () => sent(pngOf({ width: 1, height: 4096 * 4096 }))],
    ["a WebP of as many codes as there can be", async () => sent(webpOfGroups(65_536))],
  ]
  test.each(rows)("%s", async (_, made) => {
    expect(await pictureApart(await made(), avatar, "1/1", half)).toMatchObject({ type: "webp" })
  })

  test("a JPEG of 15,000 scans", async () => {
    const ended = pictureApart(await jpegOfScans(15_000), avatar, "1/1", half)
    await expect(ended).rejects.toMatchObject({ id: "asset.too_many_scans" })
  })

  const largePath = `<path d="${"M0 0".repeat(60_000)}"/>`
  const texts: readonly (readonly [string, () => Promise<unknown>, unknown])[] = [
    [
      "an SVG of one long path",
      () => svgOf(sent(svgWith(largePath))),
      expect.objectContaining({ type: "svg" }),
    ],
    [
      "an SVG of nothing but brackets",
      () => refusalOf(svgOf(sent(svgWith(`<g d="${"a(".repeat(100_000)}"/>`)))),
      "asset.svg_forbidden",
    ],
    [
      "an address against a redirect URI with wildcards",
      async () =>
        fitsWildcards(
          `https://${"a*.".repeat(50)}example.com/${"b*/".repeat(200)}`,
          `https://${"aaaa.".repeat(50)}example.com/${"b".repeat(1500)}!`,
        ),
      false,
    ],
  ]
  test.each(texts)("%s", async (_, decode, outcome) => {
    const [decoded, computedMs] = await worked(decode)
    expect(decoded).toEqual(outcome)
    expect(computedMs).toBeLessThan(half.workMs)
  })
})

const refusalOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (cause: unknown) => (cause instanceof Fault ? cause.id : cause),
  )

test("pictures of one organization don't keep those of another waiting", async () => {
  const picture = sent(pngOf({ width: 2000, height: 2000 }))
  const order: string[] = []
  const upload = async (line: string) => {
    await pictureApart(picture, avatar, line)
    order.push(line)
  }
  const many = Array.from({ length: 9 }, () => upload("1/crowd"))
  await expect(upload("1/crowd")).rejects.toMatchObject({ id: "asset.busy" })
  await Promise.all([...many, upload("1/other")])
  expect(order.indexOf("1/other")).toBeLessThanOrEqual(2)
})
