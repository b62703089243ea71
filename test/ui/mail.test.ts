// The layout of emails: colors and logo of the sender, in light and dark mode and in old clients.
import { describe, expect, test } from "vitest"
import { defaultPolicyColors } from "../../ui/kit/branding.ts"
import { contrast } from "../../ui/kit/color.ts"
import { type MailBranding, renderMail } from "../../ui/mail/index.ts"
import { createColors } from "../../ui/mail/mail-branding.ts"

const plain: MailBranding = {
  name: "Example",
  branding: defaultPolicyColors,
  logo: "",
  logoDark: "",
}
const hostile = `"><script>alert(1)</script>`

const renderSample = (look: Partial<MailBranding> = {}, words: object = {}): string =>
  renderMail({
    language: "en",
    title: "Hello",
    preHeader: "News",
    greeting: "Dear Ada",
    text: "Text",
    link: "https://id.example.com/x",
    buttonText: "Open",
    footerText: "Bye",
    ...words,
    branding: { ...plain, ...look },
  })

describe("an email", () => {
  test("shows the sender's name without a logo", () => {
    expect(renderSample()).toMatch(/<p style="[^"]*">Example<\/p>/)
    expect(renderSample()).not.toContain("<img")
  })

  test("shows the logo by its public URL, and another one in dark mode", () => {
    const [logo, logoDark] = ["https://id.example.com/l.png", "https://id.example.com/d.png"]
    const both = renderSample({ logo, logoDark })
    expect(both).toMatch(/<img class="logo-light" src="[^"]*l\.png" alt="Example"/)
    expect(both).toMatch(/<img class="logo-dark" src="[^"]*d\.png"[^>]*display:none/)
    const dark = renderSample({
      logo,
      logoDark,
      branding: { ...defaultPolicyColors, themeMode: "dark" },
    })
    expect(dark.match(/<img[^>]*>/g)).toEqual([expect.stringContaining("d.png")])
    expect(dark).not.toContain("prefers-color-scheme")
    expect(renderSample({ logoDark }).match(/<img/g)).toHaveLength(1)
  })

  test("uses the selected colors, if they are readable", () => {
    const branding = {
      ...defaultPolicyColors,
      primaryColor: "#0b6e4f",
      primaryColorDark: "#0b6e4f",
    }
    const html = renderSample({ branding })
    expect(html).toContain("background-color:#0b6e4f")
    for (const mode of ["light", "dark"] as const) {
      const { page, card, words, quiet, button, onButton } = createColors(branding, mode)
      for (const back of [page, card]) {
        expect(contrast(words, back)).toBeGreaterThanOrEqual(4.5)
        expect(contrast(quiet, back)).toBeGreaterThanOrEqual(4.5)
      }
      expect(contrast(onButton, button)).toBeGreaterThanOrEqual(4.5)
    }
    expect(html).toContain(`background-color: ${createColors(branding, "dark").button} !important`)
  })

  test("escapes every text", () => {
    const words = Object.fromEntries(
      [
        "language",
        "title",
        "preHeader",
        "greeting",
        "text",
        "link",
        "buttonText",
        "footerText",
      ].map((field) => [field, hostile]),
    )
    const html = renderSample({ name: hostile, logo: hostile, logoDark: hostile }, words)
    expect(html).not.toContain("<script")
    expect(renderSample({ name: hostile })).not.toContain("<script")
  })
})
