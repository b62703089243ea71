import { expect, test } from "vitest"
import { fillPlaceholders } from "../../src/domain/text/placeholder.ts"
import { isolate } from "../../src/kernel/text/bidi.ts"
import { translator } from "../../ui/login/texts/index.ts"

const bidiName = "Shop\u202Egpj.exe"

test("a name that changes the text direction affects only itself", () => {
  expect(isolate(bidiName)).toBe(`\u2068${bidiName}\u2069`)
  expect(isolate("a\u2067b")).toBe("\u2068ab\u2069")
  expect(isolate("a\u2069\u202Eb")).toBe("\u2068a\u202Eb\u2069")
})

test.each(["Ada", "\u05d0\u05d3\u05d4", "a\u200fb", ""])("%j is unchanged", (name) => {
  expect(isolate(name)).toBe(name)
})

test("sentences of pages and messages isolate it", () => {
  const { t } = translator(["en"])
  const said = t("login_name.lead_application", { application: bidiName })
  expect(said).toBe(`to continue to \u2068${bidiName}\u2069`)
  const sent = fillPlaceholders("{{.DisplayName}}, was it you?", { DisplayName: bidiName })
  expect(sent).toBe(`\u2068${bidiName}\u2069, was it you?`)
})
