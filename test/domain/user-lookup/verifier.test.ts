// Who verified an address, and for whom the verification is valid.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { createIdp } from "../../../src/domain/idp/commands.ts"
import type { Options } from "../../../src/domain/idp/index.ts"
import { addDomain, org } from "../../../src/domain/org/index.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { confirmEmails } from "../../../src/domain/user-lookup/confirm.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { findProfileFor } from "../../../src/domain/user-lookup/query.ts"
import { iterateOrgVerified, listSharedEmails } from "../../../src/domain/user-lookup/verified.ts"
import { type UserEvent, user } from "../../../src/domain/user-model/model.ts"
import type { Draft } from "../../../src/store/index.ts"
import { humanInput, openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const providerOptions: Options = {
  isLinkingAllowed: true,
  isCreationAllowed: true,
  isAutoCreation: true,
  isAutoUpdate: true,
  autoLinking: "email",
}
const email = "ceo@corp.test"
const phone = "+41791234567"
const isVerified = { isVerified: true }
const markedVerified = { verification: { case: "isVerified", value: true } }

/** A user as an administrator creates them, with an address marked as verified. */
const human = (input: object = {}) => ({
  userType: {
    case: "human",
    value: {
      profile: { givenName: "C", familyName: "Eo" },
      email: { email, ...markedVerified },
      phone: { phone, ...markedVerified },
      ...input,
    },
  },
})
const createUser = (
  user: Parameters<Tenant["as"]>[0],
  organizationId: string,
  input: object = {},
): Promise<{ id: string }> =>
  estate.as(user, "createUser", { organizationId, username: "prepared", ...human(input) })

const verifiedFor = (id: string, orgId: string) => {
  const known = findProfileFor(estate.cx(), id, [orgId])
  return { email: known?.emailVerified, phone: known?.phoneVerified }
}
const both = { email: true, phone: true }
const neither = { email: false, phone: false }

type CodeFor = "email" | "phone" | "invite" | "password"

/** The last sent code. */
async function sentCode(id: string, of: CodeFor): Promise<string> {
  const events = await estate.store.log.read(0, 500)
  const last = events.filter(
    ({ type, id: at }) => at === id && type === `user.human.${of}.code.added`,
  )
  const { sealed } = Object(last.at(-1)?.private)
  return estate.secrets.open("seal", sealed, `user/${id}/${of}_code`) ?? ""
}

async function verifyEmail(id: string): Promise<void> {
  const cx = {
    caller: { kind: "user", userId: id, orgId: "any", clientId: "console-client" },
  } as const
  await estate.as("nobody", "resendEmailCode", { userId: id }, { cx })
  const verificationCode = await sentCode(id, "email")
  await estate.as("nobody", "verifyEmail", { userId: id, verificationCode }, { cx })
}

const verifyDomain = async (orgId: string, domain: string) => {
  await addDomain(estate.cx(), orgId, { domain, isUsed: () => false })
  await estate.step((tx) =>
    tx.append(org, orgId, [
      {
        type: "org.domain.verification.added",
        data: { domain, validationType: "dns" },
        private: { validationCode: "token" },
      },
      { type: "org.domain.verified", data: { domain } },
    ]),
  )
}

describe("an address that an administrator marked as verified", () => {
  test("is verified for applications of their organization only", async () => {
    const { id } = await createUser("stranger", "org2")
    expect(verifiedFor(id, "org2")).toEqual(both)
    expect(verifiedFor(id, "org1")).toEqual(neither)
    expect(verifiedFor(id, "")).toEqual(neither)
  })

  test("is verified for all if their permission is on the instance", async () => {
    const { id } = await createUser("owner", "org2")
    expect(verifiedFor(id, "org1")).toEqual(both)
  })

  test("is verified for all once its user has verified it", async () => {
    const { id } = await createUser("stranger", "org2")
    await verifyEmail(id)
    expect(verifiedFor(id, "org1")).toEqual({ email: true, phone: false })
  })

  test("is not verified for all if they have the code returned", async () => {
    const returnCode = { verification: { case: "returnCode", value: {} } }
    const { id, emailCode } = await estate.as("stranger", "createUser", {
      organizationId: "org2",
      ...human({ email: { email, ...returnCode }, phone: undefined }),
    })
    await estate.as("stranger", "verifyEmail", { userId: id, verificationCode: emailCode })
    expect(verifiedFor(id, "org2").email).toBe(true)
    expect(verifiedFor(id, "org1").email).toBe(false)
  })

  const foreign = "https://evil.test/?u={{.UserID}}&c={{.Code}}"
  const redirecting = "https://id.example.com/oauth/v2/authorize?prompt=none&state={{.Code}}"
  const leaving = "https://id.example.com/ui/{{.Nothing}}../oidc/v1/end_session?state={{.Code}}"
  const own = "https://id.example.com/ui/v2/login/verify?u={{.UserID}}&c={{.Code}}"

  test.each([
    ["stranger", foreign, false],
    ["stranger", redirecting, false],
    ["stranger", "https://id.example.com:8443/ui/{{.Code}}", false],
    ["stranger", own, true],
    ["stranger", "https://id.example.com/ui/verify/{{.Code}}", true],
    ["stranger", leaving, false],
    ["owner", foreign, true],
  ] as const)(
    "is not verified for all if the code is in a link of theirs: %s, %s",
    async (user, link, is) => {
      await verifyDomain("org2", "evil.test")
      // The administrator can send links to all hosts of a verified domain.
      await verifyDomain("org2", "example.com")
      const verification = { case: "sendCode", value: { urlTemplate: link } }
      const { id } = await createUser(user, "org2", {
        email: { email, verification },
        phone: undefined,
      })
      const verificationCode = await sentCode(id, "email")
      await estate.as("stranger", "verifyEmail", { userId: id, verificationCode })
      expect(verifiedFor(id, "org2").email).toBe(true)
      expect(verifiedFor(id, "org1").email).toBe(is)
    },
  )

  test.each([
    ["", true],
    [foreign, false],
    [own, true],
  ])(
    "is not verified for all if an invitation has a link of theirs: %j",
    async (urlTemplate, is) => {
      await verifyDomain("org2", "evil.test")
      for (const isRenewed of [false, true]) {
        const verification = { case: "sendCode", value: { urlTemplate } }
        const userName = { username: `invited-${isRenewed}` }
        const input = { organizationId: "org2", ...userName, ...human({ phone: undefined }) }
        const { id: userId } = await estate.as("stranger", "createUser", input)
        await estate.as("stranger", "createInviteCode", { userId, verification })
        if (isRenewed) await estate.as("stranger", "resendInviteCode", { userId })
        const verificationCode = await sentCode(userId, "invite")
        await estate.as("stranger", "verifyInviteCode", { userId, verificationCode })
        expect(verifiedFor(userId, "org1").email, `${isRenewed}`).toBe(is)
        await estate.as("stranger", "deleteUser", { userId })
      }
    },
  )

  test.each([
    ["", true],
    [foreign, false],
    [own, true],
  ])(
    "is not verified for all if a password reset has a link of theirs: %j",
    async (urlTemplate, is) => {
      await verifyDomain("org2", "evil.test")
      const { id: userId } = await createUser("stranger", "org2", { phone: undefined })
      const medium = { case: "sendLink", value: { urlTemplate } }
      await estate.as("stranger", "passwordReset", { userId, medium })
      const value = await sentCode(userId, "password")
      await estate.as("stranger", "setPassword", {
        userId,
        newPassword: { password: "Correct-horse-7-battery" },
        verification: { case: "verificationCode", value },
      })
      expect(verifiedFor(userId, "org2").email).toBe(true)
      expect(verifiedFor(userId, "org1").email).toBe(is)
    },
  )

  test("is verified for all if their organization has verified its domain", async () => {
    await verifyDomain("org2", "corp.test")
    const { id } = await createUser("stranger", "org2")
    expect(verifiedFor(id, "org1")).toEqual({ email: true, phone: false })
  })

  test("is stored as unverified in a domain that another organization has verified", async () => {
    await verifyDomain("org1", "corp.test")
    const { id } = await createUser("stranger", "org2")
    expect(verifiedFor(id, "org2").email).toBe(false)
    await estate.as("stranger", "setEmail", { userId: id, email, ...markedVerified })
    expect(verifiedFor(id, "org2").email).toBe(false)
    await verifyEmail(id)
    expect(verifiedFor(id, "org1").email).toBe(true)
  })

  test("is not verified by an unverified domain", async () => {
    const said = { orgId: "org2", validateOrgDomains: false }
    await estate.as("owner", "addCustomDomainPolicy", said)
    await addDomain(estate.cx(), "org2", { domain: "corp.test", isUsed: () => false })
    const { id } = await createUser("stranger", "org2")
    expect(verifiedFor(id, "org1").email).toBe(false)
  })
})

describe("a provider", () => {
  const add = (location: string | undefined, isTrustedForAddresses: boolean) =>
    createIdp(estate.cx(), location, {
      name: "Acme",
      settings: { kind: "github", clientId: "client", scopes: [] },
      options: { ...providerOptions, isTrustedForAddresses },
      secret: "s3cret",
    })
  const comeFrom = (idpId: string) =>
    estate.step((tx) => {
      const address = { value: email, verified: true, verifier: { by: "provider", idpId } } as const
      addUser(tx, "come", { ...humanInput("come", "org2"), email: address })
    })

  test.each([
    [true, true],
    [false, false],
  ])("of the instance verifies for all if it is trusted for that: %s", async (isTrusted, is) => {
    const { id } = await add(undefined, isTrusted)
    await comeFrom(id)
    expect(verifiedFor("come", "org1").email).toBe(is)
    expect(verifiedFor("come", "org2").email).toBe(true)
  })

  test("of an organization can't be trusted by it", async () => {
    await expect(add("org2", true)).rejects.toMatchObject({ id: "idp.trust_of_org" })
  })
})

describe("a verification from before verifiers were recorded", () => {
  const added = (emailVerified: boolean): Draft<UserEvent> => ({
    type: "user.human.added",
    data: { emailVerified, phoneVerified: false },
    private: {
      userName: "old",
      loginNames: ["old"],
      email,
      phone: "",
      profile: {
        givenName: "O",
        familyName: "Ld",
        nickName: "",
        displayName: "O Ld",
        preferredLanguage: "",
        gender: "unspecified",
      },
    },
  })
  const code = (returned: boolean, urlTemplate = ""): Draft<UserEvent> => ({
    type: "user.human.email.code.added",
    data: { expires: 1, returned, urlTemplate },
    private: { sealed: "s" },
    erase: { types: ["user.human.email.code.added"] },
  })
  const used: Draft<UserEvent> = {
    type: "user.human.email.verified",
    data: {},
    erase: { types: ["user.human.email.code.added"] },
  }
  const said: Draft<UserEvent> = { type: "user.human.email.verified", data: {} }
  const link: Draft<UserEvent> = {
    type: "user.human.externalidp.added",
    data: { linkId: "l", idpId: "acme", authority: "a", isFirst: true },
    private: { externalId: "e", name: "e" },
  }
  const nobody = { kind: "anonymous" } as const
  const admin = { kind: "user", userId: "stranger", orgId: "org2", clientId: "c" } as const

  test.each([
    ["a code that was sent", admin, [added(false), code(false), used], "user"],
    ["a code that was returned", admin, [added(false), code(true), used], "organization"],
    [
      "a code in a link of the caller",
      admin,
      [added(false), code(false, "https://evil.test"), used],
      "organization",
    ],
    ["an administrator's word", admin, [added(false), said], "organization"],
    ["an administrator who created the user", admin, [added(true)], "organization"],
    ["the server itself", undefined, [added(true)], "instance"],
    ["a registration", nobody, [added(true)], "user"],
    ["a provider that the user came from", nobody, [added(true), link], "provider"],
  ] as const)("is derived from its events: %s", async (_, caller, drafts, by) => {
    await estate.step((tx) => tx.append(user, "old", drafts, "org2"), { ...(caller && { caller }) })
    const state = estate.cx().store.state(estate.cx(), user, "old")
    expect(state).toMatchObject({ email: { verified: true, verifier: { by } } })
    expect(verifiedFor("old", "org2").email).toBe(true)
    expect(verifiedFor("old", "org1").email).toBe(by === "user" || by === "instance")
    expect((await listVerifiedAtHomeOnly()).includes("old")).toBe(!verifiedFor("old", "org1").email)
    // A user who is the only one to sign in with it still can.
    expect(findByLoginName(estate.cx(), email)).toBe("old")
  })
})

const listVerifiedAtHomeOnly = () => Array.fromAsync(iterateOrgVerified(estate.cx()))

test("addresses verified by their organization only are confirmed all at once", async () => {
  const { id } = await createUser("stranger", "org2")
  const cx = estate.cx()
  expect(await listVerifiedAtHomeOnly()).toEqual([id])
  expect(await confirmEmails(cx, { orgId: "org1", isTrial: false })).toMatchObject({ confirmed: 0 })
  expect(await confirmEmails(cx, { isTrial: true })).toMatchObject({ confirmed: 1 })
  expect(verifiedFor(id, "org1").email).toBe(false)
  expect(await confirmEmails(cx, { orgId: "org2", isTrial: false })).toMatchObject({ confirmed: 1 })
  expect(verifiedFor(id, "org1").email).toBe(true)
  expect(await listVerifiedAtHomeOnly()).toEqual([])
})

test("users who verified their address are not scanned for that", async () => {
  const { id } = await createUser("stranger", "org2")
  const proven = await estate.as("manager", "createUser", {
    username: "proven",
    organizationId: "org1",
    ...human({ email: { email: "proven@example.com", ...markedVerified }, phone: undefined }),
  })
  await verifyEmail(proven.id)
  const cx = estate.cx()
  const read = vi.spyOn(cx.store, "state")
  expect(await Array.fromAsync(iterateOrgVerified(cx))).toEqual([id])
  const ids = read.mock.calls.map(([, , each]) => each)
  read.mockRestore()
  expect(ids).toContain(id)
  expect(ids).not.toContain(proven.id)
})

test("users who share an address are not confirmed", async () => {
  const owner = await createUser("manager", "org1", { phone: undefined })
  const impostor = { username: "impostor", organizationId: "org2", ...human() }
  const { id } = await estate.as("stranger", "createUser", impostor)
  const all = { isTrial: false }
  expect(await confirmEmails(estate.cx(), all)).toEqual({ confirmed: 0, userIds: [], skipped: 2 })
  expect(verifiedFor(id, "org1").email).toBe(false)
  await estate.as("stranger", "deleteUser", { userId: id })
  const userIds = [owner.id]
  expect(await confirmEmails(estate.cx(), all)).toEqual({ confirmed: 1, userIds, skipped: 0 })
})

test("users with the same verified address are listed", async () => {
  const { id } = await createUser("stranger", "org2")
  const other = { username: "other", organizationId: "org1", ...human() }
  const made = await estate.as("manager", "createUser", other)
  expect(listSharedEmails(estate.cx(), 5).map((ids) => new Set(ids))).toEqual([
    new Set([id, made.id]),
  ])
})

describe("an address in the whole instance", () => {
  test("belongs to the last user who verified it, and is removed from others", async () => {
    const first = await createUser("stranger", "org2")
    await verifyEmail(first.id)
    const other = { username: "other", organizationId: "org1", ...human() }
    const { id } = await estate.as("manager", "createUser", other)
    expect(findByLoginName(estate.cx(), email)).toBe(first.id)
    expect(verifiedFor(id, "org2").email).toBe(false)
    await verifyEmail(id)
    expect(findByLoginName(estate.cx(), email)).toBe(id)
    expect(verifiedFor(first.id, "org1").email).toBe(false)
    expect(verifiedFor(first.id, "org2").email).toBe(false)
    expect(findByLoginName(estate.cx(), "prepared")).toBe(first.id)
    await expect(
      (async () => estate.as("stranger", "passwordReset", { userId: first.id }))(),
    ).rejects.toMatchObject({ id: "user.email_missing" })
    await verifyEmail(first.id)
    expect(findByLoginName(estate.cx(), email)).toBe(first.id)
  })

  test("is free once its user changes it or is deleted", async () => {
    const { id } = await createUser("stranger", "org2")
    await verifyEmail(id)
    const other = { username: "other", organizationId: "org1", ...human() }
    const made = await estate.as("manager", "createUser", other)
    expect(findByLoginName(estate.cx(), email)).toBe(id)
    await estate.as("stranger", "deleteUser", { userId: id })
    expect(findByLoginName(estate.cx(), email)).toBe(made.id)
  })

  test("takes precedence over a user with it as their name", async () => {
    const named = { username: email, organizationId: "org2" }
    const impostor = await estate.as("stranger", "createUser", {
      ...named,
      ...human({ email: { email: "other@corp.test", ...markedVerified } }),
    })
    const other = { username: "ceo", organizationId: "org1", ...human() }
    const { id } = await estate.as("manager", "createUser", other)
    await verifyEmail(id)
    expect(findByLoginName(estate.cx(), email)).toBe(id)
    expect(findByLoginName(estate.cx(), `${email}@globex.id.example.com`)).toBe(impostor.id)
  })

  test("belongs to users of the organization that verified its domain", async () => {
    await verifyDomain("org1", "corp.test")
    const other = { username: "ceo", organizationId: "org1", ...human() }
    const ceo = await estate.as("manager", "createUser", other)
    const { id } = await createUser("stranger", "org2")
    await verifyEmail(id)
    expect(findByLoginName(estate.cx(), email)).toBe(ceo.id)
    expect(verifiedFor(ceo.id, "org2").email).toBe(true)
  })
})

test("linking a provider of the instance requires a permission on the instance", async () => {
  const { id: idpId } = await createIdp(estate.cx(), undefined, {
    name: "Acme",
    settings: { kind: "github", clientId: "client", scopes: [] },
    options: providerOptions,
    secret: "s3cret",
  })
  const { id } = await createUser("stranger", "org2")
  const idpLink = { idpId, userId: "12345", userName: "ceo" }
  await expect(
    (async () => estate.as("stranger", "addIDPLink", { userId: id, idpLink }))(),
  ).rejects.toMatchObject({ id: "user.idp_link_unproven" })
  await expect(
    createUser("stranger", "org2", { idpLinks: [idpLink], email: { email, ...isVerified } }),
  ).rejects.toMatchObject({ id: "user.idp_link_unproven" })
  await estate.as("owner", "addIDPLink", { userId: id, idpLink })
})

describe("an instance administrator", () => {
  const list = (user: Parameters<Tenant["as"]>[0], request: object = {}) =>
    estate.as(user, "listUnconfirmedEmails", request)
  /** Turns an error thrown by the access rule into a rejection. */
  const act = async (call: () => Promise<unknown>) => call()
  const confirm = (user: Parameters<Tenant["as"]>[0], ...userIds: string[]) =>
    estate.as(user, "confirmEmails", { emails: userIds.map((userId) => ({ userId, email })) })

  test("lists and confirms addresses that only an organization has verified", async () => {
    const { id } = await createUser("stranger", "org2")
    const { users, count } = await list("owner", { limit: 100 })
    const other = users.filter(({ userId }: { userId: string }) => userId !== id)
    expect(users.find(({ userId }: { userId: string }) => userId === id)).toMatchObject({
      organizationId: "org2",
      loginName: "prepared",
      email,
      isShared: false,
    })
    expect(count).toBe(other.length + 1)
    expect(await confirm("owner", id, "absent")).toMatchObject({
      confirmedUserIds: [id],
      skippedUserIds: ["absent"],
    })
    expect(verifiedFor(id, "org1")).toMatchObject({ email: true })
    expect((await list("owner")).count).toBe(other.length)
    expect(await confirm("owner", id)).toMatchObject({ confirmedUserIds: [] })
  })

  test("confirms only the listed address, not a newer one", async () => {
    const { id } = await createUser("stranger", "org2")
    const { users } = await list("owner")
    expect(users.map((one: { email: string }) => one.email)).toContain(email)
    await estate.as("stranger", "setEmail", {
      userId: id,
      email: "boss@corp.test",
      verification: markedVerified.verification,
    })
    expect(await confirm("owner", id)).toMatchObject({ confirmedUserIds: [], skippedUserIds: [id] })
    expect(verifiedFor(id, "org1")).toMatchObject({ email: false })
  })

  test("lists users page by page", async () => {
    await createUser("stranger", "org2")
    const given = { email: { email: "second@corp.test", ...markedVerified } }
    await estate.as("stranger", "createUser", {
      organizationId: "org2",
      username: "second",
      ...human(given),
    })
    const all = (await list("owner")).users.map(({ userId }: { userId: string }) => userId)
    const { users, count } = await list("owner", { limit: 1, afterUserId: all[0] })
    expect(users).toMatchObject([{ userId: all[1] }])
    expect(count).toBe(all.length - 1)
  })

  test("does not confirm an address of several users", async () => {
    const { id } = await createUser("stranger", "org2")
    const again = { organizationId: "org1", username: "other", ...human() }
    const { id: other } = await estate.as("manager", "createUser", again)
    const { users } = await list("owner")
    const shared = users.filter(({ isShared }: { isShared: boolean }) => isShared)
    expect(shared.map(({ userId }: { userId: string }) => userId).toSorted()).toEqual(
      [id, other].toSorted(),
    )
    expect(await confirm("owner", id, other)).toMatchObject({ confirmedUserIds: [] })
  })

  test.each([
    ["manager", "not_found"],
    ["stranger", "not_found"],
    ["nobody", "permission_denied"],
  ] as const)("is not %s", async (user, code) => {
    const { id } = await createUser("stranger", "org2")
    const denied = { code }
    await expect(act(() => list(user))).rejects.toMatchObject(denied)
    await expect(act(() => confirm(user, id))).rejects.toMatchObject(denied)
  })
})
