// What an administrator of an organization sets does not apply to those who outrank them.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createCode } from "../../../src/domain/credential/code.ts"
import {
  createPassword,
  passwordOf,
  replacementOf,
  setPassword,
} from "../../../src/domain/credential/commands.ts"
import { requestReset, resetPasswordFor } from "../../../src/domain/credential/reset.ts"
import { linkableIdps } from "../../../src/domain/federation/index.ts"
import { addIdp, changeIdp, linkIdp, unlinkIdp } from "../../../src/domain/idp/commands.ts"
import { idpById } from "../../../src/domain/idp/index.ts"
import { idps, type Said } from "../../../src/domain/idp/model.ts"
import { countFailedTry, failedTries } from "../../../src/domain/lockout/lockout.ts"
import { addMember } from "../../../src/domain/member/index.ts"
import { addPolicy, changePolicy } from "../../../src/domain/policy/commands.ts"
import { lockout, login, passwordComplexity, policyFor } from "../../../src/domain/policy/index.ts"
import { invitedPassword } from "../../../src/domain/registration/invite.ts"
import { setText } from "../../../src/domain/text/commands.ts"
import { messageTemplate, messageText } from "../../../src/domain/text/message.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { letsUserIn } from "../../../src/domain/user-link/commands.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import type { Call } from "../../../src/kernel/context.ts"
import { needOf } from "../../../src/login/policy/need.ts"
import { type Estate, openEstate, person } from "../../support/estate.ts"
import { callerOf } from "../../support/world.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
  await estate.step((tx) => {
    addUser(tx, "settings", person("settings", "org1"))
    addMember(tx, {
      userId: "settings",
      target: { level: "org", id: "org1" },
      roles: ["ORG_SETTINGS_MANAGER"],
    })
  })
  const say = () => ({ forceMfa: true, hidePasswordReset: true })
  await addPolicy(by("settings"), "org1", { policy: login, say })
})
afterEach(() => estate.close())

const by = (userId: string, orgId = "org1") => estate.cx({ caller: callerOf(userId, orgId) })

const people = ["nobody", "settings", "manager", "owner"] as const

/** To whom of an organization it applies, outside of a decision and within one. */
async function appliesTo() {
  const cx = estate.cx()
  const isApplied = (read: Parameters<typeof policyFor>[0]) => (userId: string) =>
    policyFor(read, { userId, orgId: "org1" }, login).hidePasswordReset
  const outside = people.filter(isApplied(cx))
  const { value: within } = await cx.store.transact(cx, (tx) => people.filter(isApplied(tx)))
  expect(within).toEqual(outside)
  return outside
}

const append = (userId: string, type: "user.deactivated" | "user.removed") =>
  estate.step((tx) => tx.append(user, userId, [{ type, data: {} }]))

describe("a sign-in policy of an organization", () => {
  test("applies to those who have no more permissions than whoever set it", async () => {
    expect(await appliesTo()).toEqual(["nobody", "settings"])
  })

  test("requires a second factor of those who outrank whoever set it, too", async () => {
    const forced = () => people.filter((userId) => needOf(estate.cx(), userId).isForced)
    expect(forced()).toEqual([...people])
    await append("settings", "user.deactivated")
    expect(forced()).toEqual([...people])
  })

  test("leaves those who outrank its author the second factors that either allows", async () => {
    const say = () => ({ secondFactors: ["otp_email"] as const, multiFactors: [] })
    await changePolicy(by("settings"), "org1", { policy: login, say })
    const factors = (userId: string) => {
      const { secondFactors, multiFactors } = policyFor(
        ...([estate.cx(), { userId, orgId: "org1" }, login] as const),
      )
      return [...secondFactors, ...multiFactors]
    }
    expect(factors("nobody")).toEqual(["otp_email"])
    expect(factors("owner")).toEqual(["otp", "u2f", "otp_email", "u2f_with_verification"])
  })

  test("applies to more people once somebody with more permissions changes it", async () => {
    const say = () => ({ allowRegister: true })
    await changePolicy(by("manager"), "org1", { policy: login, say })
    expect(await appliesTo()).toEqual(["nobody", "settings", "manager"])
    await changePolicy(by("owner"), "org1", {
      policy: login,
      say: () => ({ allowRegister: false }),
    })
    expect(await appliesTo()).toEqual([...people])
  })

  test("gives way to that of the instance", async () => {
    await changePolicy(by("owner"), undefined, {
      policy: login,
      say: () => ({ secondFactorCheckLifetime: 77 }),
    })
    expect(needOf(estate.cx(), "owner").secondLifetime).toBe(77)
    expect(needOf(estate.cx(), "nobody").secondLifetime).not.toBe(77)
  })

  test.each(["user.deactivated", "user.removed"] as const)(
    "applies to no other administrator once whoever set it is gone: %s",
    async (type) => {
      await append("settings", type)
      expect(await appliesTo()).toEqual(["nobody", "settings"])
    },
  )

  test("applies to everybody where whoever runs the server set it", async () => {
    const system: Call["caller"] = { kind: "system", name: "operator" }
    await changePolicy(estate.cx({ caller: system }), "org1", {
      policy: login,
      say: () => ({ allowRegister: true }),
    })
    expect(await appliesTo()).toEqual([...people])
  })
})

