import { readFileSync } from "node:fs"
import { MessageFormat } from "messageformat"
import { describe, expect, it } from "vitest"
import { pageLanguages } from "../../src/kernel/language.ts"
import de from "../../ui/console/shell/texts/de.json"
import en from "../../ui/console/shell/texts/en.json"
import { catalogue } from "../../ui/kit/catalogue.ts"
import * as login from "../../ui/login/texts/index.ts"

const placeholders = (text: string) =>
  [...text.matchAll(/\{\$(\w+)/g)].map((match) => match[1]).sort()

const catalogues: { name: string; en: Record<string, string>; de: Record<string, string> }[] = [
  { name: "login", ...login.texts },
  { name: "console", en, de },
]

describe.each(catalogues)("the catalogue of the $name", ({ en, de }) => {
  it("has the same keys in every language", () => {
    expect(Object.keys(de).sort()).toEqual(Object.keys(en).sort())
  })

  it("takes the same values in every language, and parses", () => {
    for (const [key, english] of Object.entries(en)) {
      const translated = de[key] ?? ""
      expect(placeholders(translated), key).toEqual(placeholders(english))
      for (const text of [english, translated])
        expect(() => new MessageFormat("en", text), key).not.toThrow()
    }
  })

  it("never shouts, and leaves no text empty", () => {
    for (const text of [...Object.values(en), ...Object.values(de)]) {
      expect(text.trim()).not.toBe("")
      expect(text).not.toContain("!")
    }
  })
})

describe("a translator", () => {
  it("takes the first of a reader's languages that it speaks", () => {
    expect(login.translator(["fr-CH", "de-AT", "en"]).language).toBe("de")
    expect(login.translator(["fr"]).language).toBe("en")
    expect(login.translator([]).language).toBe("en")
  })

  it("puts values in as they are", () => {
    const { t } = login.translator(["de"])
    expect(t("logout.lead_application", { application: "A & <B>" })).toBe(
      "A & <B> möchte dich in diesem Browser abmelden.",
    )
  })

  it("speaks exactly what an instance may restrict its pages to", () => {
    expect(Object.keys(login.texts)).toEqual(pageLanguages)
  })

  it("falls back to the first language given", () => {
    const pick = catalogue([
      { language: "de", messages: { hello: "Hallo {$name}" } },
      { language: "en", messages: { hello: "Hello {$name}" } },
    ])
    expect(pick(["sv"]).t("hello", { name: "Ada" })).toBe("Hallo Ada")
  })
})

describe("the history of things", () => {
  const modules = ["user", "org", "project", "app"]
  const models = modules.flatMap((room) => {
    const text = readFileSync(new URL(`../../src/domain/${room}/model.ts`, import.meta.url), "utf8")
    return [...text.matchAll(/"((?:user|org|project)\.[a-z._]+)"/g)].map(([, type]) => type)
  })

  it("has words for whatever may have happened", () => {
    const unknown = [...new Set(models)].filter((type) => !(`event.${type}` in en))
    expect(models.length).toBeGreaterThan(50)
    expect(unknown).toEqual([])
  })
})
