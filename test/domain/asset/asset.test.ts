// Uploaded files: validated by content, re-encoded, shown when activated, and removed with their
// owner.
import { deflateSync, gzipSync } from "node:zlib"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { readFormFile } from "../../../src/api/input/file.ts"
import { parseSvg } from "../../../src/domain/asset/svg.ts"
import { brandingPaths } from "../../../src/domain/policy/index.ts"
import { publicDocumentHandler } from "../../../src/oauth/index.ts"
import { cachedBrandingFiles, publicFileResponse } from "../../../src/server/file/uploaded.ts"
import { fontWith, onePixel, pngOf, svgWith } from "../../support/picture.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const upload = (data: Uint8Array, kind = "logo") =>
  estate.as("owner", "uploadInstanceFile", { kind, file: { data } })
const preview = (kind = "logo") =>
  estate.as("owner", "getInstanceFile", { kind: `${kind}/_preview` })
const activate = () => estate.as("owner", "activateLabelPolicy", {}, { of: "admin.v1" })
const getBranding = async () =>
  (await estate.as("owner", "getLabelPolicy", {}, { of: "admin.v1" })).policy
const blobCount = (): number =>
  estate.store.database.query<{ count: number }, []>("SELECT count(*) AS count FROM blob").get()
    ?.count ?? 0

/** The public response at an address. */
function publicResponse(address: string, headers = {}): Response | undefined {
  const url = new URL(address, "https://id.example.com")
  return publicFileResponse(new Request(url, { headers }), estate.cx(), url.pathname)
}

/** Starts as a GIF and continues as a script. */
const polyglot = Buffer.from("GIF89a/*\0\0*/=1;alert(1)//<script>alert(1)</script>")

const expectFault = (work: Promise<unknown>, id: string) =>
  expect(work).rejects.toMatchObject({ id })

describe("a picture", () => {
  test("is re-encoded: other data in the file is dropped", async () => {
    const secret = Buffer.from("Comment\0taken at home")
    const profile = Buffer.concat([Buffer.from("a\0\0"), deflateSync(Buffer.from("taken at home"))])
    const more = [["tEXt", secret] as const, ["iCCP", profile] as const]
    const behind = Buffer.from("<script>alert(1)</script>")
    await upload(Buffer.concat([pngOf({ width: 2, height: 2, more }), behind]))
    const { data, contentType } = await preview()
    expect(contentType).toBe("image/png")
    for (const text of ["taken", "script", "tEXt", "iCCP"]) {
      expect(Buffer.from(data).includes(text), text).toBe(false)
    }
  })

  test("loses its camera metadata and keeps its content", async () => {
    const photo = Buffer.from(await new Bun.Image(pngOf({ width: 8, height: 4 })).jpeg().bytes())
    // JPEG APP1: a segment with its length, as cameras write Exif into it.
    const noted = Buffer.from("Exif\0\0GPS 47.3769 N")
    const head = Buffer.from([0xff, 0xe1, 0, noted.length + 2])
    await upload(Buffer.concat([photo.subarray(0, 2), head, noted, photo.subarray(2)]))
    const { data } = await preview()
    expect(Buffer.from(data).includes("GPS")).toBe(false)
    const { width, height } = await new Bun.Image(data).metadata()
    expect([width, height]).toEqual([8, 4])
  })

  test.each([
    ["of a hundred million pixels", pngOf({ width: 10_000, height: 10_000, pixels: onePixel })],
    ["that says it is huge", pngOf({ width: 2 ** 31 - 1, height: 1, pixels: onePixel })],
  ])("rejects %s before it is unpacked", (_, data) =>
    expect(upload(data)).rejects.toMatchObject({ code: "invalid_argument" }),
  )

  test.each([
    ["empty", Buffer.alloc(0), "asset.empty"],
    ["no picture", Buffer.from("hello"), "asset.not_a_picture"],
    ["a page", Buffer.from("<html><script>1</script></html>"), "asset.svg_invalid"],
    ["cut off", onePixel.subarray(0, 40), "asset.not_a_picture"],
    ["too large", Buffer.alloc(512 * 1024 + 1, 1), "asset.too_large"],
    ["a font", fontWith(), "asset.not_a_picture"],
    ["a packed drawing", gzipSync(svgWith(" ".repeat(100_000_000))), "asset.not_a_picture"],
    ["a picture that is a page, too", polyglot, "asset.not_a_picture"],
    [
      "a bomb in its colour profile",
      pngOf({
        width: 1,
        height: 1,
        more: [["iCCP", Buffer.concat([Buffer.from("a\0\0"), deflateSync(Buffer.alloc(1e8))])]],
      }),
      "asset.not_a_picture",
    ],
  ])("is rejected and not stored if it is %s", async (_, data, id) => {
    await expectFault(upload(data), id)
    expect(blobCount()).toBe(0)
  })

  test("never exceeds the limit, whatever size it declares", async () => {
    await upload(pngOf({ width: 3000, height: 20 }))
    const { width, height } = await new Bun.Image((await preview()).data).metadata()
    expect([width, height]).toEqual([1024, 7])
  })
})