test("a lockout policy of an organization locks nobody who outranks whoever set it", async () => {
  const say = () => ({ maxPasswordAttempts: 1 })
  await addPolicy(by("settings"), "org1", { policy: lockout, say })
  await estate.step((tx) => {
    for (const each of ["nobody", "manager"]) countFailedTry(tx, each)
  })
  const cx = estate.cx()
  expect(cx.store.state(cx, user, "nobody").status).toBe("locked")
  expect(cx.store.state(cx, user, "manager").status).toBe("active")
  expect(cx.store.state(cx, failedTries, "manager").failures).toBe(0)
})

test("a password must meet the requirements of the instance and the organization", async () => {
  const bare = {
    hasUppercase: false,
    hasLowercase: false,
    hasNumber: false,
    hasSymbol: false,
  }
  await addPolicy(by("owner"), undefined, {
    policy: passwordComplexity,
    say: () => ({ ...bare, minLength: 10, hasNumber: true }),
  })
  await addPolicy(by("settings"), "org1", {
    policy: passwordComplexity,
    say: () => ({ ...bare, minLength: 14, reuseCount: 2 }),
  })
  const owner = { userId: "owner", orgId: "org1" }
  expect(policyFor(estate.cx(), owner, passwordComplexity)).toEqual({
    ...bare,
    minLength: 14,
    hasNumber: true,
    reuseCount: 2,
  })
})

describe("a password policy of an organization that allows one character", () => {
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
    // Whoever changed it last is its author, whoever began it.
    await addPolicy(by("owner"), "org1", {
      policy: passwordComplexity,
      say: () => ({ minLength: 9 }),
    })
    const bare = { hasUppercase: false, hasLowercase: false, hasNumber: false, hasSymbol: false }
    await changePolicy(by("settings"), "org1", {
      policy: passwordComplexity,
      say: () => ({ ...bare, minLength: 1 }),
    })
  })

  test("lets those choose it who have no more permissions than whoever set it", async () => {
    await estate.as("owner", "setPassword", { userId: "settings", newPassword })
  })

  test("lets an instance owner choose none that is weaker than the instance requires", async () => {
    const own = { oldPassword: password, newPassword: "z" }
    await expect(estate.as("owner", "updateMyPassword", own)).rejects.toMatchObject(refused)
    const request = { userId: "owner", newPassword }
    await expect(estate.as("nobody", "setPassword", request)).rejects.toMatchObject(refused)
    const verification = { case: "currentPassword", value: password }
    const proven = { ...request, verification }
    await expect(estate.as("owner", "setPassword", proven)).rejects.toMatchObject(refused)
  })

  test("nor by a code, an invitation, or in the place of one that must be changed", async () => {
    const visitor = estate.cx({ caller: { kind: "anonymous" } })
    const code = createCode(visitor, "owner", { of: "password", returned: false })
    await requestReset(visitor, "owner", { code, channel: "email" })
    const reset = resetPasswordFor(visitor, "owner", { code: code.plain, plain: "z" })
    await expect(reset).rejects.toMatchObject(refused)
    await expect(invitedPassword(visitor, "owner", "z")).rejects.toMatchObject(refused)
    const state = visitor.store.state(visitor, user, "owner")
    const version = passwordOf(state)?.version ?? 0
    const replaced = replacementOf(visitor, "owner", { plain: "z", version })
    await expect(replaced).rejects.toMatchObject(refused)
  })
})

