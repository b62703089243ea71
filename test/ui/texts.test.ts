import { MessageFormat } from "messageformat"
import { describe, expect, it } from "vitest"
import { catalogue } from "../../ui/kit/catalogue.ts"
import { texts, translator } from "../../ui/login/texts/index.ts"

const placeholders = (text: string) =>
  [...text.matchAll(/\{\$(\w+)/g)].map((match) => match[1]).sort()

describe("catalogues", () => {
  it("have the same keys in every language", () => {
    expect(Object.keys(texts.de).sort()).toEqual(Object.keys(texts.en).sort())
  })

  it("take the same values in every language, and parse", () => {
    const german: Record<string, string> = texts.de
    for (const [key, english] of Object.entries(texts.en)) {
      const translated = german[key] ?? ""
      expect(placeholders(translated), key).toEqual(placeholders(english))
      for (const text of [english, translated])
        expect(() => new MessageFormat("en", text), key).not.toThrow()
    }
  })

  it("never shout, and leave no text empty", () => {
    for (const text of [...Object.values(texts.en), ...Object.values(texts.de)]) {
      expect(text.trim()).not.toBe("")
      expect(text).not.toContain("!")
    }
  })
})

describe("translator", () => {
  it("takes the first of a reader's languages that it speaks", () => {
    expect(translator(["fr-CH", "de-AT", "en"]).language).toBe("de")
    expect(translator(["fr"]).language).toBe("en")
    expect(translator([]).language).toBe("en")
  })

  it("puts values in as they are", () => {
    const { t } = translator(["de"])
    expect(t("logout.lead_application", { application: "A & <B>" })).toBe(
      "A & <B> möchte dich in diesem Browser abmelden.",
    )
  })

  it("falls back to the first language given", () => {
    const pick = catalogue([
      { language: "de", messages: { hello: "Hallo {$name}" } },
      { language: "en", messages: { hello: "Hello {$name}" } },
    ])
    expect(pick(["sv"]).t("hello", { name: "Ada" })).toBe("Hallo Ada")
  })
})
