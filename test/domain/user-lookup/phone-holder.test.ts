// Whose phone number it is where several users have the same.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { type Estate, openEstate } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
})
afterEach(() => estate.close())

const phone = "+41791234567"
const vouched = { verification: { case: "isVerified", value: true } }

/** A person as an administrator creates them, with a number that is called verified. */
const human = (given: object = {}) => ({
  userType: {
    case: "human",
    value: {
      profile: { givenName: "C", familyName: "Eo" },
      email: { email: "ceo@corp.test", ...vouched },
      phone: { phone, ...vouched },
      ...given,
    },
  },
})

/** The code that was sent last. */
async function sentCode(id: string): Promise<string> {
  const events = await estate.store.log.read(0, 500)
  const last = events.filter(
    ({ type, id: at }) => at === id && type === "user.human.phone.code.added",
  )
  const { sealed } = Object(last.at(-1)?.private)
  return estate.secrets.open("seal", sealed, `user/${id}/phone_code`) ?? ""
}

describe("a phone number in the whole instance", () => {
  async function provePhone(id: string): Promise<void> {
    const caller = { kind: "user", userId: id, orgId: "any", clientId: "console-client" } as const
    await estate.as("nobody", "resendPhoneCode", { userId: id }, { cx: { caller } })
    const verificationCode = await sentCode(id)
    await estate.as("nobody", "verifyPhone", { userId: id, verificationCode }, { cx: { caller } })
  }
  const number = "+41 79 123 45 67"
  const found = () => findByLoginName(estate.cx(), number)
  const createAs = async (username: string, given: object = {}) =>
    String(
      (
        await estate.as("stranger", "createUser", {
          organizationId: "org2",
          username,
          ...human(given),
        })
      ).id,
    )

  test("signs in whoever proved it, whatever another organization wrote down", async () => {
    const unproven = { phone: { phone, verification: { case: "sendCode", value: {} } } }
    const { id } = await estate.as("manager", "createUser", {
      organizationId: "org1",
      username: "rightful",
      ...human(unproven),
    })
    await provePhone(id)
    expect(found()).toBe(id)
    await createAs("prepared")
    await createAs("another")
    expect(found()).toBe(id)
  })

  test("signs in whoever proved it, also where somebody is named like it", async () => {
    const named = await createAs(phone, { phone: undefined })
    expect(findByLoginName(estate.cx(), phone)).toBe(named)
    const id = await createAs("rightful")
    await provePhone(id)
    expect(findByLoginName(estate.cx(), phone)).toBe(id)
  })

  test("signs in the only one whose number everybody accepts", async () => {
    await createAs("prepared")
    const { id } = await estate.as("owner", "createUser", {
      organizationId: "org1",
      username: "rightful",
      ...human(),
    })
    expect(found()).toBe(id)
  })

  test("signs in nobody where two organizations wrote it down", async () => {
    const first = await createAs("prepared")
    expect(found()).toBe(first)
    await estate.as("manager", "createUser", {
      organizationId: "org1",
      username: "second",
      ...human(),
    })
    expect(found()).toBeUndefined()
  })
})
