// Settings by an organization administrator do not apply to users with more permissions.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createCode } from "../../../src/domain/credential/code.ts"
import {
  createPassword,
  passwordOf,
  prepareReplacement,
  setPassword,
} from "../../../src/domain/credential/commands.ts"
import { prepareResetPassword, requestReset } from "../../../src/domain/credential/reset.ts"
import { linkableIdps } from "../../../src/domain/federation/index.ts"
import { createIdp, linkIdp, unlinkIdp, updateIdp } from "../../../src/domain/idp/commands.ts"
import { findIdpById } from "../../../src/domain/idp/index.ts"
import { type IdpConfig, idps } from "../../../src/domain/idp/model.ts"
import { countFailedAttempt, failedAttempts } from "../../../src/domain/lockout/lockout.ts"
import { addMember } from "../../../src/domain/member/index.ts"
import { addPolicy, changePolicy } from "../../../src/domain/policy/commands.ts"
import { lockout, login, passwordComplexity, policyFor } from "../../../src/domain/policy/index.ts"
import { prepareInvitedPassword } from "../../../src/domain/registration/invite.ts"
import { setText } from "../../../src/domain/text/commands.ts"
import { messageTemplate, renderMessageText } from "../../../src/domain/text/message.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { isProviderActiveFor } from "../../../src/domain/user-link/commands.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import type { Call } from "../../../src/kernel/context.ts"
import { requirementOf } from "../../../src/login/policy/factor-requirement.ts"
import { humanInput, openTenant, type Tenant } from "../../support/tenant.ts"
import { callerOf } from "../../support/test-environment.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  await estate.step((tx) => {
    addUser(tx, "settings", humanInput("settings", "org1"))
    addMember(tx, {
      userId: "settings",
      target: { level: "org", id: "org1" },
      roles: ["ORG_SETTINGS_MANAGER"],
    })
  })
  const say = () => ({ forceMfa: true, hidePasswordReset: true })
  await addPolicy(callBy("settings"), "org1", { policy: login, apply: say })
})
afterEach(() => estate.close())

const callBy = (userId: string, orgId = "org1") => estate.cx({ caller: callerOf(userId, orgId) })

const userNames = ["nobody", "settings", "manager", "owner"] as const

/** The users of an organization to whom it applies, outside and within a transaction. */
async function appliesTo() {
  const cx = estate.cx()
  const isApplied = (read: Parameters<typeof policyFor>[0]) => (userId: string) =>
    policyFor(read, { userId, orgId: "org1" }, login).hidePasswordReset
  const outside = userNames.filter(isApplied(cx))
  const { value: within } = await cx.store.transact(cx, (tx) => userNames.filter(isApplied(tx)))
  expect(within).toEqual(outside)
  return outside
}

const appendEvent = (userId: string, type: "user.deactivated" | "user.removed") =>
  estate.step((tx) => tx.append(user, userId, [{ type, data: {} }]))

describe("a sign-in policy of an organization", () => {
  test("applies to users with no more permissions than its author", async () => {
    expect(await appliesTo()).toEqual(["nobody", "settings"])
  })

  test("requires a second factor even of users with more permissions", async () => {
    const forced = () => userNames.filter((userId) => requirementOf(estate.cx(), userId).isForced)
    expect(forced()).toEqual([...userNames])
    await appendEvent("settings", "user.deactivated")
    expect(forced()).toEqual([...userNames])
  })

  test("permits users with more permissions any second factor that either policy allows", async () => {
    const say = () => ({ secondFactors: ["otp_email"] as const, multiFactors: [] })
    await changePolicy(callBy("settings"), "org1", { policy: login, apply: say })
    const factors = (userId: string) => {
      const { secondFactors, multiFactors } = policyFor(
        ...([estate.cx(), { userId, orgId: "org1" }, login] as const),
      )
      return [...secondFactors, ...multiFactors]
    }
    expect(factors("nobody")).toEqual(["otp_email"])
    expect(factors("owner")).toEqual(["otp", "u2f", "otp_email", "u2f_with_verification"])
  })

  test("applies to more users after a change by a more privileged author", async () => {
    const say = () => ({ allowRegister: true })
    await changePolicy(callBy("manager"), "org1", { policy: login, apply: say })
    expect(await appliesTo()).toEqual(["nobody", "settings", "manager"])
    await changePolicy(callBy("owner"), "org1", {
      policy: login,
      apply: () => ({ allowRegister: false }),
    })
    expect(await appliesTo()).toEqual([...userNames])
  })

  test("falls back to that of the instance", async () => {
    await changePolicy(callBy("owner"), undefined, {
      policy: login,
      apply: () => ({ secondFactorCheckLifetime: 77 }),
    })
    expect(requirementOf(estate.cx(), "owner").secondLifetime).toBe(77)
    expect(requirementOf(estate.cx(), "nobody").secondLifetime).not.toBe(77)
  })

  test.each(["user.deactivated", "user.removed"] as const)(
    "applies to no other administrator once its author is gone: %s",
    async (type) => {
      await appendEvent("settings", type)
      expect(await appliesTo()).toEqual(["nobody", "settings"])
    },
  )

  test("applies to everybody if the server operator set it", async () => {
    const system: Call["caller"] = { kind: "system", name: "operator" }
    await changePolicy(estate.cx({ caller: system }), "org1", {
      policy: login,
      apply: () => ({ allowRegister: true }),
    })
    expect(await appliesTo()).toEqual([...userNames])
  })
})

