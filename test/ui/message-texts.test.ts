// The console knows the operations on message texts by their likeness: they have to be alike.
import { describe, expect, it } from "vitest"
import { messageFields, messageKinds } from "../../src/domain/text/kind.ts"
import { AdminService } from "../../src/gen/core/admin/v1/admin_service_pb.ts"
import { ManagementService } from "../../src/gen/core/management/v1/management_service_pb.ts"
import de from "../../ui/console/shell/texts/pages.de.json"
import en from "../../ui/console/shell/texts/pages.en.json"
import { flat, roleOf, screensOf } from "../../ui/console/text/key.ts"
import { fields, fieldsOf, filled, kindNames, kinds, strayIn } from "../../ui/console/text/kind.ts"
import { methods, nameLike } from "../../ui/console/text/method.ts"
import signIn from "../../ui/login/texts/en.json"

const book = { instance: AdminService, organization: ManagementService }

describe.each(kindNames)("the texts of %s", (kind) => {
  it.each(["instance", "organization"] as const)("are asked of the %s like others", (place) => {
    for (const method of Object.values(methods[place])) {
      const named = book[place].methods.find(({ name }) => name === nameLike(method.name, kind))
      const namesOf = ({ fields: all }: typeof method.input) =>
        all.map(({ localName }) => localName)
      expect(named, nameLike(method.name, kind)).toBeDefined()
      if (!named) continue
      // JSON leaves out what is empty, and goes by names: one to a phone has no more than a text.
      const sent = namesOf(method.input).filter(
        (name) => !fields.some((field) => field === name) || fieldsOf(kind).some((f) => f === name),
      )
      expect(namesOf(named.input)).toEqual(expect.arrayContaining(sent))
      expect(namesOf(named.output)).toEqual(namesOf(method.output))
    }
  })

  it("have the values that the server fills in", () => {
    expect(kinds[kind].values.toSorted()).toEqual(messageKinds[kind].toSorted())
  })
})

it("the kinds and the fields of messages are those of the server", () => {
  expect(kindNames.toSorted()).toEqual(Object.keys(messageKinds).sort())
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
