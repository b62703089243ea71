import { fileURLToPath } from "node:url"
import { MessageFormat } from "messageformat"
import { describe, expect, it } from "vitest"
import { texts as events } from "../../src/domain/history/words.ts"
import { pageLanguages } from "../../src/kernel/text/language.ts"
import { aggregates } from "../../src/server/modules.ts"
import deFirst from "../../ui/console/shell/texts/de.json"
import enFirst from "../../ui/console/shell/texts/en.json"
import dePages from "../../ui/console/shell/texts/pages.de.json"
import enPages from "../../ui/console/shell/texts/pages.en.json"
import { createCatalog } from "../../ui/kit/catalog.ts"
import * as login from "../../ui/login/texts/index.ts"
import { collectSources } from "../../ui/page-texts.ts"

const placeholders = (text: string) =>
  [...new Set([...text.matchAll(/\{\$(\w+)/g)].map((match) => match[1]))].sort()

type Texts = Readonly<Record<string, string>>

const en: Texts = { ...enFirst, ...enPages }
const de: Texts = { ...deFirst, ...dePages }
const catalogs: { name: string; english: Texts; other: Texts }[] = [
  ...Object.entries(login.texts).map(([language, other]) => ({
    name: `login in ${language}`,
    english: login.texts.en,
    other,
  })),
  { name: "console in de", english: en, other: de },
  ...Object.entries(events).flatMap(([language, { types, streams, fields }]) => [
    { name: `events in ${language}`, english: events.en.types, other: types },
    { name: `kinds in ${language}`, english: events.en.streams, other: streams },
    { name: `fields in ${language}`, english: events.en.fields, other: fields },
  ]),
]

describe.each(catalogs)("the catalog of the $name", ({ english, other }) => {
  it("has the same keys in every language", () => {
    expect(Object.keys(other).sort()).toEqual(Object.keys(english).sort())
  })

  it("uses the same placeholders in every language, and parses", () => {
    for (const [key, text] of Object.entries(english)) {
      const translated = other[key] ?? ""
      expect(placeholders(translated), key).toEqual(placeholders(text))
      for (const each of [text, translated])
        expect(() => new MessageFormat("en", each), key).not.toThrow()
    }
  })

  it("has no exclamation marks and no empty texts", () => {
    for (const text of [...Object.values(english), ...Object.values(other)]) {
      expect(text.trim()).not.toBe("")
      expect(text).not.toContain("!")
    }
  })
})

it("German addresses the reader with du, on every page", () => {
  const ofEvents = Object.values(events.de).flatMap((of: Texts) => Object.values(of))
  const german = [...Object.values(de), ...Object.values(login.texts.de), ...ofEvents]
  expect(german.filter((text) => /\bdu\b/.test(text)).length).toBeGreaterThan(50)
  expect(german.filter((text) => /[a-zäöüß,] (Sie|Ihnen|Ihr[emnrs]*)\b/.test(text))).toEqual([])
})

/** Synonyms that German texts must not use, because pages use another word. */
const bannedGerman =
  /(?<!eines )\bTokens\b|Access.Token|Erneuerungstoken|\b[Ee]rstell|Richtlinie|[Ff]reig(a|ege)b/

it("German uses one word for each concept, on every page", () => {
  const german = [de, login.texts.de, events.de.types, events.de.streams, events.de.fields]
  const said = german.flatMap((texts: Texts) => Object.entries(texts))
  expect(said.filter(([, text]) => bannedGerman.test(text))).toEqual([])
})

describe("texts exist, without unused ones,", () => {
  it("for every fault", () => {
    const types = new Set(aggregates.flatMap(({ evolve }) => Object.keys(evolve)))
    expect(Object.keys(events.en.types).sort()).toEqual([...types].sort())
  })

  it("in each language that pages are in", () => {
    expect(Object.keys(events).sort()).toEqual([...pageLanguages].sort())
  })

  it("that is a distinct translation", () => {
    const { en, ...others } = events
    for (const [language, { types }] of Object.entries(others)) {
      const said: Readonly<Record<string, string>> = types
      const asInEnglish = Object.entries(en.types).filter(([type, text]) => said[type] === text)
      expect(asInEnglish, language).toEqual([])
      const kinds = (all: Readonly<Record<string, string>>) => new Set(Object.values(all)).size
      expect(kinds(said) / kinds(en.types), language).toBeGreaterThan(0.95)
    }
  })

  it("for everything that can be affected", () => {
    const streams = new Set(aggregates.map(({ stream }) => stream))
    expect(Object.keys(events.en.streams).sort()).toEqual([...streams].sort())
  })
})

describe("a number", () => {
  const said = (language: string, count: number) =>
    login.translator([language]).t("password_rule.length", { count })

  it.each([
    ["en", ["at least 1 character", "at least 8 characters"]],
    ["fr", ["au moins 1 caractère", "au moins 8 caractères"]],
    ["pl", ["co najmniej 1 znak", "co najmniej 8 znaków"]],
    ["ja", ["1 文字以上", "8 文字以上"]],
  ])("has the right plural form in %s", (language, forms) => {
    expect([said(language, 1), said(language, 8)]).toEqual(forms)
  })

  it("has more forms in some languages", () => {
    expect(said("pl", 22)).toBe("co najmniej 22 znaki")
  })
})

describe("a translator", () => {
  it("selects the first supported language of a reader", () => {
    expect(login.translator(["sv-SE", "de-AT", "en"]).language).toBe("de")
    expect(login.translator(["sv"]).language).toBe("en")
    expect(login.translator([]).language).toBe("en")
  })

  it("inserts values unchanged", () => {
    const { t } = login.translator(["de"])
    expect(t("logout.lead_application", { application: "A & <B>" })).toBe(
      "A & <B> möchte dich in diesem Browser abmelden.",
    )
  })

  it("supports exactly the languages that an instance can restrict its pages to", () => {
    expect(Object.keys(login.texts)).toEqual(pageLanguages)
  })

  it("falls back to the first language given", () => {
    const pick = createCatalog([
      { language: "de", messages: { hello: "Hallo {$name}" } },
      { language: "en", messages: { hello: "Hello {$name}" } },
    ])
    expect(pick(["sv"]).t("hello", { name: "Ada" })).toBe("Hallo Ada")
  })
})

describe("the texts of the first view", async () => {
  const atOnce = { atOnce: true }
  const folder = new URL("../../ui/console/", import.meta.url)
  const files = ["main.tsx", "project/projects-page.tsx", "app/palette.tsx", "start/checklist.tsx"]
  const needed = files.map((file) => collectSources(fileURLToPath(new URL(file, folder)), atOnce))
  const sources = (await Promise.all(needed)).flatMap((result) => [...result.values()])
  const familiesIn = (texts: Texts) =>
    [...new Set(Object.keys(texts).map((key) => key.split(".")[0] ?? ""))].sort()

  it("are those that its sources use, by family, and no others", () => {
    const isNamed = (family: string) =>
      sources.some((text) => text.includes(`"${family}.`) || text.includes(`\`${family}.`))
    expect(sources.length).toBeGreaterThan(50)
    expect(familiesIn(enFirst)).toEqual(familiesIn(en).filter(isNamed))
  })

  it("share no family with those of the other pages", () => {
    const pages = familiesIn(enPages)
    expect(familiesIn(enFirst).filter((family) => pages.includes(family))).toEqual([])
  })
})

it.each(["users.verified_hint", "contact.verified_hint"])(
  "explains at %s what a verified address is for: oauth2-proxy responds with a bare 403 without it",
  (key) => {
    for (const texts of [
      { ...enFirst, ...enPages },
      { ...deFirst, ...dePages },
    ]) {
      expect(Object.entries(texts).find(([name]) => name === key)?.[1]).toMatch(
        /oauth2-proxy .*403/,
      )
    }
  },
)
