import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { allMessageKinds } from "../../../src/domain/text/kind.ts"
import { messageTemplate, renderMessageText } from "../../../src/domain/text/message.ts"
import { defaultMessage, defaultTexts } from "../../../src/domain/text/standard/index.ts"
import { pageLanguages } from "../../../src/kernel/text/language.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

type Kind = keyof typeof allMessageKinds

const kinds = Object.keys(allMessageKinds).filter((kind): kind is Kind => kind in allMessageKinds)

const placeholdersIn = (text: string) =>
  [...new Set([...text.matchAll(/\{\{\.(\w+)\}\}/g)].map(([, name]) => name))].toSorted()

const person = {
  DisplayName: "Ada Lovelace",
  FirstName: "Ada",
  LastName: "Lovelace",
  NickName: "",
  UserName: "ada",
  PreferredLoginName: "ada@example.com",
  LastEmail: "ada@example.com",
  VerifiedEmail: "",
  LastPhone: "",
  VerifiedPhone: "",
}

test("messages are written in every language of the pages", () => {
  expect(Object.keys(defaultTexts)).toEqual(pageLanguages)
})

describe.each(pageLanguages)("in %s", (language) => {
  test.each(kinds)("%s is complete compared to English, and passes its own validation", (kind) => {
    const message = defaultMessage(language, kind)
    for (const [field, english] of Object.entries(defaultMessage("en", kind))) {
      const text = Object.entries(message).find(([name]) => name === field)?.[1] ?? ""
      expect(text.trim() === "", field).toBe(english === "")
      expect(placeholdersIn(text), field).toEqual(placeholdersIn(english))
      expect(text).not.toContain("!")
      messageTemplate(kind).validate(field, text)
    }
  })
})

test("a message is filled with values in the user's language", () => {
  const asked = { kind: "verify_email_otp", orgId: "org1", userId: "", language: "de-AT" } as const
  const values = { ...person, OTP: "123456", Expiry: 300, Domain: "login.example.com" }
  const message = renderMessageText(estate.cx(), asked, values)
  expect(message).toMatchObject({
    language: "de",
    greeting: "Hallo Ada Lovelace,",
    preHeader: "Gültigkeit: 5 Minuten.",
  })
  expect(message.text).toContain("123456 ist dein Code für die Anmeldung bei login.example.com.")
})

test("a value adds no lines and is not a template itself", () => {
  const asked = { kind: "verify_email", orgId: "org1", userId: "", language: "en" } as const
  const DisplayName = "Ada\r\nBcc: eve@example.com {{.Code}} $1"
  const { greeting } = renderMessageText(estate.cx(), asked, {
    ...person,
    DisplayName,
    Code: "S3CRET",
  })
  expect(greeting).toBe("Hello Ada Bcc: eve@example.com {{.Code}} $1,")
})

test.each(["factor_added", "factor_removed", "email_changed", "phone_changed"] as const)(
  "the message %s uses the organization's texts",
  async (kind) => {
    const own = { language: "en", kind, text: "{{.FirstName}}, was it you?" }
    await estate.as("owner", "setCustomMessageText", own, { of: "management.v1" })
    const asked = { kind, orgId: "org1", userId: "", language: "en" }
    expect(renderMessageText(estate.cx(), asked, person).text).toBe("Ada, was it you?")
  },
)
