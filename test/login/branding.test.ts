import { afterEach, beforeEach, expect, test } from "vitest"
import { uploadAvatar, uploadLookFile } from "../../src/domain/asset/commands.ts"
import {
  activatePolicy,
  addPolicy,
  changePolicy,
  resetPolicy,
} from "../../src/domain/policy/commands.ts"
import {
  type Label,
  label,
  labelPreview,
  lookPath,
  policyOf,
  privacy,
} from "../../src/domain/policy/index.ts"
import { publicFileAt } from "../../src/server/file/sent.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
} from "../oauth/provider.ts"
import { fontWith, pngOf } from "../support/picture.ts"

let provider: Provider
let client: NewClient
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
})
afterEach(() => provider.close())

const home = () => provider.setup.orgId

const say = (values: Partial<Label>) => ({ policy: label, say: () => values })

/** The sheet that a page names beside the one that all pages have, and what is in it. */
async function sheetOn(scope = "openid") {
  const { page } = await browserOf(provider).go(authorizePath(client.id, { scope }))
  const found = /<link rel="stylesheet" href="([^"]*branding[^"]*)"/.exec(page)?.[1]
  if (found === undefined) return undefined
  const path = found.replaceAll("&amp;", "&")
  const answer = await provider.send(path)
  return { path, css: await answer.text(), headers: answer.headers, page }
}

const ofHome = () => `openid urn:core:iam:org:id:${home()}`

test("pages have their own look until somebody has said another", async () => {
  expect(await sheetOn()).toBeUndefined()
  await changePolicy(provider.cx(), undefined, say({ hideLoginNameSuffix: true }))
  expect(await sheetOn()).toBeUndefined()
})

test("what the instance says is on its pages at once, under an address of its own", async () => {
  await changePolicy(provider.cx(), undefined, say({ primaryColor: "#5B2A86" }))
  const first = await sheetOn()
  expect(first?.css).toContain("--accent:#5b2a86")
  expect(first?.headers.get("content-type")).toBe("text/css; charset=utf-8")
  expect(first?.headers.get("cache-control")).toContain("immutable")
  await changePolicy(provider.cx(), undefined, say({ themeMode: "dark", disableWatermark: true }))
  const second = await sheetOn()
  expect(second?.path).not.toBe(first?.path)
  expect(second?.css).toContain("color-scheme:dark!important")
  expect(second?.css).toContain(".mark{display:none}")
  const old = await provider.send(first?.path ?? "")
  expect(old.headers.get("cache-control")).toBe("no-cache")
})

test("an organisation has its own on the pages that are for it, until it is reset", async () => {
  await changePolicy(provider.cx(), undefined, say({ primaryColor: "#5b2a86" }))
  await addPolicy(provider.cx(), home(), say({ primaryColor: "#0b6e4f" }))
  expect((await sheetOn())?.css).toContain("#5b2a86")
  const own = await sheetOn(ofHome())
  expect(own?.css).toContain("--accent:#0b6e4f")
  await resetPolicy(provider.cx(), home(), label)
  expect((await sheetOn(ofHome()))?.css).toContain("#5b2a86")
})

test("a sheet of nobody is that of the instance, and holds nothing of its address", async () => {
  await changePolicy(provider.cx(), undefined, say({ primaryColor: "#5b2a86" }))
  const hostile = encodeURIComponent("</style><script>*{}")
  const answer = await provider.send(`/ui/login/branding.css?of=${hostile}&is=${hostile}`)
  expect(answer.status).toBe(200)
  expect(await answer.text()).not.toContain("script")
})

/** Puts files into a look, and shows it to everybody. */
async function sendFiles(place: string | undefined, files: Readonly<Record<string, Buffer>>) {
  const cx = provider.cx()
  if (place !== undefined) await addPolicy(cx, place, { policy: labelPreview, say: () => ({}) })
  for (const [kind, data] of Object.entries(files)) {
    await uploadLookFile(cx, place, { kind, data })
  }
  await activatePolicy(cx, place, { preview: labelPreview, policy: label })
}

const picture = (side: number) => pngOf({ width: side, height: side })

