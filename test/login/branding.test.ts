import { afterEach, beforeEach, expect, test } from "vitest"
import { uploadAvatar, uploadLookFile } from "../../src/domain/asset/commands.ts"
import {
  activatePolicy,
  addPolicy,
  changePolicy,
  resetPolicy,
} from "../../src/domain/policy/commands.ts"
import {
  brandingPath,
  type Label,
  label,
  labelPreview,
  policyOf,
  privacy,
} from "../../src/domain/policy/index.ts"
import { publicFileResponse } from "../../src/server/file/uploaded.ts"
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

const homeOrgId = () => provider.setup.orgId

const setBranding = (values: Partial<Label>) => ({ policy: label, apply: () => values })

/** The organization-specific style sheet of a page, and its content. */
async function loadSheet(scope = "openid") {
  const { page } = await browserOf(provider).go(authorizePath(client.id, { scope }))
  const found = /<link rel="stylesheet" href="([^"]*branding[^"]*)"/.exec(page)?.[1]
  if (found === undefined) return undefined
  const path = found.replaceAll("&amp;", "&")
  const answer = await provider.send(path)
  return { path, css: await answer.text(), headers: answer.headers, page }
}

const homeScope = () => `openid urn:core:iam:org:id:${homeOrgId()}`

test("pages have the default branding until one is set", async () => {
  expect(await loadSheet()).toBeUndefined()
  await changePolicy(provider.cx(), undefined, setBranding({ hideLoginNameSuffix: true }))
  expect(await loadSheet()).toBeUndefined()
})

test("the instance's branding is on its pages immediately, at its own URL", async () => {
  await changePolicy(provider.cx(), undefined, setBranding({ primaryColor: "#5B2A86" }))
  const first = await loadSheet()
  expect(first?.css).toContain("--accent:#5b2a86")
  expect(first?.headers.get("content-type")).toBe("text/css; charset=utf-8")
  expect(first?.headers.get("cache-control")).toContain("immutable")
  await changePolicy(
    provider.cx(),
    undefined,
    setBranding({ themeMode: "dark", disableWatermark: true }),
  )
  const second = await loadSheet()
  expect(second?.path).not.toBe(first?.path)
  expect(second?.css).toContain("color-scheme:dark!important")
  expect(second?.css).toContain(".mark{display:none}")
  const old = await provider.send(first?.path ?? "")
  expect(old.headers.get("cache-control")).toBe("no-cache")
})

test("an organization has its own branding on its pages, until it is reset", async () => {
  await changePolicy(provider.cx(), undefined, setBranding({ primaryColor: "#5b2a86" }))
  await addPolicy(provider.cx(), homeOrgId(), setBranding({ primaryColor: "#0b6e4f" }))
  expect((await loadSheet())?.css).toContain("#5b2a86")
  const own = await loadSheet(homeScope())
  expect(own?.css).toContain("--accent:#0b6e4f")
  await resetPolicy(provider.cx(), homeOrgId(), label)
  expect((await loadSheet(homeScope()))?.css).toContain("#5b2a86")
})

test("an unknown organization has the instance's style sheet, without its URL", async () => {
  await changePolicy(provider.cx(), undefined, setBranding({ primaryColor: "#5b2a86" }))
  const hostile = encodeURIComponent("</style><script>*{}")
  const answer = await provider.send(`/ui/login/branding.css?of=${hostile}&is=${hostile}`)
  expect(answer.status).toBe(200)
  expect(await answer.text()).not.toContain("script")
})

/** Uploads branding files, and activates them. */
async function uploadFiles(location: string | undefined, files: Readonly<Record<string, Buffer>>) {
  const cx = provider.cx()
  if (location !== undefined)
    await addPolicy(cx, location, { policy: labelPreview, apply: () => ({}) })
  for (const [kind, data] of Object.entries(files)) {
    await uploadLookFile(cx, location, { kind, data })
  }
  await activatePolicy(cx, location, { preview: labelPreview, policy: label })
}

const picture = (side: number) => pngOf({ width: side, height: side })