describe("an SVG", () => {
  test.each([
    ["a script", "<script>alert(1)</script>"],
    ["a handler", '<g onload="alert(1)"/>'],
    ["another language", "<foreignObject><p/></foreignObject>"],
    ["a link", '<a href="javascript:alert(1)"/>'],
    ["a picture from elsewhere", '<image href="https://evil.example/"/>'],
    ["a copy from elsewhere", '<use xlink:href="https://evil.example/#a"/>'],
    ["paint from elsewhere", '<rect fill="url(https://evil.example/#a)"/>'],
    ["paint from elsewhere in a style", '<rect style="fill:url(//evil.example)"/>'],
    ["paint that hides its function", '<rect fill="u\\72l(https://evil.example)"/>'],
    ["a style sheet", '<style>@import "https://evil.example"</style>'],
    ["motion", '<animate attributeName="href"/>'],
    ["a way out of its attribute", '<g id="a&quot;&gt;&lt;script&gt;"/>'],
  ])("is rejected with an error that names %s", (_, inside) =>
    expectFault(upload(svgWith(inside)), "asset.svg_forbidden"),
  )

  test("is rejected if an element is named like an Object.prototype member", async () => {
    const sent = parseSvg(svgWith("<constructor/>"))
    await expect(sent).rejects.toThrow(/<constructor>, which is not allowed; remove it$/)
  })

  test.each([
    ["itself", '<g id="a"><use href="#a"/></g>'],
    ["copies of copies", entityBomb(7)],
    ["more than a browser draws", `${"<g>".repeat(60)}${"</g>".repeat(60)}`],
    ["what is never closed", "<g>"],
  ])("is rejected if it consists of %s", (_, inside) =>
    expectFault(upload(svgWith(inside)), "asset.svg_invalid"),
  )

  test.each([
    ["spaces behind a bracket", `<g d="url(${" ".repeat(250_000)}"/>`],
    ["one word before a bracket", `<g d="${"a".repeat(250_000)}("/>`],
    ["words and spaces", `<g d="${"a ".repeat(120_000)}b("/>`],
    ["brackets", `<g d="${"a(".repeat(120_000)}"/>`],
  ])("is rejected immediately if it contains nothing but %s", async (_, inside) => {
    // Work of quadratic cost takes minutes; a thread that takes longer than five seconds is ended
    // with another error.
    await expectFault(upload(svgWith(inside)), "asset.svg_forbidden")
  })

  test("is parsed in a separate thread by the same rules if it is large", async () => {
    const shapes = '<rect width="1" height="1"/>'.repeat(1000)
    const large = svgWith(`${shapes}<desc>${"a".repeat(200_000)}</desc>`)
    await upload(large)
    const { data } = await preview()
    expect(Buffer.from(data)).toEqual(Buffer.from((await parseSvg(large)).bytes))
    const acting = svgWith(`<desc>${"a".repeat(200_000)}</desc><script>1</script>`)
    await expectFault(upload(acting), "asset.svg_forbidden")
    await expectFault(upload(svgWith(`<g>${"a".repeat(200_000)}`)), "asset.svg_invalid")
  })

  test("can rotate and move its shapes", async () => {
    const moved = '<g transform="translate(1, 2) rotate (3)" fill="rgb(1,2,3)"></g>'
    await upload(svgWith(moved))
    expect(Buffer.from((await preview()).data).toString()).toContain(moved)
  })

  test("is rejected if it has entities", () => {
    const doctype = Buffer.from('<!DOCTYPE svg [<!ENTITY a "&b;"><!ENTITY b "&a;">]>')
    return expectFault(upload(Buffer.concat([doctype, svgWith("&a;")])), "asset.svg_invalid")
  })

  test("loses editor metadata and keeps its shapes", async () => {
    const note = '<x:note xmlns:x="urn:drawing">by Ada</x:note>'
    await upload(svgWith(`${note}<rect style="fill:red;-x-note:1" class="a" width="1"/>`))
    const { data, contentType } = await preview()
    expect(contentType).toBe("image/svg+xml")
    expect(Buffer.from(data).toString()).toBe(
      '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10">' +
        '<rect fill="red" width="1"></rect></svg>',
    )
  })
})

