import { getOption } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { allServices } from "../../src/api/book.ts"
import { requireRecentSignIn } from "../../src/api/fresh.ts"
import { challengeHeaders } from "../../src/api/respond.ts"
import { addMember } from "../../src/domain/member/index.ts"
import { access } from "../../src/gen/core/options_pb.ts"
import { Fault } from "../../src/kernel/fault.ts"
import { freshSignInSeconds } from "../../src/protocol/freshness.ts"
import { openTenant, type Tenant } from "../support/tenant.ts"

let estate: Tenant
beforeAll(async () => {
  estate = await openTenant()
  // Required for users who remove themselves.
  const target = { level: "org", id: "org1" } as const
  await estate.step((tx) =>
    addMember(tx, { userId: "owner", target, roles: ["ORG_USER_SELF_MANAGER"] }),
  )
})
afterAll(() => estate.close())

const freshMethods = allServices.flatMap((service) =>
  service.methods
    .filter((method) => getOption(method, access).fresh)
    .map((method) => ({
      name: method.localName,
      of: service.typeName === "core.auth.v1.AuthService" ? ("v1" as const) : ("v2" as const),
      namesPerson: method.input.fields.some(({ name }) => name === "user_id"),
    })),
)

const signInTooOld = { code: "unauthenticated", id: "session.sign_in_too_old" }

/**
 * A call about `userId` by a user whose sign-in has the given age; undefined for a call with a
 * service account token.
 */
async function call(
  { name, of }: (typeof freshMethods)[number],
  userId: string,
  ageSeconds?: number,
) {
  const authTime = ageSeconds === undefined ? undefined : estate.clock.now() - ageSeconds * 1000
  const caller = { kind: "user", userId: "owner", orgId: "org1", clientId: "c", authTime } as const
  return estate.as("owner", name, of === "v2" ? { userId } : {}, { of, cx: { caller } })
}

/** The ID of the fault, which can be about something other than the sign-in. */
const refusalOf = (input: Promise<unknown>): Promise<string> =>
  input.then(
    () => "none",
    (cause) => (cause instanceof Fault ? cause.id : String(cause)),
  )

describe.each(freshMethods)("$of $name", (operation) => {
  test("requires a recent sign-in of users who change their own account", async () => {
    await expect(call(operation, "owner", freshSignInSeconds)).rejects.toMatchObject(signInTooOld)
  })

  test("requires nothing more right after a sign-in, or of a token without a sign-in", async () => {
    for (const age of [freshSignInSeconds - 1, undefined]) {
      expect(await refusalOf(call(operation, "owner", age))).not.toBe(signInTooOld.id)
    }
  })
})

test("a caller who acts on another user needs no recent sign-in", async () => {
  for (const operation of freshMethods.filter(({ namesPerson }) => namesPerson)) {
    expect(await refusalOf(call(operation, "manager", 86_400)), operation.name).not.toBe(
      signInTooOld.id,
    )
  }
})

test("RFC 9470 §3: the error contains the maximum age of the sign-in", () => {
  const now = estate.clock.now()
  const caller = { kind: "user", userId: "u", orgId: "o", clientId: "c", authTime: 0 } as const
  const request = { $typeName: "none" }
  const refuse = () => requireRecentSignIn({ caller, clock: estate.clock }, undefined, request)
  expect(now).toBeGreaterThan(freshSignInSeconds * 1000)
  expect(refuse).toThrow(Fault)
  try {
    refuse()
  } catch (cause) {
    const said = cause instanceof Fault ? challengeHeaders(cause)["www-authenticate"] : ""
    expect(said).toMatch(/^Bearer error="insufficient_user_authentication", .*max_age="900"$/)
  }
})
