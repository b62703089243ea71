// Every customizable message text is sent, or has a reason why not.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { mailBrandingOf } from "../../src/domain/message/branding.ts"
import { allMessageKinds } from "../../src/domain/text/kind.ts"
import { renderMessageText } from "../../src/domain/text/message.ts"
import { MessageCustomTextSchema } from "../../src/gen/core/text/v1/text_pb.ts"
import { renderMail } from "../../ui/mail/index.ts"
import { openTenant, type Tenant } from "../support/tenant.ts"

let estate: Tenant
beforeAll(async () => {
  estate = await openTenant()
})
afterAll(() => estate.close())

/** Fields that are not texts. */
const otherFields: readonly string[] = ["details", "isDefault"]

const fields = MessageCustomTextSchema.fields
  .map(({ localName }) => localName)
  .filter((name) => !otherFields.includes(name))

type Kind = keyof typeof allMessageKinds
const kinds = Object.keys(allMessageKinds).filter((name): name is Kind => name in allMessageKinds)

/** A message to a phone has only a text; other fields are ignored. */
const isForPhones = (kind: Kind) => kind === "verify_phone" || kind === "verify_sms_otp"

const values: any = Object.fromEntries(
  Object.values(allMessageKinds).flatMap((names) =>
    names.map((name) => [name, name === "Expiry" ? 60 : name]),
  ),
)

describe.each(kinds)("the message %s", (kind) => {
  test("is sent with every customized text", async () => {
    const own = Object.fromEntries(fields.map((field) => [field, `says ${field}`]))
    const request = { language: "en", kind, ...own }
    await estate.as("owner", "setDefaultMessageText", request, { of: "admin.v1" })
    const asked = { kind, orgId: "org1", userId: "", language: "en" }
    const content = renderMessageText(estate.cx(), asked, values)
    const link = "https://id.example.com/"
    const html = renderMail({ ...content, link, branding: mailBrandingOf(estate.cx(), "org1") })
    const sent = isForPhones(kind) ? content.text : `${content.subject}\n${html}`
    const shown = fields.filter((field) => sent.includes(`says ${field}`))
    expect(shown.toSorted()).toEqual(isForPhones(kind) ? ["text"] : fields.toSorted())
  })
})