/** The uploaded files that a page loads. */
const uploadedFilesOn = (page: string): readonly string[] => [
  ...new Set(Array.from(page.matchAll(/="(\/assets\/[^"]+)"/g), ([, path = ""]) => path)),
]

const pageFor = async (scope = "openid") =>
  (await browserOf(provider).go(authorizePath(client.id, { scope }))).page

/** The public file at a path. */
const isPublic = (path: string): boolean =>
  publicFileResponse(new Request(`https://id.example.com${path}`), provider.cx(), path)?.status ===
  200

test("a page shows the logo and icon of its owner, in light and dark mode", async () => {
  const look = { logo: picture(8), "logo/dark": picture(9), icon: picture(4) }
  await uploadFiles(undefined, { ...look, "icon/dark": picture(5) })
  const page = await pageFor()
  const { logo, logoDark, icon, iconDark } = policyOf(provider.cx(), "", label)
  const paths = [icon, iconDark, logo, logoDark].map((name) => brandingPath("i1", name))
  expect(uploadedFilesOn(page)).toEqual(paths)
  expect(paths.every(isPublic)).toBe(true)
  expect(page).toMatch(/<img class="logo logo-dark" src="[^"]*" alt="[^"]+" loading="lazy"/)
  expect(page).toContain('media="(prefers-color-scheme: dark)"')
  expect(page).not.toContain("mark.svg")
  expect(page).not.toContain('class="mark"')
})

test("pages in dark mode only have one logo, the dark one", async () => {
  await uploadFiles(undefined, { logo: picture(8), "logo/dark": picture(9) })
  await changePolicy(provider.cx(), undefined, setBranding({ themeMode: "dark" }))
  const page = await pageFor()
  const { logo, logoDark } = policyOf(provider.cx(), "", label)
  expect(uploadedFilesOn(page)).toEqual([brandingPath("i1", logoDark)])
  expect(page).not.toContain("logo-dark")
  await changePolicy(provider.cx(), undefined, setBranding({ themeMode: "light" }))
  expect(uploadedFilesOn(await pageFor())).toEqual([brandingPath("i1", logo)])
})

test("an organization's pages have its own files, or none", async () => {
  await uploadFiles(undefined, { logo: picture(8) })
  await uploadFiles(homeOrgId(), { icon: picture(4) })
  expect(uploadedFilesOn(await pageFor())[0]).toContain("/assets/v1/i1/")
  const own = await pageFor(homeScope())
  expect(uploadedFilesOn(own)).toHaveLength(1)
  expect(uploadedFilesOn(own)[0]).toContain(`/assets/v1/${homeOrgId()}/policy/label/`)
  await resetPolicy(provider.cx(), homeOrgId(), label)
  expect(uploadedFilesOn(await pageFor(homeScope()))[0]).toContain("/assets/v1/i1/")
})

test("the style sheet loads the font", async () => {
  await uploadFiles(undefined, { font: fontWith() })
  const { css = "", headers } = (await loadSheet()) ?? {}
  const path = /src:url\("([^"]+)"\)/.exec(css)?.[1] ?? ""
  expect(isPublic(path)).toBe(true)
  expect(css).toContain(":root{--own:Own}")
  expect(headers?.get("cache-control")).toContain("immutable")
})

test("signed-in users see their avatar", async () => {
  const { ownerId: userId, orgId } = provider.setup
  const caller = { kind: "user", userId, orgId, clientId: "c" } as const
  await uploadAvatar({ ...provider.cx(), caller }, userId, picture(8))
  const browser = browserOf(provider)
  await browser.signIn(authorizePath(client.id))
  const { page } = await browser.go("/ui/login/signedin")
  const [path = ""] = uploadedFilesOn(page)
  expect(path).toContain(`/users/${userId}/avatar/`)
  expect(isPublic(path)).toBe(true)
})

test("a link contains the language of its page", async () => {
  const at = (page: string) => `https://example.com/{{.Lang}}/${page}`
  const links = {
    tosLink: at("terms"),
    privacyLink: at("privacy"),
    helpLink: at("help"),
    docsLink: at("docs?l={{ .Lang }}"),
    customLink: at("imprint"),
    supportEmail: "help-{{.Lang}}@example.com",
  }
  await changePolicy(provider.cx(), undefined, { policy: privacy, apply: () => links })
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

test("a link with an unknown placeholder is rejected", async () => {
  const say = () => ({ helpLink: "https://example.com/{{.Language}}" })
  const tried = changePolicy(provider.cx(), undefined, { policy: privacy, apply: say })
  await expect(tried).rejects.toMatchObject({ id: "policy.value_invalid" })
})

test("pages link to help and privacy, in a new window", async () => {
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
  await changePolicy(provider.cx(), undefined, { policy: privacy, apply: () => links })
  const page = await pageFor()
  const { supportEmail, customLinkText, ...addresses } = links
  for (const href of Object.values(addresses)) {
    expect(page).toContain(`<a href="${href}" target="_blank" rel="noopener noreferrer">`)
  }
  expect(page).toContain(`href="mailto:${encodeURIComponent(supportEmail)}"`)
  expect(page).toContain("Imprint &quot;&amp;&lt;b&gt;")
  await addPolicy(provider.cx(), homeOrgId(), { policy: privacy, apply: () => ({ helpLink: "" }) })
  expect(await pageFor(homeScope())).not.toContain("gate-links")
})
