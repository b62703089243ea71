// The console's data about message texts matches the server.
import { describe, expect, it } from "vitest"
import { allMessageKinds, messageFields } from "../../src/domain/text/kind.ts"
import de from "../../ui/console/shell/texts/pages.de.json"
import en from "../../ui/console/shell/texts/pages.en.json"
import {
  fillPlaceholders,
  findUnknownPlaceholder,
  kindNames,
  messageFieldNames,
  placeholdersByKind,
  samples,
} from "../../ui/console/text/message-kind.ts"
import { messageOperations } from "../../ui/console/text/message-operations.ts"
import { flatten, roleOf, screensOf } from "../../ui/console/text/text-key.ts"
import signIn from "../../ui/login/texts/en.json"

describe.each(["instance", "organization"] as const)("the operations of the %s", (location) => {
  it.each(["present", "inherited", "set", "reset"] as const)(
    "are named after the kind: %s",
    (method) => {
      const { input } = messageOperations[location][method]
      const names = input.fields.map(({ localName }) => localName)
      expect(names).toEqual(expect.arrayContaining(["kind", "language"]))
      if (method === "set") expect(names).toEqual(expect.arrayContaining([...messageFieldNames]))
    },
  )
})

describe.each(kindNames)("the texts of %s", (kind) => {
  it("have the placeholders that the server fills in", () => {
    expect(placeholdersByKind[kind].toSorted()).toEqual([...allMessageKinds[kind]].sort())
  })

  it("show each placeholder in the preview", () => {
    expect(
      placeholdersByKind[kind].filter((name) =>
        fillPlaceholders(`{{.${name}}}`, samples).includes("{{"),
      ),
    ).toEqual([])
  })
})

it("all kinds of messages can be edited, with the server's fields", () => {
  expect(kindNames.toSorted()).toEqual(Object.keys(allMessageKinds).sort())
  expect(messageFieldNames.toSorted()).toEqual(messageFields.toSorted())
})

describe("a text with placeholders", () => {
  it("reports unknown placeholders", () => {
    expect(findUnknownPlaceholder("password_change", "Dear {{.FirstName}}, {{ .Code }}")).toBe(
      "{{ .Code }}",
    )
    expect(
      findUnknownPlaceholder("invite_user", "Dear {{.FirstName}}, {{ .Code }}"),
    ).toBeUndefined()
  })

  it("is shown with sample values, and unknown ones unchanged", () => {
    expect(fillPlaceholders("{{.FirstName}}: {{ .Other }}", { FirstName: "Ada" })).toBe(
      "Ada: {{ .Other }}",
    )
  })

  it("is found by its complete key", () => {
    expect(flatten({ a: { b: "1", c: { d: "2" } }, e: "3" })).toEqual({
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
  ])("have unique names in %s", (_, words) => {
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
  ])("name %s %s", (key, role) => {
    expect(roleOf(key)).toBe(role)
  })
})
