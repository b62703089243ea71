import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { removeOrganization } from "../../../src/domain/org/index.ts"
import { isLinkSecretValid, redeemSignUpLink } from "../../../src/domain/sign-up/index.ts"
import { signUpLink } from "../../../src/domain/sign-up/model.ts"
import { SignUpLinkState } from "../../../src/gen/core/signup/v2/signup_service_pb.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

const hour = 3_600_000

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant(["i1", "i2"])
})
afterEach(() => estate.close())

const createLink = async (request: object = {}, user: TenantUser = "manager", cx = {}) =>
  estate.as(
    user,
    "createSignUpLink",
    {
      organizationId: "org1",
      useLimit: 2,
      expirationDate: timestampFromMs(estate.clock.now() + hour),
      ...request,
    },
    { cx },
  )
const revokeLink = async (id: string, user: TenantUser = "manager") =>
  estate.as(user, "revokeSignUpLink", { id })
const listLinks = async (user: TenantUser = "manager", organizationId = "") =>
  (await estate.as(user, "listSignUpLinks", { organizationId })).links
const idAndSecretIn = (url: string) => {
  const { hash, searchParams } = new URL(url)
  return { id: searchParams.get("link") ?? "", secret: hash.slice(1) }
}
const redeemLink = (id: string, userId = "anna", email = "anna@example.com") =>
  estate.step((tx) => redeemSignUpLink(tx, id, { userId, email }))
const linkOver = { id: "sign_up_link.over" }