function entityBomb(depth: number): string {
  const groups = Array.from({ length: depth }, (_, at) => {
    const copies = `<use href="#a${at}"/>`.repeat(10)
    return `<g id="a${at + 1}">${copies}</g>`
  })
  return `<rect id="a0"/>${groups.join("")}`
}

test("a font is recognized by its complete content", async () => {
  await upload(fontWith(), "font")
  expect((await preview("font")).contentType).toBe("font/otf")
  await expectFault(upload(fontWith(28, 1_000_000), "font"), "asset.not_a_font")
  await expectFault(upload(onePixel, "font"), "asset.not_a_font")
})

test("an uploaded file is public once it is activated, for as long as it is shown", async () => {
  await upload(onePixel)
  expect((await getBranding()).logoUrl).toBe("")
  const { logoUrl: before } = (
    await estate.as("owner", "getPreviewLabelPolicy", {}, { of: "admin.v1" })
  ).policy
  expect(before).toContain("/assets/v1/instance/policy/label/logo/_preview")
  const name = before.split("is=")[1]
  expect(publicResponse(`/assets/v1/i1/policy/label/${name}`)?.status).toBe(404)
  await activate()
  const { logoUrl } = await getBranding()
  const answer = publicResponse(logoUrl)
  expect(answer?.status).toBe(200)
  expect(answer?.headers.get("cache-control")).toBe("public, max-age=5, s-maxage=604800")
  expect(answer?.headers.get("content-security-policy")).toContain("sandbox")
  const etag = answer?.headers.get("etag") ?? ""
  for (const known of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
    const again = publicResponse(logoUrl, { "if-none-match": known })
    expect([again?.status, (await again?.arrayBuffer())?.byteLength], known).toEqual([304, 0])
  }
  expect(publicResponse(logoUrl, { "if-none-match": '"x"' })?.status).toBe(200)
  await estate.as("owner", "removeLabelPolicyLogo")
  expect([publicResponse(logoUrl)?.status, blobCount()]).toEqual([200, 1])
  await activate()
  expect([publicResponse(logoUrl)?.status, blobCount()]).toEqual([404, 0])
})

