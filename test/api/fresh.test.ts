import { getOption } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { book } from "../../src/api/book.ts"
import { mustBeFresh } from "../../src/api/fresh.ts"
import { challenge } from "../../src/api/respond.ts"
import { addMember } from "../../src/domain/member/index.ts"
import { access } from "../../src/gen/core/options_pb.ts"
import { Fault } from "../../src/kernel/fault.ts"
import { freshSeconds } from "../../src/protocol/freshness.ts"
import { type Estate, openEstate } from "../support/estate.ts"

let estate: Estate
beforeAll(async () => {
  estate = await openEstate()
  // What lets somebody remove themself.
  const target = { level: "org", id: "org1" } as const
  await estate.step((tx) =>
    addMember(tx, { userId: "owner", target, roles: ["ORG_USER_SELF_MANAGER"] }),
  )
})
afterAll(() => estate.close())

const fresh = book.flatMap((service) =>
  service.methods
    .filter((method) => getOption(method, access).fresh)
    .map((method) => ({
      name: method.localName,
      of: service.typeName === "core.auth.v1.AuthService" ? ("v1" as const) : ("v2" as const),
      namesPerson: method.input.fields.some(({ name }) => name === "user_id"),
    })),
)

const tooOld = { code: "unauthenticated", id: "session.sign_in_too_old" }

/** A call about `userId` by somebody whose sign-in is so old; undefined for a call by a token. */
async function call({ name, of }: (typeof fresh)[number], userId: string, ageSeconds?: number) {
  const authTime = ageSeconds === undefined ? undefined : estate.clock.now() - ageSeconds * 1000
  const caller = { kind: "user", userId: "owner", orgId: "org1", clientId: "c", authTime } as const
  return estate.as("owner", name, of === "v2" ? { userId } : {}, { of, cx: { caller } })
}

/** What a call is refused by, which may be what it lacks beside a sign-in. */
const refusalOf = (given: Promise<unknown>): Promise<string> =>
  given.then(
    () => "none",
    (cause) => (cause instanceof Fault ? cause.id : String(cause)),
  )

describe.each(fresh)("$of $name", (operation) => {
  test("wants a sign-in that is recent of who does it to themself", async () => {
    await expect(call(operation, "owner", freshSeconds)).rejects.toMatchObject(tooOld)
  })

  test("asks nobody who has just signed in, and no token without a sign-in", async () => {
    for (const age of [freshSeconds - 1, undefined]) {
      expect(await refusalOf(call(operation, "owner", age))).not.toBe(tooOld.id)
    }
  })
})

test("whoever acts on somebody else is not asked how long ago they signed in", async () => {
  for (const operation of fresh.filter(({ namesPerson }) => namesPerson)) {
    expect(await refusalOf(call(operation, "manager", 86_400)), operation.name).not.toBe(tooOld.id)
  }
})

test("RFC 9470 §3: the refusal says how old the sign-in may be", () => {
  const now = estate.clock.now()
  const caller = { kind: "user", userId: "u", orgId: "o", clientId: "c", authTime: 0 } as const
  const request = { $typeName: "none" }
  const refuse = () => mustBeFresh({ caller, clock: estate.clock }, undefined, request)
  expect(now).toBeGreaterThan(freshSeconds * 1000)
  expect(refuse).toThrow(Fault)
  try {
    refuse()
  } catch (cause) {
    const said = cause instanceof Fault ? challenge(cause)["www-authenticate"] : ""
    expect(said).toMatch(/^Bearer error="insufficient_user_authentication", .*max_age="900"$/)
  }
})
