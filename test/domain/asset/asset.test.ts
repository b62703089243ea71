// Files that others send: read by content, written anew, shown when they are meant to be, and gone
// with whose they are.
import { deflateSync, gzipSync } from "node:zlib"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { fileIn } from "../../../src/api/input/file.ts"
import { svgOf } from "../../../src/domain/asset/svg.ts"
import { lookPaths } from "../../../src/domain/policy/index.ts"
import { publishedHandler } from "../../../src/oauth/index.ts"
import { publicFileAt, publishedLooks } from "../../../src/server/file/sent.ts"
import { type Estate, openEstate } from "../../support/estate.ts"
import { fontWith, onePixel, pngOf, svgWith } from "../../support/picture.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
})
afterEach(() => estate.close())

const upload = (data: Uint8Array, kind = "logo") =>
  estate.as("owner", "uploadInstanceFile", { kind, file: { data } })
const preview = (kind = "logo") =>
  estate.as("owner", "getInstanceFile", { kind: `${kind}/_preview` })
const activate = () => estate.as("owner", "activateLabelPolicy", {}, { of: "admin.v1" })
const look = async () => (await estate.as("owner", "getLabelPolicy", {}, { of: "admin.v1" })).policy
const kept = (): number =>
  estate.store.database.query<{ count: number }, []>("SELECT count(*) AS count FROM blob").get()
    ?.count ?? 0

/** What everybody gets at an address. */
function shown(address: string, headers = {}): Response | undefined {
  const url = new URL(address, "https://id.example.com")
  return publicFileAt(new Request(url, { headers }), estate.cx(), url.pathname)
}

/** Begins as a GIF does, and goes on as a script. */
const polyglot = Buffer.from("GIF89a/*\0\0*/=1;alert(1)//<script>alert(1)</script>")

const refused = (work: Promise<unknown>, id: string) => expect(work).rejects.toMatchObject({ id })

