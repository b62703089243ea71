// The owner of a phone number that several users have.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const phone = "+41791234567"
const markedVerified = { verification: { case: "isVerified", value: true } }

/** A user as an administrator creates them, with a number marked as verified. */
const human = (input: object = {}) => ({
  userType: {
    case: "human",
    value: {
      profile: { givenName: "C", familyName: "Eo" },
      email: { email: "ceo@corp.test", ...markedVerified },
      phone: { phone, ...markedVerified },
      ...input,
    },
  },
})

/** The last sent code. */
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
  const createAs = async (username: string, input: object = {}) =>
    String(
      (
        await estate.as("stranger", "createUser", {
          organizationId: "org2",
          username,
          ...human(input),
        })
      ).id,
    )

  test("signs in the user who verified it, whatever another organization stored", async () => {
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

  test("signs in the user who verified it, even if another user has it as their name", async () => {
    const named = await createAs(phone, { phone: undefined })
    expect(findByLoginName(estate.cx(), phone)).toBe(named)
    const id = await createAs("rightful")
    await provePhone(id)
    expect(findByLoginName(estate.cx(), phone)).toBe(id)
  })

  test("signs in the only user whose number is verified for everyone", async () => {
    await createAs("prepared")
    const { id } = await estate.as("owner", "createUser", {
      organizationId: "org1",
      username: "rightful",
      ...human(),
    })
    expect(found()).toBe(id)
  })

  test("signs in no user if two organizations stored it", async () => {
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
