import { expect, test } from "vitest"
import { fillIn } from "../../src/domain/text/placeholder.ts"
import { isolated } from "../../src/kernel/text/bidi.ts"
import { translator } from "../../ui/login/texts/index.ts"

const turned = "Shop\u202Egpj.exe"

test("a name that turns the direction does so for itself alone", () => {
  expect(isolated(turned)).toBe(`\u2068${turned}\u2069`)
  expect(isolated("a\u2067b")).toBe("\u2068ab\u2069")
  expect(isolated("a\u2069\u202Eb")).toBe("\u2068a\u202Eb\u2069")
})

test.each(["Ada", "\u05d0\u05d3\u05d4", "a\u200fb", ""])("%j stays as it is", (name) => {
  expect(isolated(name)).toBe(name)
})

test("sentences of pages and of messages isolate it", () => {
  const { t } = translator(["en"])
  const said = t("login_name.lead_application", { application: turned })
  expect(said).toBe(`to continue to \u2068${turned}\u2069`)
  const sent = fillIn("{{.DisplayName}}, was it you?", { DisplayName: turned })
  expect(sent).toBe(`\u2068${turned}\u2069, was it you?`)
})
