import { describe, expect, test } from "vitest"
import { decodeInProcess, openUsageMeter } from "../../../src/domain/asset/picture.ts"
import { parseSvg } from "../../../src/domain/asset/svg.ts"
import { Fault } from "../../../src/kernel/fault.ts"
import { matchesWildcards } from "../../../src/protocol/wildcard.ts"
import { measureCpu } from "../../support/cpu-time.ts"
import { onePixel, pngOf, svgWith, webpOfGroups } from "../../support/picture.ts"

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
const asBytes = (bytes: Buffer) => new Uint8Array(bytes)

test("rejects a picture that takes too much memory, and accepts one that takes less", async () => {
  const bomb = decodeInProcess(asBytes(webpOfGroups(65_536)), avatar, "1/1")
  await expect(bomb).rejects.toMatchObject({
    id: "asset.too_costly",
    message: expect.stringContaining("more than 256 MB of memory"),
  })
  expect(await decodeInProcess(asBytes(webpOfGroups(2000)), avatar, "1/1")).toMatchObject({
    type: "webp",
  })
})

test.each([
  ["its computing time", { workMs: 0, waitMs: 30_000 }],
  ["its time", { workMs: 10_000, waitMs: 0 }],
])("the decoding process is ended after %s", async (_, bounds) => {
  const budget = { memoryMax: Number.POSITIVE_INFINITY, ...bounds }
  const picture = asBytes(pngOf({ width: 4096, height: 4096 }))
  const ended = decodeInProcess(picture, avatar, "1/1", budget)
  await expect(ended).rejects.toMatchObject({ id: "asset.too_costly" })
  expect(await decodeInProcess(asBytes(onePixel), avatar, "1/1")).toMatchObject({ type: "webp" })
})

test("the cost of a process is measured while it runs, and zero after it has ended", async () => {
  const child = Bun.spawn(["cat"], { stdin: "pipe" })
  const cost = openUsageMeter(child.pid)
  expect(cost.now()).toMatchObject({ memory: expect.any(Number) })
  await child.stdin.end()
  await child.exited
  expect(cost.now()).toEqual({})
  cost.close()
})

/** Half of the limits for one picture. */
const halfLimits = { workMs: 2000, memoryMax: Number.POSITIVE_INFINITY, waitMs: 60_000 }

describe("uploads are decoded within a fraction of the limits:", () => {
  const rows: readonly (readonly [string, () => Promise<Uint8Array<ArrayBuffer>>])[] = [
    ["a JPEG as programs save it", async () => asBytes(await progressive(64))],
    ["a JPEG at the limits of scans and pixels", () => jpegOfScans(90, 4096)],
    ["a PNG at the limit of pixels", async () => asBytes(pngOf({ width: 4096, height: 4096 }))],
    ["a PNG of rows of one pixel", async () => asBytes(pngOf({ width: 1, height: 4096 * 4096 }))],
    ["a WebP of as many codes as there can be", async () => asBytes(webpOfGroups(65_536))],
  ]
  test.each(rows)("%s", async (_, created) => {
    expect(await decodeInProcess(await created(), avatar, "1/1", halfLimits)).toMatchObject({
      type: "webp",
    })
  })

  test("a JPEG of 15,000 scans", async () => {
    const ended = decodeInProcess(await jpegOfScans(15_000), avatar, "1/1", halfLimits)
    await expect(ended).rejects.toMatchObject({ id: "asset.too_many_scans" })
  })

  const largePath = `<path d="${"M0 0".repeat(60_000)}"/>`
  const texts: readonly (readonly [string, () => Promise<unknown>, unknown])[] = [
    [
      "an SVG of one long path",
      () => parseSvg(asBytes(svgWith(largePath))),
      expect.objectContaining({ type: "svg" }),
    ],
    [
      "an SVG of nothing but brackets",
      () => refusalOf(parseSvg(asBytes(svgWith(`<g d="${"a(".repeat(100_000)}"/>`)))),
      "asset.svg_forbidden",
    ],
    [
      "an address against a redirect URI with wildcards",
      async () =>
        matchesWildcards(
          `https://${"a*.".repeat(50)}example.com/${"b*/".repeat(200)}`,
          `https://${"aaaa.".repeat(50)}example.com/${"b".repeat(1500)}!`,
        ),
      false,
    ],
  ]
  test.each(texts)("%s", async (_, decode, outcome) => {
    const [decoded, computedMs] = await measureCpu(decode)
    expect(decoded).toEqual(outcome)
    expect(computedMs).toBeLessThan(halfLimits.workMs)
  })
})

const refusalOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (cause: unknown) => (cause instanceof Fault ? cause.id : cause),
  )

test("pictures of one organization don't block those of another", async () => {
  const picture = asBytes(pngOf({ width: 2000, height: 2000 }))
  const order: string[] = []
  const upload = async (line: string) => {
    await decodeInProcess(picture, avatar, line)
    order.push(line)
  }
  const many = Array.from({ length: 9 }, () => upload("1/crowd"))
  await expect(upload("1/crowd")).rejects.toMatchObject({ id: "asset.busy" })
  await Promise.all([...many, upload("1/other")])
  expect(order.indexOf("1/other")).toBeLessThanOrEqual(2)
})