test("an activated file replaces the previous one, and a preview is not public", async () => {
  const ready = publicDocumentHandler(
    () => estate.cx(),
    (_, headers) => headers.set("x-content-type-options", "nosniff"),
    [cachedBrandingFiles],
  )
  const ask = (address: string, init: RequestInit = {}) =>
    ready(new Request(new URL(address, "https://id.example.com"), init))
  await upload(onePixel)
  await activate()
  const { logoUrl } = await getBranding()
  for (const turn of ["put together", "kept"]) {
    const [own, answer] = [publicResponse(logoUrl), ask(logoUrl)]
    expect([...(answer?.headers ?? [])], turn).toEqual([...(own?.headers ?? [])])
    expect(await answer?.bytes(), turn).toEqual(await own?.bytes())
  }
  const etag = ask(logoUrl)?.headers.get("etag") ?? ""
  // The database stores other requests; a cached file needs no response here.
  expect(ask(logoUrl, { headers: { "if-none-match": etag } })).toBeUndefined()
  expect(ask(logoUrl, { method: "HEAD" })).toBeUndefined()
  expect(ask(logoUrl.replace("/i1/", "/org1/"))).toBeUndefined()
  await upload(pngOf({ width: 2, height: 2 }))
  const { logoUrl: next } = (
    await estate.as("owner", "getPreviewLabelPolicy", {}, { of: "admin.v1" })
  ).policy
  const name = next.split("is=")[1]
  expect(ask(`/assets/v1/i1/policy/label/${name}`)).toBeUndefined()
  expect(ask(logoUrl)?.status).toBe(200)
  await activate()
  expect(ask(logoUrl)).toBeUndefined()
  expect(ask((await getBranding()).logoUrl)?.status).toBe(200)
})

describe.each(Object.entries(brandingPaths))("a file for %s", (kind, field) => {
  const own = (call: string, request = {}) =>
    estate.as("manager", call, request, call.includes("Label") ? { of: "management.v1" } : {})
  const data = (side: number) =>
    field === "font" ? fontWith(28, side) : pngOf({ width: side, height: side })
  /** The owner of the shown file of the organization; undefined if it shows none. */
  const shownIn = async () => {
    const { policy } = await own("getLabelPolicy")
    const address: string = policy[addressFields[field]]
    const [, owner] = /\/assets\/v1\/([^/]+)\//.exec(address) ?? []
    if (owner) expect(publicResponse(address)?.status).toBe(200)
    return owner
  }

  test("is inherited until the organization has its own, and again after that is removed", async () => {
    expect(await shownIn()).toBeUndefined()
    await upload(data(1), kind)
    await activate()
    expect(await shownIn()).toBe("i1")
    await own("addCustomLabelPolicy", { primaryColor: "#112233" })
    await own("activateCustomLabelPolicy")
    // A new branding of the organization starts without files.
    expect(await shownIn()).toBeUndefined()
    await own("uploadOrgFile", { kind, file: { data: data(2) } })
    expect(await shownIn()).toBeUndefined()
    await own("activateCustomLabelPolicy")
    expect(await shownIn()).toBe("org1")
    await upload(data(3), kind)
    await activate()
    expect(await shownIn()).toBe("org1")
    await own("resetLabelPolicyToDefault")
    expect([await shownIn(), blobCount()]).toEqual(["i1", 1])
  })
})

/** The field of each file's address in the API. */
const addressFields = {
  logo: "logoUrl",
  logoDark: "logoUrlDark",
  icon: "iconUrl",
  iconDark: "iconUrlDark",
  font: "fontUrl",
} as const

test("an organization's file is nobody's by guess or at another's address", async () => {
  const own = (person: "manager" | "stranger", call: string, request = {}) =>
    estate.as(person, call, request, call.includes("Label") ? { of: "management.v1" } : {})
  await own("stranger", "addCustomLabelPolicy", { primaryColor: "#112233" })
  await own("stranger", "uploadOrgFile", { kind: "logo", file: { data: onePixel } })
  await expectFault(own("manager", "getOrgFile", { kind: "logo/_preview" }), "asset.missing")
  const { logoUrl: preview } = (await own("stranger", "getPreviewLabelPolicy")).policy
  expect(publicResponse(`/assets/v1/org2/policy/label/${preview.split("is=")[1]}`)?.status).toBe(
    404,
  )
  await own("stranger", "activateCustomLabelPolicy")
  const { logoUrl } = (await own("stranger", "getLabelPolicy")).policy
  expect(publicResponse(logoUrl)?.status).toBe(200)
  for (const other of ["org1", "i1", "..%2Forg2", "org2%2F..%2Forg2", "%", "org2%00"]) {
    const address = logoUrl.replace("/org2/", `/${other}/`)
    expect(publicResponse(address)?.status, other).toBe(404)
  }
  for (const path of ["/assets/v1/org2/policy/label/../logo", "/assets/../../etc/passwd"]) {
    expect(publicResponse(path)).toBeUndefined()
  }
  await estate.as("owner", "deleteOrganization", { organizationId: "org2" })
  expect([publicResponse(logoUrl)?.status, blobCount()]).toEqual([404, 0])
})

