import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { removeOrganization } from "../../../src/domain/org/index.ts"
import { isSignUpLink, redeemSignUpLink } from "../../../src/domain/sign-up/index.ts"
import { signUpLink } from "../../../src/domain/sign-up/model.ts"
import { SignUpLinkState } from "../../../src/gen/core/signup/v2/signup_service_pb.ts"
import { type Estate, openEstate, type Person } from "../../support/estate.ts"

const hour = 3_600_000

let estate: Estate
beforeEach(async () => {
  estate = await openEstate(["i1", "i2"])
})
afterEach(() => estate.close())

const create = async (request: object = {}, who: Person = "manager", cx = {}) =>
  estate.as(
    who,
    "createSignUpLink",
    {
      organizationId: "org1",
      useLimit: 2,
      expirationDate: timestampFromMs(estate.clock.now() + hour),
      ...request,
    },
    { cx },
  )
const revoke = async (id: string, who: Person = "manager") =>
  estate.as(who, "revokeSignUpLink", { id })
const listed = async (who: Person = "manager", organizationId = "") =>
  (await estate.as(who, "listSignUpLinks", { organizationId })).links
const shownIn = (url: string) => {
  const { hash, searchParams } = new URL(url)
  return { id: searchParams.get("link") ?? "", secret: hash.slice(1) }
}
const use = (id: string, userId = "anna", email = "anna@example.com") =>
  estate.step((tx) => redeemSignUpLink(tx, id, { userId, email }))
const over = { id: "sign_up_link.over" }