/** What a page loads from the files that somebody sent. */
const filesOn = (page: string): readonly string[] => [
  ...new Set(Array.from(page.matchAll(/="(\/assets\/[^"]+)"/g), ([, path = ""]) => path)),
]

const pageFor = async (scope = "openid") =>
  (await browserOf(provider).go(authorizePath(client.id, { scope }))).page

/** Files as everybody gets them. */
const isShown = (path: string): boolean =>
  publicFileAt(new Request(`https://id.example.com${path}`), provider.cx(), path)?.status === 200

test("a page shows the logo and the icon of whose it is, by day and by night", async () => {
  const look = { logo: picture(8), "logo/dark": picture(9), icon: picture(4) }
  await sendFiles(undefined, { ...look, "icon/dark": picture(5) })
  const page = await pageFor()
  const { logo, logoDark, icon, iconDark } = policyOf(provider.cx(), "", label)
  const paths = [icon, iconDark, logo, logoDark].map((name) => lookPath("i1", name))
  expect(filesOn(page)).toEqual(paths)
  expect(paths.every(isShown)).toBe(true)
  expect(page).toMatch(/<img class="logo logo-dark" src="[^"]*" alt="[^"]+" loading="lazy"/)
  expect(page).toContain('media="(prefers-color-scheme: dark)"')
  expect(page).not.toContain("mark.svg")
  expect(page).not.toContain('class="mark"')
})

test("pages that are always dark have one logo, that for the dark", async () => {
  await sendFiles(undefined, { logo: picture(8), "logo/dark": picture(9) })
  await changePolicy(provider.cx(), undefined, say({ themeMode: "dark" }))
  const page = await pageFor()
  const { logo, logoDark } = policyOf(provider.cx(), "", label)
  expect(filesOn(page)).toEqual([lookPath("i1", logoDark)])
  expect(page).not.toContain("logo-dark")
  await changePolicy(provider.cx(), undefined, say({ themeMode: "light" }))
  expect(filesOn(await pageFor())).toEqual([lookPath("i1", logo)])
})

test("an organisation has its own files on its pages, and none without one", async () => {
  await sendFiles(undefined, { logo: picture(8) })
  await sendFiles(home(), { icon: picture(4) })
  expect(filesOn(await pageFor())[0]).toContain("/assets/v1/i1/")
  const own = await pageFor(ofHome())
  expect(filesOn(own)).toHaveLength(1)
  expect(filesOn(own)[0]).toContain(`/assets/v1/${home()}/policy/label/`)
  await resetPolicy(provider.cx(), home(), label)
  expect(filesOn(await pageFor(ofHome()))[0]).toContain("/assets/v1/i1/")
})

test("the sheet brings the font", async () => {
  await sendFiles(undefined, { font: fontWith() })
  const { css = "", headers } = (await sheetOn()) ?? {}
  const path = /src:url\("([^"]+)"\)/.exec(css)?.[1] ?? ""
  expect(isShown(path)).toBe(true)
  expect(css).toContain(":root{--own:Own}")
  expect(headers?.get("cache-control")).toContain("immutable")
})

test("who is signed in sees their picture", async () => {
  const { ownerId: userId, orgId } = provider.setup
  const caller = { kind: "user", userId, orgId, clientId: "c" } as const
  await uploadAvatar({ ...provider.cx(), caller }, userId, picture(8))
  const browser = browserOf(provider)
  await browser.signIn(authorizePath(client.id))
  const { page } = await browser.go("/ui/login/signedin")
  const [path = ""] = filesOn(page)
  expect(path).toContain(`/users/${userId}/avatar/`)
  expect(isShown(path)).toBe(true)
})

test("a link names the language of the page that shows it", async () => {
  const at = (page: string) => `https://example.com/{{.Lang}}/${page}`
  const links = {
    tosLink: at("terms"),
    privacyLink: at("privacy"),
    helpLink: at("help"),
    docsLink: at("docs?l={{ .Lang }}"),
    customLink: at("imprint"),
    supportEmail: "help-{{.Lang}}@example.com",
  }
  await changePolicy(provider.cx(), undefined, { policy: privacy, say: () => links })
  for (const language of ["en", "de"]) {
    const { page } = await browserOf(provider).go(
      authorizePath(client.id, { ui_locales: language }),
    )
    for (const name of ["terms", "privacy", "help", `docs?l=${language}`, "imprint"]) {
      expect(page).toContain(`href="https://example.com/${language}/${name}"`)
    }
    expect(page).toContain(`href="mailto:${encodeURIComponent(`help-${language}@example.com`)}"`)
    expect(page).not.toContain("{{")
  }
})

test("a link with another placeholder is refused", async () => {
  const say = () => ({ helpLink: "https://example.com/{{.Language}}" })
  const tried = changePolicy(provider.cx(), undefined, { policy: privacy, say })
  await expect(tried).rejects.toMatchObject({ id: "policy.value_invalid" })
})

test("pages lead to what is said of help and privacy, in a window of their own", async () => {
  const links = {
    tosLink: "https://example.com/terms",
    privacyLink: "https://example.com/privacy",
    helpLink: "https://example.com/help",
    supportEmail: "help+now@example.com",
    docsLink: "https://example.com/docs",
    customLink: "https://example.com/imprint",
    customLinkText: 'Imprint "&<b>',
  }
  expect(await pageFor()).not.toContain("gate-links")
  await changePolicy(provider.cx(), undefined, { policy: privacy, say: () => links })
  const page = await pageFor()
  const { supportEmail, customLinkText, ...addresses } = links
  for (const href of Object.values(addresses)) {
    expect(page).toContain(`<a href="${href}" target="_blank" rel="noopener noreferrer">`)
  }
  expect(page).toContain(`href="mailto:${encodeURIComponent(supportEmail)}"`)
  expect(page).toContain("Imprint &quot;&amp;&lt;b&gt;")
  await addPolicy(provider.cx(), home(), { policy: privacy, say: () => ({ helpLink: "" }) })
  expect(await pageFor(ofHome())).not.toContain("gate-links")
})