test("a user's picture is returned for that user only, and erased with them", async () => {
  const { userId } = await estate.as("owner", "addHumanUser", {
    organization: { org: { case: "orgId", value: "org1" } },
    profile: { givenName: "Ada", familyName: "Lovelace" },
    email: { email: "ada@example.com" },
  })
  const self = { cx: { caller: { kind: "user", userId, orgId: "org1", clientId: "c" } } } as const
  await estate.as("owner", "uploadMyAvatar", { file: { data: onePixel } }, self)
  const { user } = await estate.as("owner", "getUserByID", { userId }, { of: "user.v2" })
  const { avatarUrl } = user.type.value.profile
  expect(publicResponse(avatarUrl)?.headers.get("content-type")).toBe("image/webp")
  expect(publicResponse(avatarUrl.replace(userId, "owner"))?.status).toBe(404)
  expect(publicResponse(avatarUrl.replace("/org1/", "/org2/"))?.status).toBe(404)
  await expectFault(
    estate.as("owner", "uploadMyAvatar", { file: { data: svgWith("<g/>") } }, self),
    "asset.not_a_picture",
  )
  await estate.as("owner", "deleteUser", { userId })
  expect([publicResponse(avatarUrl)?.status, blobCount()]).toEqual([404, 0])
})

describe("a form", () => {
  const type = "multipart/form-data; boundary=b"
  const part = (name: string, more = "", data = "x") =>
    `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${data}\r\n`
  const file = '; filename="../../etc/passwd.svg"\r\nContent-Type: text/html'
  const read = (body: string, contentType = type, max = 10_000) =>
    readFormFile(
      new Request("http://x/", { method: "POST", headers: { "content-type": contentType }, body }),
      max,
    )

  test("has its file in the part with that name, whatever the file is called", async () => {
    const form = `${part("note")}${part("file", file, "data")}--b--\r\n`
    expect(Buffer.from(await read(form)).toString()).toBe("data")
  })

  test.each([
    ["of another type", part("file", file), "application/json"],
    ["without a boundary", part("file", file), "multipart/form-data"],
    ["with an empty boundary", part("file", file), 'multipart/form-data; boundary=""'],
    [
      "with an endless boundary",
      part("file", file),
      `multipart/form-data; boundary=${"b".repeat(99)}`,
    ],
    ["without an end", part("file", file).slice(0, -4)],
    ["of nothing", ""],
    ["with another boundary", `${part("file", file)}--b--`, "multipart/form-data; boundary=c"],
    ["without the file", `${part("note")}--b--\r\n`],
    ["with a text in its place", `${part("file")}--b--\r\n`],
    ["with two files", `${part("file", file)}${part("file", file)}--b--\r\n`],
    ["of a thousand parts", `${part("note").repeat(1000).slice(0, 9000)}--b--\r\n`],
    [
      "of a hundred parts, with another boundary in a quoted text",
      `${part("note").repeat(100)}${part("file", file)}--b--\r\n`,
      'multipart/form-data; x="; boundary=a;"; boundary=b',
    ],
  ])("rejects %s", async (_, body, contentType = type) => {
    await expect(read(body, contentType)).rejects.toMatchObject({ code: "invalid_argument" })
  })

  test("is rejected above the limit", async () => {
    const large = `${part("file", file, "x".repeat(20_000))}--b--\r\n`
    await expect(read(large)).rejects.toMatchObject({ id: "request.too_large" })
  })
})