test("a link is shown once, works, and is kept as a hash alone", async () => {
  const { id, url } = await create()
  const shown = shownIn(url)
  expect(url).toMatch(/^https:\/\/id\.example\.com\/ui\/login\/register\/link\?link=\d+#[\w-]{43}$/)
  expect(shown.id).toBe(id)
  expect(isSignUpLink(estate.cx(), shown)).toBe(true)
  const { secret } = shown
  for (const guess of ["", secret.slice(1), `${secret}A`, secret.toLowerCase()])
    expect(isSignUpLink(estate.cx(), { id, secret: guess }), guess).toBe(false)
  expect(isSignUpLink(estate.cx(), { id: "0", secret })).toBe(false)
  const events = await estate.store.log.read(0, 10_000)
  expect(JSON.stringify(events)).not.toContain(secret)
  const [link] = await listed()
  expect(link).toMatchObject({
    id,
    organizationId: "org1",
    state: SignUpLinkState.ACTIVE,
    useLimit: 2,
    uses: 0,
    allowedDomains: [],
  })
  expect(link).not.toHaveProperty("lastUseDate")
})

test("a link of one instance opens nothing in another that has the same id", async () => {
  const { url } = await create()
  const { id, secret } = shownIn(url)
  const second = estate.cx({ instance: "i2" })
  const [added] = await estate.store.log
    .read(0, 10_000)
    .then((all) => all.filter(({ type }) => type === "sign_up_link.added"))
  const copy = { type: "sign_up_link.added", data: added?.data, private: added?.private } as never
  await estate.store.transact(second, (tx) => tx.append(signUpLink, id, [copy], "org1"))
  expect(isSignUpLink(estate.cx(), { id, secret })).toBe(true)
  expect(isSignUpLink(second, { id, secret })).toBe(false)
})

test.each([
  ["no limit", { useLimit: 0 }],
  ["a limit that is too high", { useLimit: 10_001 }],
  ["an end in the past", { expirationDate: timestampFromMs(Date.UTC(2026, 0, 1)) }],
  ["an end too far away", { expirationDate: timestampFromMs(Date.UTC(2027, 1, 2)) }],
  ["no end", { expirationDate: undefined }],
  ["a domain with an @", { allowedDomains: ["@example.com"] }],
  ["a wildcard", { allowedDomains: ["*.example.com"] }],
  ["no domain", { allowedDomains: [""] }],
  ["an encoded domain", { allowedDomains: ["ex%61mple.com"] }],
  ["too many domains", { allowedDomains: Array.from({ length: 51 }, (_, at) => `d${at}.test`) }],
])("a link with %s is rejected", async (_, request) => {
  await expect(create(request)).rejects.toMatchObject({ id: "request.field_invalid" })
  expect(await listed()).toEqual([])
})

describe("a link ends", () => {
  test("when it expires, by the clock of the call", async () => {
    const { id, url } = await create()
    estate.clock.advance(hour - 1)
    expect(isSignUpLink(estate.cx(), shownIn(url))).toBe(true)
    estate.clock.advance(1)
    expect(isSignUpLink(estate.cx(), shownIn(url))).toBe(false)
    await expect(use(id)).rejects.toMatchObject(over)
    expect(await listed()).toMatchObject([{ state: SignUpLinkState.EXPIRED }])
  })

  test("when it is revoked, for good", async () => {
    const { id, url } = await create()
    await revoke(id)
    const again = await revoke(id)
    expect(again.revocationDate).toBeDefined()
    expect(isSignUpLink(estate.cx(), shownIn(url))).toBe(false)
    await expect(use(id)).rejects.toMatchObject(over)
    expect(await listed()).toMatchObject([{ state: SignUpLinkState.REVOKED }])
    const events = await estate.store.log.read(0, 10_000)
    const added = events.filter(({ type }) => type === "sign_up_link.added")
    expect(added.map((event) => event.private)).toEqual([null])
  })

  test("when it was used as often as allowed, and of two at once one is let in", async () => {
    const { id } = await create({ useLimit: 2 })
    await use(id, "first")
    const both = await Promise.allSettled([use(id, "second"), use(id, "third")])
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"])
    expect(await listed()).toMatchObject([
      { uses: 2, state: SignUpLinkState.USED_UP, lastUseDate: expect.anything() },
    ])
  })

  test("with its organization, and pauses while that is deactivated", async () => {
    const { id, url } = await create({ organizationId: "org2" }, "stranger")
    await estate.as("stranger", "deactivateOrganization", { organizationId: "org2" })
    expect(isSignUpLink(estate.cx(), shownIn(url))).toBe(false)
    await expect(use(id)).rejects.toMatchObject(over)
    await estate.as("owner", "activateOrganization", { organizationId: "org2" })
    expect(isSignUpLink(estate.cx(), shownIn(url))).toBe(true)
    await removeOrganization(estate.cx(), "org2")
    expect(isSignUpLink(estate.cx(), shownIn(url))).toBe(false)
    await expect(use(id)).rejects.toMatchObject(over)
    expect(await listed("owner")).toEqual([])
    await expect(revoke(id, "owner")).rejects.toMatchObject({
      code: "not_found",
    })
  })

  test("for users where passwords and first passkeys are off", async () => {
    const { id, url } = await create()
    expect(isSignUpLink(estate.cx(), shownIn(url))).toBe(true)
    const say = { allowUsernamePassword: false, passwordlessType: 1 }
    await estate.as("owner", "updateLoginPolicy", { ...say, allowRegister: true }, { of: "admin" })
    expect(isSignUpLink(estate.cx(), shownIn(url))).toBe(false)
    await expect(use(id)).rejects.toMatchObject(over)
  })
})

describe("a link with domains", () => {
  test.each([
    ["anna@example.com", true],
    ["anna@EXAMPLE.com", true],
    ["anna@bücher.example", true],
    ["anna@xn--bcher-kva.example", true],
    ["anna@sub.example.com", false],
    ["anna@badexample.com", false],
    ["anna@example.com.evil.test", false],
    ["anna@evil.test@example.com", false],
    ["anna@example.com@evil.test", false],
    ["anna@example.com.", false],
    ["anna@ex%61mple.com", false],
    ["anna@example.com\nevil.test", false],
    ["example.com", false],
  ])("%s: %s", async (email, isAccepted) => {
    const { id } = await create({ allowedDomains: ["Example.COM", "bücher.example"] })
    expect(await listed()).toMatchObject([
      { allowedDomains: ["example.com", "xn--bcher-kva.example"] },
    ])
    const used = use(id, "anna", email)
    await (isAccepted ? used : expect(used).rejects.toMatchObject(over))
    expect(await listed()).toMatchObject([{ uses: isAccepted ? 1 : 0 }])
  })
})

describe("whoever may not write users of the organization", () => {
  test.each([
    ["nobody", "permission_denied"],
    ["stranger", "not_found"],
  ] as const)("%s creates and revokes none", async (who, code) => {
    const { id } = await create()
    await expect(create({}, who)).rejects.toMatchObject({ code })
    await expect(revoke(id, who)).rejects.toMatchObject({ code })
    expect(await listed()).toMatchObject([{ state: SignUpLinkState.ACTIVE }])
  })

  test("sees those of their own organizations alone", async () => {
    await create()
    const { id } = await create({ organizationId: "org2" }, "stranger")
    expect(await listed("stranger")).toMatchObject([{ id }])
    expect(await listed("stranger", "org1")).toEqual([])
    expect(await listed("owner", "org2")).toMatchObject([{ id }])
    expect(await listed("owner")).toHaveLength(2)
  })
})