describe("a picture", () => {
  test("is written anew: what else is in the file stays behind", async () => {
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

  test("loses what its camera has noted, and stays the picture that it was", async () => {
    const photo = Buffer.from(await new Bun.Image(pngOf({ width: 8, height: 4 })).jpeg().bytes())
    // JPEG, APP1: a segment with its length, as cameras write Exif into it.
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
  ])("%s is refused before it is unpacked", (_, data) =>
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
  ])("that is %s is refused, and nothing is kept", async (_, data, id) => {
    await refused(upload(data), id)
    expect(kept()).toBe(0)
  })

  test("that says too much of itself is never larger than it may be", async () => {
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
  ])("with %s is refused by its name", (_, inside) =>
    refused(upload(svgWith(inside)), "asset.svg_forbidden"),
  )

  test("with an element that is named like a member of every object is refused, too", async () => {
    const sent = svgOf(svgWith("<constructor/>"))
    await expect(sent).rejects.toThrow(/<constructor>, which is not allowed; remove it$/)
  })

  test.each([
    ["itself", '<g id="a"><use href="#a"/></g>'],
    ["copies of copies", bomb(7)],
    ["more than a browser draws", `${"<g>".repeat(60)}${"</g>".repeat(60)}`],
    ["what is never closed", "<g>"],
  ])("of %s is refused", (_, inside) => refused(upload(svgWith(inside)), "asset.svg_invalid"))

  test.each([
    ["spaces behind a bracket", `<g d="url(${" ".repeat(250_000)}"/>`],
    ["one word before a bracket", `<g d="${"a".repeat(250_000)}("/>`],
    ["words and spaces", `<g d="${"a ".repeat(120_000)}b("/>`],
    ["brackets", `<g d="${"a(".repeat(120_000)}"/>`],
  ])("of nothing but %s is refused at once", async (_, inside) => {
    // Work that grows with the square of it takes minutes; a thread that takes longer than five
    // seconds is ended, with another refusal.
    await refused(upload(svgWith(inside)), "asset.svg_forbidden")
  })

  test("that is large is read in a thread of its own, by the same rules", async () => {
    const shapes = '<rect width="1" height="1"/>'.repeat(1000)
    const large = svgWith(`${shapes}<desc>${"a".repeat(200_000)}</desc>`)
    await upload(large)
    const { data } = await preview()
    expect(Buffer.from(data)).toEqual(Buffer.from((await svgOf(large)).bytes))
    const acting = svgWith(`<desc>${"a".repeat(200_000)}</desc><script>1</script>`)
    await refused(upload(acting), "asset.svg_forbidden")
    await refused(upload(svgWith(`<g>${"a".repeat(200_000)}`)), "asset.svg_invalid")
  })

  test("may turn and move what it draws", async () => {
    const moved = '<g transform="translate(1, 2) rotate (3)" fill="rgb(1,2,3)"></g>'
    await upload(svgWith(moved))
    expect(Buffer.from((await preview()).data).toString()).toContain(moved)
  })

  test("with entities is refused", () => {
    const doctype = Buffer.from('<!DOCTYPE svg [<!ENTITY a "&b;"><!ENTITY b "&a;">]>')
    return refused(upload(Buffer.concat([doctype, svgWith("&a;")])), "asset.svg_invalid")
  })

  test("loses what drawing programs note, and keeps what is drawn", async () => {
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

function bomb(depth: number): string {
  const groups = Array.from({ length: depth }, (_, at) => {
    const copies = `<use href="#a${at}"/>`.repeat(10)
    return `<g id="a${at + 1}">${copies}</g>`
  })
  return `<rect id="a0"/>${groups.join("")}`
}

test("a font is one by its content, and whole", async () => {
  await upload(fontWith(), "font")
  expect((await preview("font")).contentType).toBe("font/otf")
  await refused(upload(fontWith(28, 1_000_000), "font"), "asset.not_a_font")
  await refused(upload(onePixel, "font"), "asset.not_a_font")
})

test("what was sent is everybody's once it is activated, as long as it is shown", async () => {
  await upload(onePixel)
  expect((await look()).logoUrl).toBe("")
  const { logoUrl: before } = (
    await estate.as("owner", "getPreviewLabelPolicy", {}, { of: "admin.v1" })
  ).policy
  expect(before).toContain("/assets/v1/instance/policy/label/logo/_preview")
  const name = before.split("is=")[1]
  expect(shown(`/assets/v1/i1/policy/label/${name}`)?.status).toBe(404)
  await activate()
  const { logoUrl } = await look()
  const answer = shown(logoUrl)
  expect(answer?.status).toBe(200)
  expect(answer?.headers.get("cache-control")).toBe("public, max-age=5, s-maxage=604800")
  expect(answer?.headers.get("content-security-policy")).toContain("sandbox")
  const etag = answer?.headers.get("etag") ?? ""
  for (const known of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
    const again = shown(logoUrl, { "if-none-match": known })
    expect([again?.status, (await again?.arrayBuffer())?.byteLength], known).toEqual([304, 0])
  }
  expect(shown(logoUrl, { "if-none-match": '"x"' })?.status).toBe(200)
  await estate.as("owner", "removeLabelPolicyLogo")
  expect([shown(logoUrl)?.status, kept()]).toEqual([200, 1])
  await activate()
  expect([shown(logoUrl)?.status, kept()]).toEqual([404, 0])
})

test("a file that is kept ready is what counts now, and nothing before it is shown", async () => {
  const ready = publishedHandler(
    () => estate.cx(),
    (_, headers) => headers.set("x-content-type-options", "nosniff"),
    [publishedLooks],
  )
  const ask = (address: string, init: RequestInit = {}) =>
    ready(new Request(new URL(address, "https://id.example.com"), init))
  await upload(onePixel)
  await activate()
  const { logoUrl } = await look()
  for (const turn of ["put together", "kept"]) {
    const [own, answer] = [shown(logoUrl), ask(logoUrl)]
    expect([...(answer?.headers ?? [])], turn).toEqual([...(own?.headers ?? [])])
    expect(await answer?.bytes(), turn).toEqual(await own?.bytes())
  }
  const etag = ask(logoUrl)?.headers.get("etag") ?? ""
  // What else is asked is answered by who looks at it.
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
  expect(ask((await look()).logoUrl)?.status).toBe(200)
})

describe.each(Object.entries(lookPaths))("a file for %s", (kind, field) => {
  const own = (call: string, request = {}) =>
    estate.as("manager", call, request, call.includes("Label") ? { of: "management.v1" } : {})
  const data = (side: number) =>
    field === "font" ? fontWith(28, side) : pngOf({ width: side, height: side })
  /** Of whom the organisation shows a file; undefined where it shows none. */
  const shownIn = async () => {
    const { policy } = await own("getLabelPolicy")
    const address: string = policy[addressFields[field]]
    const [, owner] = /\/assets\/v1\/([^/]+)\//.exec(address) ?? []
    if (owner) expect(shown(address)?.status).toBe(200)
    return owner
  }

  test("is inherited until there is an own one, and again once that is taken back", async () => {
    expect(await shownIn()).toBeUndefined()
    await upload(data(1), kind)
    await activate()
    expect(await shownIn()).toBe("i1")
    await own("addCustomLabelPolicy", { primaryColor: "#112233" })
    await own("activateCustomLabelPolicy")
    // A look of one's own begins without files.
    expect(await shownIn()).toBeUndefined()
    await own("uploadOrgFile", { kind, file: { data: data(2) } })
    expect(await shownIn()).toBeUndefined()
    await own("activateCustomLabelPolicy")
    expect(await shownIn()).toBe("org1")
    await upload(data(3), kind)
    await activate()
    expect(await shownIn()).toBe("org1")
    await own("resetLabelPolicyToDefault")
    expect([await shownIn(), kept()]).toEqual(["i1", 1])
  })
})

/** What the interface calls the address of a file. */
const addressFields = {
  logo: "logoUrl",
  logoDark: "logoUrlDark",
  icon: "iconUrl",
  iconDark: "iconUrlDark",
  font: "fontUrl",
} as const

test("an organisation's file is nobody's by guess or at another's address", async () => {
  const own = (person: "manager" | "stranger", call: string, request = {}) =>
    estate.as(person, call, request, call.includes("Label") ? { of: "management.v1" } : {})
  await own("stranger", "addCustomLabelPolicy", { primaryColor: "#112233" })
  await own("stranger", "uploadOrgFile", { kind: "logo", file: { data: onePixel } })
  await refused(own("manager", "getOrgFile", { kind: "logo/_preview" }), "asset.missing")
  const { logoUrl: preview } = (await own("stranger", "getPreviewLabelPolicy")).policy
  expect(shown(`/assets/v1/org2/policy/label/${preview.split("is=")[1]}`)?.status).toBe(404)
  await own("stranger", "activateCustomLabelPolicy")
  const { logoUrl } = (await own("stranger", "getLabelPolicy")).policy
  expect(shown(logoUrl)?.status).toBe(200)
  for (const other of ["org1", "i1", "..%2Forg2", "org2%2F..%2Forg2", "%", "org2%00"]) {
    const address = logoUrl.replace("/org2/", `/${other}/`)
    expect(shown(address)?.status, other).toBe(404)
  }
  for (const path of ["/assets/v1/org2/policy/label/../logo", "/assets/../../etc/passwd"]) {
    expect(shown(path)).toBeUndefined()
  }
  await estate.as("owner", "deleteOrganization", { organizationId: "org2" })
  expect([shown(logoUrl)?.status, kept()]).toEqual([404, 0])
})

test("a person's picture is told of them alone, and is erased with them", async () => {
  const { userId } = await estate.as("owner", "addHumanUser", {
    organization: { org: { case: "orgId", value: "org1" } },
    profile: { givenName: "Ada", familyName: "Lovelace" },
    email: { email: "ada@example.com" },
  })
  const self = { cx: { caller: { kind: "user", userId, orgId: "org1", clientId: "c" } } } as const
  await estate.as("owner", "uploadMyAvatar", { file: { data: onePixel } }, self)
  const { user } = await estate.as("owner", "getUserByID", { userId }, { of: "user.v2" })
  const { avatarUrl } = user.type.value.profile
  expect(shown(avatarUrl)?.headers.get("content-type")).toBe("image/webp")
  expect(shown(avatarUrl.replace(userId, "owner"))?.status).toBe(404)
  expect(shown(avatarUrl.replace("/org1/", "/org2/"))?.status).toBe(404)
  await refused(
    estate.as("owner", "uploadMyAvatar", { file: { data: svgWith("<g/>") } }, self),
    "asset.not_a_picture",
  )
  await estate.as("owner", "deleteUser", { userId })
  expect([shown(avatarUrl)?.status, kept()]).toEqual([404, 0])
})

describe("a form", () => {
  const type = "multipart/form-data; boundary=b"
  const part = (name: string, more = "", data = "x") =>
    `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${data}\r\n`
  const file = '; filename="../../etc/passwd.svg"\r\nContent-Type: text/html'
  const read = (body: string, contentType = type, max = 10_000) =>
    fileIn(
      new Request("http://x/", { method: "POST", headers: { "content-type": contentType }, body }),
      max,
    )

  test("has its file in the part of that name, whatever that is called", async () => {
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
  ])("%s is refused", async (_, body, contentType = type) => {
    await expect(read(body, contentType)).rejects.toMatchObject({ code: "invalid_argument" })
  })

  test("above the limit is refused", async () => {
    const large = `${part("file", file, "x".repeat(20_000))}--b--\r\n`
    await expect(read(large)).rejects.toMatchObject({ id: "request.too_large" })
  })
})