test("an organization's lockout policy does not lock users with more permissions than its author", async () => {
  const say = () => ({ maxPasswordAttempts: 1 })
  await addPolicy(callBy("settings"), "org1", { policy: lockout, apply: say })
  await estate.step((tx) => {
    for (const each of ["nobody", "manager"]) countFailedAttempt(tx, each)
  })
  const cx = estate.cx()
  expect(cx.store.state(cx, user, "nobody").status).toBe("locked")
  expect(cx.store.state(cx, user, "manager").status).toBe("active")
  expect(cx.store.state(cx, failedAttempts, "manager").failures).toBe(0)
})

test("a password must meet the requirements of the instance and the organization", async () => {
  const bare = {
    hasUppercase: false,
    hasLowercase: false,
    hasNumber: false,
    hasSymbol: false,
  }
  await addPolicy(callBy("owner"), undefined, {
    policy: passwordComplexity,
    apply: () => ({ ...bare, minLength: 10, hasNumber: true }),
  })
  await addPolicy(callBy("settings"), "org1", {
    policy: passwordComplexity,
    apply: () => ({ ...bare, minLength: 14, reuseCount: 2 }),
  })
  const owner = { userId: "owner", orgId: "org1" }
  expect(policyFor(estate.cx(), owner, passwordComplexity)).toEqual({
    ...bare,
    minLength: 14,
    hasNumber: true,
    reuseCount: 2,
  })
})

describe("an organization's password policy that allows one character", () => {
  const password = "Correct-Horse-7"
  const newPassword = { password: "z" }
  const refused = { id: "user.password_too_simple" }
  beforeEach(async () => {
    const cx = estate.cx()
    await setPassword(cx, "owner", await createPassword(password, { names: [] }))
    await estate.step((tx) =>
      addMember(tx, {
        userId: "nobody",
        target: { level: "instance" },
        roles: ["IAM_OWNER"],
      }),
    )
    // The last editor is the author, not the creator.
    await addPolicy(callBy("owner"), "org1", {
      policy: passwordComplexity,
      apply: () => ({ minLength: 9 }),
    })
    const bare = { hasUppercase: false, hasLowercase: false, hasNumber: false, hasSymbol: false }
    await changePolicy(callBy("settings"), "org1", {
      policy: passwordComplexity,
      apply: () => ({ ...bare, minLength: 1 }),
    })
  })

  test("applies to users with no more permissions than its author", async () => {
    await estate.as("owner", "setPassword", { userId: "settings", newPassword })
  })

  test("does not let an instance owner choose a weaker password than the instance requires", async () => {
    const own = { oldPassword: password, newPassword: "z" }
    await expect(estate.as("owner", "updateMyPassword", own)).rejects.toMatchObject(refused)
    const request = { userId: "owner", newPassword }
    await expect(estate.as("nobody", "setPassword", request)).rejects.toMatchObject(refused)
    const verification = { case: "currentPassword", value: password }
    const proven = { ...request, verification }
    await expect(estate.as("owner", "setPassword", proven)).rejects.toMatchObject(refused)
  })

  test("does not do so by code, by invitation, or at a forced change, either", async () => {
    const visitor = estate.cx({ caller: { kind: "anonymous" } })
    const code = createCode(visitor, "owner", { of: "password", returned: false })
    await requestReset(visitor, "owner", { code, channel: "email" })
    const reset = prepareResetPassword(visitor, "owner", { code: code.plain, plain: "z" })
    await expect(reset).rejects.toMatchObject(refused)
    await expect(prepareInvitedPassword(visitor, "owner", "z")).rejects.toMatchObject(refused)
    const state = visitor.store.state(visitor, user, "owner")
    const version = passwordOf(state)?.version ?? 0
    const replaced = prepareReplacement(visitor, "owner", { plain: "z", version })
    await expect(replaced).rejects.toMatchObject(refused)
  })
})

test("a message to users with more permissions than the author has the instance's texts", async () => {
  const asked = { template: messageTemplate("password_reset"), language: "en" }
  await setText(callBy("settings"), "org1", asked, { subject: "Of the organization {{.Code}}" })
  await setText(callBy("owner"), undefined, asked, { subject: "Of the instance" })
  const subjectFor = (userId: string) =>
    renderMessageText(
      estate.cx(),
      { kind: "password_reset", orgId: "org1", userId, language: "en" },
      {
        Code: "C",
        Expiry: 60,
      } as never,
    ).subject
  expect(userNames.map(subjectFor)).toEqual([
    "Of the organization C",
    "Of the organization C",
    "Of the instance",
    "Of the instance",
  ])
})