test("a link is returned once, works, and is stored as a hash only", async () => {
  const { id, url } = await createLink()
  const shown = idAndSecretIn(url)
  expect(url).toMatch(/^https:\/\/id\.example\.com\/ui\/login\/register\/link\?link=\d+#[\w-]{43}$/)
  expect(shown.id).toBe(id)
  expect(isLinkSecretValid(estate.cx(), shown)).toBe(true)
  const { secret } = shown
  for (const guess of ["", secret.slice(1), `${secret}A`, secret.toLowerCase()])
    expect(isLinkSecretValid(estate.cx(), { id, secret: guess }), guess).toBe(false)
  expect(isLinkSecretValid(estate.cx(), { id: "0", secret })).toBe(false)
  const events = await estate.store.log.read(0, 10_000)
  expect(JSON.stringify(events)).not.toContain(secret)
  const [link] = await listLinks()
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

test("a link is invalid on another instance with the same ID", async () => {
  const { url } = await createLink()
  const { id, secret } = idAndSecretIn(url)
  const second = estate.cx({ instance: "i2" })
  const [added] = await estate.store.log
    .read(0, 10_000)
    .then((all) => all.filter(({ type }) => type === "sign_up_link.added"))
  const copy = { type: "sign_up_link.added", data: added?.data, private: added?.private } as never
  await estate.store.transact(second, (tx) => tx.append(signUpLink, id, [copy], "org1"))
  expect(isLinkSecretValid(estate.cx(), { id, secret })).toBe(true)
  expect(isLinkSecretValid(second, { id, secret })).toBe(false)
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
  await expect(createLink(request)).rejects.toMatchObject({ id: "request.field_invalid" })
  expect(await listLinks()).toEqual([])
})

describe("a link expires", () => {
  test("at its expiry, by the clock of the call", async () => {
    const { id, url } = await createLink()
    estate.clock.advance(hour - 1)
    expect(isLinkSecretValid(estate.cx(), idAndSecretIn(url))).toBe(true)
    estate.clock.advance(1)
    expect(isLinkSecretValid(estate.cx(), idAndSecretIn(url))).toBe(false)
    await expect(redeemLink(id)).rejects.toMatchObject(linkOver)
    expect(await listLinks()).toMatchObject([{ state: SignUpLinkState.EXPIRED }])
  })

  test("permanently when it is revoked", async () => {
    const { id, url } = await createLink()
    await revokeLink(id)
    const again = await revokeLink(id)
    expect(again.revocationDate).toBeDefined()
    expect(isLinkSecretValid(estate.cx(), idAndSecretIn(url))).toBe(false)
    await expect(redeemLink(id)).rejects.toMatchObject(linkOver)
    expect(await listLinks()).toMatchObject([{ state: SignUpLinkState.REVOKED }])
    const events = await estate.store.log.read(0, 10_000)
    const added = events.filter(({ type }) => type === "sign_up_link.added")
    expect(added.map((event) => event.private)).toEqual([null])
  })

  test("after its allowed uses, also when two are concurrent", async () => {
    const { id } = await createLink({ useLimit: 2 })
    await redeemLink(id, "first")
    const both = await Promise.allSettled([redeemLink(id, "second"), redeemLink(id, "third")])
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"])
    expect(await listLinks()).toMatchObject([
      { uses: 2, state: SignUpLinkState.USED_UP, lastUseDate: expect.anything() },
    ])
  })

  test("with its organization, and pauses while that is deactivated", async () => {
    const { id, url } = await createLink({ organizationId: "org2" }, "stranger")
    await estate.as("stranger", "deactivateOrganization", { organizationId: "org2" })
    expect(isLinkSecretValid(estate.cx(), idAndSecretIn(url))).toBe(false)
    await expect(redeemLink(id)).rejects.toMatchObject(linkOver)
    await estate.as("owner", "activateOrganization", { organizationId: "org2" })
    expect(isLinkSecretValid(estate.cx(), idAndSecretIn(url))).toBe(true)
    await removeOrganization(estate.cx(), "org2")
    expect(isLinkSecretValid(estate.cx(), idAndSecretIn(url))).toBe(false)
    await expect(redeemLink(id)).rejects.toMatchObject(linkOver)
    expect(await listLinks("owner")).toEqual([])
    await expect(revokeLink(id, "owner")).rejects.toMatchObject({
      code: "not_found",
    })
  })

  test("if passwords and first passkeys are disabled", async () => {
    const { id, url } = await createLink()
    expect(isLinkSecretValid(estate.cx(), idAndSecretIn(url))).toBe(true)
    const say = { allowUsernamePassword: false, passwordlessType: 1 }
    await estate.as("owner", "updateLoginPolicy", { ...say, allowRegister: true }, { of: "admin" })
    expect(isLinkSecretValid(estate.cx(), idAndSecretIn(url))).toBe(false)
    await expect(redeemLink(id)).rejects.toMatchObject(linkOver)
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
    const { id } = await createLink({ allowedDomains: ["Example.COM", "bücher.example"] })
    expect(await listLinks()).toMatchObject([
      { allowedDomains: ["example.com", "xn--bcher-kva.example"] },
    ])
    const used = redeemLink(id, "anna", email)
    await (isAccepted ? used : expect(used).rejects.toMatchObject(linkOver))
    expect(await listLinks()).toMatchObject([{ uses: isAccepted ? 1 : 0 }])
  })
})

describe("a caller who can't write users of the organization", () => {
  test.each([
    ["nobody", "permission_denied"],
    ["stranger", "not_found"],
  ] as const)("%s can neither create nor revoke links", async (user, code) => {
    const { id } = await createLink()
    await expect(createLink({}, user)).rejects.toMatchObject({ code })
    await expect(revokeLink(id, user)).rejects.toMatchObject({ code })
    expect(await listLinks()).toMatchObject([{ state: SignUpLinkState.ACTIVE }])
  })

  test("sees only those of their own organizations", async () => {
    await createLink()
    const { id } = await createLink({ organizationId: "org2" }, "stranger")
    expect(await listLinks("stranger")).toMatchObject([{ id }])
    expect(await listLinks("stranger", "org1")).toEqual([])
    expect(await listLinks("owner", "org2")).toMatchObject([{ id }])
    expect(await listLinks("owner")).toHaveLength(2)
  })
})
