// Every text of a message that can be set is in what is sent, or it is said why it is not.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { mailLookOf } from "../../src/domain/message/look.ts"
import { allMessageKinds } from "../../src/domain/text/kind.ts"
import { messageText } from "../../src/domain/text/message.ts"
import { MessageCustomTextSchema } from "../../src/gen/core/text/v1/text_pb.ts"
import { renderMail } from "../../ui/mail/index.ts"
import { type Estate, openEstate } from "../support/estate.ts"

let estate: Estate
beforeAll(async () => {
  estate = await openEstate()
})
afterAll(() => estate.close())

/** What is no text of a message. */
const beside: readonly string[] = ["details", "isDefault"]

const fields = MessageCustomTextSchema.fields
  .map(({ localName }) => localName)
  .filter((name) => !beside.includes(name))

type Kind = keyof typeof allMessageKinds
const kinds = Object.keys(allMessageKinds).filter((name): name is Kind => name in allMessageKinds)

/** A message to a phone has a text alone: whatever else is set stays out of it. */
const isForPhones = (kind: Kind) => kind === "verify_phone" || kind === "verify_sms_otp"

const values: any = Object.fromEntries(
  Object.values(allMessageKinds).flatMap((names) =>
    names.map((name) => [name, name === "Expiry" ? 60 : name]),
  ),
)

describe.each(kinds)("the message %s", (kind) => {
  test("is sent with each text that is set", async () => {
    const own = Object.fromEntries(fields.map((field) => [field, `says ${field}`]))
    const request = { language: "en", kind, ...own }
    await estate.as("owner", "setDefaultMessageText", request, { of: "admin.v1" })
    const asked = { kind, orgId: "org1", userId: "", language: "en" }
    const content = messageText(estate.cx(), asked, values)
    const link = "https://id.example.com/"
    const html = renderMail({ ...content, link, look: mailLookOf(estate.cx(), "org1") })
    const sent = isForPhones(kind) ? content.text : `${content.subject}\n${html}`
    const shown = fields.filter((field) => sent.includes(`says ${field}`))
    expect(shown.toSorted()).toEqual(isForPhones(kind) ? ["text"] : fields.toSorted())
  })
})