test("a message has the words of the instance for those who outrank its author", async () => {
  const asked = { template: messageTemplate("password_reset"), language: "en" }
  await setText(by("settings"), "org1", asked, { subject: "Of the organization {{.Code}}" })
  await setText(by("owner"), undefined, asked, { subject: "Of the instance" })
  const subjectFor = (userId: string) =>
    messageText(estate.cx(), { kind: "password_reset", orgId: "org1", userId, language: "en" }, {
      Code: "C",
      Expiry: 60,
    } as never).subject
  expect(people.map(subjectFor)).toEqual([
    "Of the organization C",
    "Of the organization C",
    "Of the instance",
    "Of the instance",
  ])
})

describe("an identity provider of an organization", () => {
  const same: Said = {
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
  const admitted = () => people.filter((userId) => letsUserIn(estate.cx(), id, userId))
  const link = async () => {
    await changePolicy(by("owner"), "org1", {
      policy: login,
      say: () => ({ hidePasswordReset: false }),
    })
    await linkIdp(by("owner"), "org1", id)
  }

  test("signs in those who do not outrank its author", async () => {
    await addIdp(by("settings"), "org1", { id, ...acme })
    await link()
    expect(admitted()).toEqual(["nobody", "settings"])
    await changeIdp(by("manager"), "org1", id, { ...acme, name: "Other" })
    expect(admitted()).toEqual(["nobody", "settings", "manager"])
  })

  test("signs in everybody, as before the upgrade, where no event records an author", async () => {
    await estate.step(
      (tx) => {
        const claims = [{ take: "idp", key: id, taken: { id: "idp.exists", message: "taken" } }]
        const draft = { type: "org.idp.oidc.added", data: { id, ...same }, claims } as const
        tx.append(idps, "org/org1", [draft], "org1")
      },
      { caller: callerOf("settings", "org1") },
    )
    await link()
    expect(admitted()).toEqual([...people])
    const again = changeIdp(by("settings"), "org1", id, same)
    await expect(again).rejects.toMatchObject({ id: "idp.unchanged" })
    await changeIdp(by("settings"), "org1", id, { ...same, name: "Other" })
    expect(admitted()).toEqual(["nobody", "settings"])
  })

  test("is taken over by who sends the same settings again", async () => {
    await addIdp(by("settings"), "org1", { id, ...acme })
    await link()
    await changeIdp(by("owner"), "org1", id, same)
    expect(idpById(estate.cx(), id)?.idp.authors).toEqual(["owner"])
    expect(admitted()).toEqual([...people])
    const again = changeIdp(by("owner"), "org1", id, same)
    await expect(again).rejects.toMatchObject({ id: "idp.unchanged" })
  })
})

describe("the providers that an organization lets its people sign in with", () => {
  const github: Said = {
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
  const admitted = (id: string) => people.filter((userId) => letsUserIn(estate.cx(), id, userId))
  const set = (who: string, allowExternalIdp: boolean) =>
    changePolicy(by(who), "org1", {
      policy: login,
      say: () => ({ allowExternalIdp, hidePasswordReset: false }),
    })
  beforeEach(async () => {
    for (const id of ["listed", "other"]) {
      await addIdp(by("owner"), undefined, { id, ...github, secret: "s3cret" })
    }
    await linkIdp(by("owner"), undefined, "other")
  })

  test("are those of the instance for users who outrank whoever listed them", async () => {
    await set("owner", true)
    await linkIdp(by("settings"), "org1", "listed")
    expect(admitted("listed")).toEqual(["nobody", "settings"])
    expect(admitted("other")).toEqual(["manager", "owner"])
    const linkable = (userId: string) => linkableIdps(estate.cx(), userId).map(({ idp }) => idp.id)
    expect(linkable("nobody")).toEqual(["listed"])
    expect(linkable("owner")).toEqual(["other"])
    await linkIdp(by("owner"), "org1", "other")
    expect([admitted("listed"), admitted("other")]).toEqual([[...people], [...people]])
    await unlinkIdp(by("settings"), "org1", "listed")
    expect([admitted("listed"), admitted("other")]).toEqual([[], [...people]])
  })

  test("are those of the instance for users who outrank whoever turned them off", async () => {
    await set("settings", false)
    expect(admitted("other")).toEqual(["manager", "owner"])
  })

  test("apply to everybody where no event records who listed them", async () => {
    await set("owner", true)
    await estate.step(
      (tx) => {
        const type = "org.policy.login.idpprovider.added"
        tx.append(idps, "org/org1", [{ type, data: { idpId: "listed" } }], "org1")
      },
      { caller: callerOf("settings", "org1") },
    )
    expect(admitted("listed")).toEqual([...people])
  })
})