describe("an identity provider of an organization", () => {
  const same: IdpConfig = {
    name: "Acme",
    settings: {
      kind: "oidc",
      issuer: "https://idp.example.com",
      clientId: "client",
      scopes: [],
      isIdTokenMapping: false,
      usePkce: true,
    },
    options: {
      isLinkingAllowed: true,
      isCreationAllowed: false,
      isAutoCreation: false,
      isAutoUpdate: false,
      autoLinking: "off",
    },
  }
  const acme = { ...same, secret: "s3cret" }
  const id = "acme"
  const admitted = () => userNames.filter((userId) => isProviderActiveFor(estate.cx(), id, userId))
  const link = async () => {
    await changePolicy(callBy("owner"), "org1", {
      policy: login,
      apply: () => ({ hidePasswordReset: false }),
    })
    await linkIdp(callBy("owner"), "org1", id)
  }

  test("signs in users with no more permissions than its author", async () => {
    await createIdp(callBy("settings"), "org1", { id, ...acme })
    await link()
    expect(admitted()).toEqual(["nobody", "settings"])
    await updateIdp(callBy("manager"), "org1", id, { ...acme, name: "Other" })
    expect(admitted()).toEqual(["nobody", "settings", "manager"])
  })

  test("signs in everybody, as before the upgrade, if no event has an author", async () => {
    await estate.step(
      (tx) => {
        const claims = [{ take: "idp", key: id, taken: { id: "idp.exists", message: "taken" } }]
        const draft = { type: "org.idp.oidc.added", data: { id, ...same }, claims } as const
        tx.append(idps, "org/org1", [draft], "org1")
      },
      { caller: callerOf("settings", "org1") },
    )
    await link()
    expect(admitted()).toEqual([...userNames])
    const again = updateIdp(callBy("settings"), "org1", id, same)
    await expect(again).rejects.toMatchObject({ id: "idp.unchanged" })
    await updateIdp(callBy("settings"), "org1", id, { ...same, name: "Other" })
    expect(admitted()).toEqual(["nobody", "settings"])
  })

  test("has a new author after the same settings are sent again", async () => {
    await createIdp(callBy("settings"), "org1", { id, ...acme })
    await link()
    await updateIdp(callBy("owner"), "org1", id, same)
    expect(findIdpById(estate.cx(), id)?.idp.authors).toEqual(["owner"])
    expect(admitted()).toEqual([...userNames])
    const again = updateIdp(callBy("owner"), "org1", id, same)
    await expect(again).rejects.toMatchObject({ id: "idp.unchanged" })
  })
})

describe("an organization's list of allowed providers", () => {
  const github: IdpConfig = {
    name: "GitHub",
    settings: { kind: "github", clientId: "client", scopes: [] },
    options: {
      isLinkingAllowed: true,
      isCreationAllowed: false,
      isAutoCreation: false,
      isAutoUpdate: false,
      autoLinking: "off",
    },
  }
  const admitted = (id: string) =>
    userNames.filter((userId) => isProviderActiveFor(estate.cx(), id, userId))
  const set = (userName: string, allowExternalIdp: boolean) =>
    changePolicy(callBy(userName), "org1", {
      policy: login,
      apply: () => ({ allowExternalIdp, hidePasswordReset: false }),
    })
  beforeEach(async () => {
    for (const id of ["listed", "other"]) {
      await createIdp(callBy("owner"), undefined, { id, ...github, secret: "s3cret" })
    }
    await linkIdp(callBy("owner"), undefined, "other")
  })

  test("is that of the instance for users with more permissions than the list's author", async () => {
    await set("owner", true)
    await linkIdp(callBy("settings"), "org1", "listed")
    expect(admitted("listed")).toEqual(["nobody", "settings"])
    expect(admitted("other")).toEqual(["manager", "owner"])
    const linkable = (userId: string) => linkableIdps(estate.cx(), userId).map(({ idp }) => idp.id)
    expect(linkable("nobody")).toEqual(["listed"])
    expect(linkable("owner")).toEqual(["other"])
    await linkIdp(callBy("owner"), "org1", "other")
    expect([admitted("listed"), admitted("other")]).toEqual([[...userNames], [...userNames]])
    await unlinkIdp(callBy("settings"), "org1", "listed")
    expect([admitted("listed"), admitted("other")]).toEqual([[], [...userNames]])
  })

  test("is that of the instance for users with more permissions than the author who disabled it", async () => {
    await set("settings", false)
    expect(admitted("other")).toEqual(["manager", "owner"])
  })

  test("applies to everybody if no event has its author", async () => {
    await set("owner", true)
    await estate.step(
      (tx) => {
        const type = "org.policy.login.idpprovider.added"
        tx.append(idps, "org/org1", [{ type, data: { idpId: "listed" } }], "org1")
      },
      { caller: callerOf("settings", "org1") },
    )
    expect(admitted("listed")).toEqual([...userNames])
  })
})
