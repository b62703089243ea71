// What the console knows of message texts is what the server knows.
import { describe, expect, it } from "vitest"
import { allMessageKinds, messageFields } from "../../src/domain/text/kind.ts"
import de from "../../ui/console/shell/texts/pages.de.json"
import en from "../../ui/console/shell/texts/pages.en.json"
import {
  fields,
  filled,
  kindNames,
  kinds,
  samples,
  strayIn,
} from "../../ui/console/text/message-kind.ts"
import { methods } from "../../ui/console/text/message-operations.ts"
import { flat, roleOf, screensOf } from "../../ui/console/text/text-key.ts"
import signIn from "../../ui/login/texts/en.json"

describe.each(["instance", "organization"] as const)("the operations of the %s", (place) => {
  it.each(["present", "inherited", "set", "reset"] as const)("name the kind: %s", (way) => {
    const { input } = methods[place][way]
    const names = input.fields.map(({ localName }) => localName)
    expect(names).toEqual(expect.arrayContaining(["kind", "language"]))
    if (way === "set") expect(names).toEqual(expect.arrayContaining([...fields]))
  })
})

describe.each(kindNames)("the texts of %s", (kind) => {
  it("have the values that the server fills in", () => {
    expect(kinds[kind].toSorted()).toEqual([...allMessageKinds[kind]].sort())
  })

  it("show each value in the preview", () => {
    expect(kinds[kind].filter((name) => filled(`{{.${name}}}`, samples).includes("{{"))).toEqual([])
  })
})

it("all kinds of messages can be edited, with the fields of the server", () => {
  expect(kindNames.toSorted()).toEqual(Object.keys(allMessageKinds).sort())
  expect(fields.toSorted()).toEqual(messageFields.toSorted())
})

describe("a text with values in it", () => {
  it("is told what stands for nothing in it", () => {
    expect(strayIn("password_change", "Dear {{.FirstName}}, {{ .Code }}")).toBe("{{ .Code }}")
    expect(strayIn("invite_user", "Dear {{.FirstName}}, {{ .Code }}")).toBeUndefined()
  })

  it("is shown with samples, and what has none as it is", () => {
    expect(filled("{{.FirstName}}: {{ .Other }}", { FirstName: "Ada" })).toBe("Ada: {{ .Other }}")
  })

  it("is found by its whole key", () => {
    expect(flat({ a: { b: "1", c: { d: "2" } }, e: "3" })).toEqual({
      "a.b": "1",
      "a.c.d": "2",
      e: "3",
    })
  })
})

describe("the screens of the sign-in", () => {
  const screens = screensOf(signIn)

  it.each([
    ["English", en],
    ["German", de],
  ])("are called in %s what people call them, each by another name", (_, words) => {
    const names = screens.map((screen) => Reflect.get(words, `texts.screen.${screen}`))
    expect(names.filter((name) => typeof name !== "string")).toEqual([])
    expect(new Set(names).size).toBe(screens.length)
  })

  it.each([
    ["login_name.title", "heading"],
    ["login_name.lead_application", "text"],
    ["login_name.label", "field"],
    ["login_name.submit", "button"],
    ["login_name.error.missing", "error"],
    ["register.givenName", "field"],
    ["setup.public_url_hint", "hint"],
    ["factor.way.otp", "button"],
  ])("say of %s that it is a %s", (key, role) => {
    expect(roleOf(key)).toBe(role)
  })
})
