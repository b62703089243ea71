// What a mail looks like: colours and sign of whose it is, light, dark and in clients of long ago.
import { describe, expect, test } from "vitest"
import { unsaid } from "../../ui/kit/branding.ts"
import { contrast } from "../../ui/kit/colour.ts"
import { type MailLook, renderMail } from "../../ui/mail/index.ts"
import { coloursOf } from "../../ui/mail/look.ts"

const plain: MailLook = { name: "Example", branding: unsaid, logo: "", logoDark: "" }
const hostile = `"><script>alert(1)</script>`

const mailOf = (look: Partial<MailLook> = {}, words: object = {}): string =>
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
    look: { ...plain, ...look },
  })

describe("a mail", () => {
  test("bears the name of whose it is where there is no logo", () => {
    expect(mailOf()).toMatch(/<p style="[^"]*">Example<\/p>/)
    expect(mailOf()).not.toContain("<img")
  })

  test("shows the logo by its public address, and another where it is dark", () => {
    const [logo, logoDark] = ["https://id.example.com/l.png", "https://id.example.com/d.png"]
    const both = mailOf({ logo, logoDark })
    expect(both).toMatch(/<img class="logo-light" src="[^"]*l\.png" alt="Example"/)
    expect(both).toMatch(/<img class="logo-dark" src="[^"]*d\.png"[^>]*display:none/)
    const dark = mailOf({ logo, logoDark, branding: { ...unsaid, themeMode: "dark" } })
    expect(dark.match(/<img[^>]*>/g)).toEqual([expect.stringContaining("d.png")])
    expect(dark).not.toContain("prefers-color-scheme")
    expect(mailOf({ logoDark }).match(/<img/g)).toHaveLength(1)
  })

  test("has the colours that were chosen, where they can be read", () => {
    const branding = { ...unsaid, primaryColor: "#0b6e4f", primaryColorDark: "#0b6e4f" }
    const html = mailOf({ branding })
    expect(html).toContain("background-color:#0b6e4f")
    for (const mode of ["light", "dark"] as const) {
      const { page, card, words, quiet, button, onButton } = coloursOf(branding, mode)
      for (const back of [page, card]) {
        expect(contrast(words, back)).toBeGreaterThanOrEqual(4.5)
        expect(contrast(quiet, back)).toBeGreaterThanOrEqual(4.5)
      }
      expect(contrast(onButton, button)).toBeGreaterThanOrEqual(4.5)
    }
    expect(html).toContain(`background-color: ${coloursOf(branding, "dark").button} !important`)
  })

  test("takes every word as text", () => {
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
    const html = mailOf({ name: hostile, logo: hostile, logoDark: hostile }, words)
    expect(html).not.toContain("<script")
    expect(mailOf({ name: hostile })).not.toContain("<script")
  })
})
