// What is listed at a promotion though the user created it, or nobody who is signed in.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createCode } from "../../../src/domain/credential/code.ts"
import { setPassword } from "../../../src/domain/credential/commands.ts"
import { requestReset, resetPasswordFor } from "../../../src/domain/credential/reset.ts"
import { firstKey } from "../../../src/domain/factor/key/first-key.ts"
import { foldings } from "../../../src/domain/history/past.ts"
import { addIdp, changeIdp } from "../../../src/domain/idp/commands.ts"
import type { Said } from "../../../src/domain/idp/model.ts"
import { messageReactor } from "../../../src/domain/message/reactor.ts"
import {
  acceptInvite,
  invitedKey,
  invitedPassword,
  inviteUser,
} from "../../../src/domain/registration/invite.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { addLink } from "../../../src/domain/user-link/commands.ts"
import { linksOf } from "../../../src/domain/user-model/links.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import type { WithOrigins } from "../../../src/domain/user-model/origins.ts"
import type { Fault } from "../../../src/kernel/fault.ts"
import { type Reactors, runReactors, type Transaction } from "../../../src/store/index.ts"
import { makeKey } from "../../support/authenticator.ts"
import { type Estate, openEstate, type Person, person } from "../../support/estate.ts"
import { nowhere } from "../../support/outside.ts"
import { callerOf } from "../../support/world.ts"

let estate: Estate
let reactors: Reactors
beforeEach(async () => {
  estate = await openEstate()
  await createUser(estate.cx(), userId, person("prepared", "org1"))
  const call = (instance: string) => ({ ...estate.cx({ instance }), outside: nowhere })
  reactors = runReactors(estate.store, estate.clock, [messageReactor(call)])
  await reactors.drain()
})
afterEach(async () => {
  await reactors.stop()
  await estate.close()
})

const userId = "prepared"
const origin = "https://id.example.com"
const password = "Correct-Horse-7"

const act = (who: Person, name: string, request: object): Promise<any> =>
  estate.as(who, name, request)
const byUser = (name: string, request: object) =>
  estate.as("nobody", name, request, {
    cx: { caller: { kind: "user", userId, orgId: "org1", clientId: "console" } },
  })
const visitor = () => estate.cx({ caller: { kind: "anonymous" } })
const state = () => estate.store.state(estate.cx(), user, userId)
/** The same from the events as they are stored by now. */
async function refolded(): Promise<unknown> {
  const after: unknown[] = []
  for await (const folding of foldings(estate.cx(), { kind: user, id: userId })) {
    after.push(folding.after.whole)
  }
  return after.at(-1)
}

/** What a promotion by the owner lists. */
async function listed(id = userId) {
  const resource = { resource: { case: "instance", value: true } }
  const admin = { userId: id, resource }
  const promotion = act("owner", "createAdministrator", { ...admin, roles: ["IAM_OWNER"] })
  const fault: Fault | undefined = await promotion.then(
    () => undefined,
    (cause: Fault) => cause,
  )
  if (!fault) {
    await act("owner", "deleteAdministrator", admin)
    return []
  }
  expect(fault.id).toBe("member.credentials_unconfirmed")
  return fault.preconditions
}
const kinds = async (id?: string) => (await listed(id)).map(({ type }) => type)

type Begun = { readonly passkeyId: string; readonly publicKeyCredentialCreationOptions: any }

const begin = (who: Person): Promise<Begun> => act(who, "registerPasskey", { userId })
const answerTo = ({ passkeyId, publicKeyCredentialCreationOptions }: Begun) => {
  const { publicKey } = publicKeyCredentialCreationOptions
  const publicKeyCredential = makeKey(publicKey, { origin }).creation
  return { userId, passkeyId, publicKeyCredential, passkeyName: "Key" }
}

async function mailedReset(plain: string) {
  const code = createCode(visitor(), userId, { of: "password", returned: false })
  await requestReset(visitor(), userId, { code, channel: "email" })
  return resetPasswordFor(visitor(), userId, { code: code.plain, plain })
}

test("a passkey that another user has begun to register, for as long as it can be", async () => {
  await begin("manager")
  expect(await kinds()).toEqual(["passkey"])
  estate.clock.advance(10 * 60_000)
  expect(await kinds()).toEqual([])
})

test("a passkey that another user began, whoever finishes it", async () => {
  const answer = answerTo(await begin("manager"))
  await byUser("verifyPasskeyRegistration", answer)
  const [key] = await listed()
  expect(key).toMatchObject({ type: "passkey" })
  expect(key?.description).toContain("the user manager")
})

test("a passkey that the user made while somebody else could sign in", async () => {
  await act("manager", "verifyPasskeyRegistration", answerTo(await begin("manager")))
  const begun = await byUser("registerPasskey", { userId })
  await byUser("verifyPasskeyRegistration", answerTo(begun))
  const [, own] = await listed()
  expect(own?.description).toMatch(/^created on .*, when the user manager could sign in/)
  const keys = await byUser("listPasskeys", { userId })
  const others = keys.result.filter(({ id }: { id: string }) => id !== begun.passkeyId)
  for (const { id } of others) await byUser("removePasskey", { userId, passkeyId: id })
  expect(await kinds()).toEqual(["passkey"])
})

test("an address that another user set, and what is set by a code that goes there", async () => {
  await act("manager", "updateHumanUser", {
    userId,
    email: { email: "other@example.com", verification: { case: "isVerified", value: true } },
  })
  expect(await kinds()).toEqual(["email"])
  await setPassword(visitor(), userId, await mailedReset(password))
  expect(await kinds()).toEqual(["email", "password"])
  // Whoever reads the mail there can sign in and change the address.
  const email = { email: "third@example.com", verification: { case: "sendCode", value: {} } }
  await byUser("setEmail", { userId, email: email.email, verification: email.verification })
  expect(await kinds()).toEqual(["email", "password"])
})

test("a phone number that another user set", async () => {
  const verification = { case: "isVerified", value: true }
  await act("manager", "setPhone", { userId, phone: "+41791234567", verification })
  expect(await kinds()).toEqual(["phone"])
  await byUser("removePhone", { userId })
  expect(await kinds()).toEqual([])
})

test("a password that was set by an invitation that somebody else could read", async () => {
  const code = createCode(estate.cx(), userId, { of: "invite", returned: true })
  const caller = { kind: "user", userId: "manager", orgId: "org1", clientId: "c" } as const
  await inviteUser(estate.cx({ caller }), userId, { code })
  expect(await kinds()).toEqual(["invitation"])
  const chosen = await invitedPassword(visitor(), userId, password)
  const accepted = { code: code.plain, password: chosen }
  await estate.step((tx) => acceptInvite(tx, userId, accepted), { caller: { kind: "anonymous" } })
  expect(await kinds()).toEqual(["password"])
})

/** The code in the newest message to the user, as an administrator of the organization views it. */
async function viewed(): Promise<{ readonly code: string; readonly codeId: string }> {
  await reactors.drain()
  const [{ id: messageId }] = (await act("manager", "listMessages", { userId })).messages
  const { link } = await act("manager", "viewMessage", { userId, messageId })
  const url = new URL(link)
  const [code = ""] = url.hash.slice(1).split("&")
  return { code, codeId: url.searchParams.get("codeId") ?? "" }
}

describe("a code that another user has viewed in its message", () => {
  test("to set a password, and the password that was set by it", async () => {
    await mailedReset(password)
    expect(await kinds()).toEqual([])
    const { code } = await viewed()
    const [listedCode, ...others] = await listed()
    expect(others).toEqual([])
    expect(listedCode).toMatchObject({ type: "password_code" })
    expect(listedCode?.description).toContain("the user manager")
    const given = { code, plain: password }
    await setPassword(visitor(), userId, await resetPasswordFor(visitor(), userId, given))
    const [set] = await listed()
    expect(set).toMatchObject({ type: "password" })
    expect(set?.description).toContain("the user manager could sign in")
    const { origins } = state() as WithOrigins
    const { origins: foldedAnew } = (await refolded()) as WithOrigins
    expect(foldedAnew).toEqual(origins)
  })

  test("of an invitation, and the password that was set by it", async () => {
    await act("owner", "createInviteCode", { userId, verification: sendCode })
    expect(await kinds()).toEqual([])
    const { code } = await viewed()
    expect(await kinds()).toEqual(["invitation"])
    const accepted = { code, password: await invitedPassword(visitor(), userId, password) }
    await estate.step((tx) => acceptInvite(tx, userId, accepted), { caller: { kind: "anonymous" } })
    expect(await kinds()).toEqual(["password"])
  })

  test("of an invitation, and the passkey that was registered by it", async () => {
    await act("owner", "createInviteCode", { userId, verification: sendCode })
    const { code } = await viewed()
    const { options, challenge } = await invitedKey(visitor(), userId)
    const given = JSON.stringify(makeKey(options, { origin }).creation)
    const passkey = await firstKey(visitor(), { challenge, given })
    const accepted = { code, passkey }
    await estate.step((tx) => acceptInvite(tx, userId, accepted), { caller: { kind: "anonymous" } })
    expect(await kinds()).toEqual(["passkey"])
  })

  test("to register a passkey, and the passkey that was registered by it", async () => {
    const medium = { case: "sendLink", value: {} }
    await act("owner", "createPasskeyRegistrationLink", { userId, medium })
    expect(await kinds()).toEqual([])
    const { code, codeId: id } = await viewed()
    expect(await kinds()).toEqual(["passkey_code"])
    const begun = await byUser("registerPasskey", { userId, code: { id, code } })
    await byUser("verifyPasskeyRegistration", answerTo(begun))
    expect(await kinds()).toEqual(["passkey"])
  })

  test("no longer once the user has a new one", async () => {
    await mailedReset(password)
    await viewed()
    estate.clock.advance(1000)
    await mailedReset(password)
    expect(await kinds()).toEqual([])
  })
})

const sendCode = { case: "sendCode", value: {} }

test("nothing where the user did it by a code that went to their own address", async () => {
  await act("manager", "setPassword", { userId, newPassword: { password } })
  await setPassword(visitor(), userId, await mailedReset("Mailed-Horse-8"))
  expect(await kinds()).toEqual([])
})

test("no password that a login page has set by the current one of the user", async () => {
  await setPassword(visitor(), userId, await mailedReset(password))
  const newPassword = { password: "Another-Horse-8" }
  const verification = { case: "currentPassword", value: password }
  await act("manager", "setPassword", { userId, newPassword, verification })
  expect(await kinds()).toEqual([])
  await act("manager", "setPassword", { userId, newPassword: { password } })
  expect(await kinds()).toEqual(["password"])
})

const provider: Said = {
  name: "Acme",
  options: {
    isLinkingAllowed: true,
    isCreationAllowed: true,
    isAutoCreation: true,
    isAutoUpdate: false,
    autoLinking: "email",
  },
  settings: { kind: "github", clientId: "client", scopes: [] },
}
const providerBy = async (author: string, place: "org1" | "instance" = "org1") => {
  const cx = estate.cx({ caller: callerOf(author) })
  const of = place === "instance" ? undefined : place
  return (await addIdp(cx, of, { ...provider, secret: "s" })).id
}
/** What a sign-in through a provider does, where nobody is signed in yet. */
const link = (idpId: string, id = userId) =>
  estate.step((tx) => addLink(tx, id, { idpId, externalId: "e", name: "n" }), {
    caller: { kind: "anonymous" },
  })

test("a link made at a sign-in through an organization's provider, by its authors", async () => {
  await link(await providerBy("manager"))
  const [only, ...others] = await listed()
  expect(only).toMatchObject({ type: "provider_link" })
  expect(only?.description).toContain("when the user manager could sign in as this user")
  expect(others).toEqual([])
})

test("what the user made since then, also once the link is removed", async () => {
  const idpId = await providerBy("manager")
  await link(idpId)
  await setUp()
  expect(await kinds()).toEqual(["email", "passkey", "provider_link"])
  await act("owner", "removeIDPLink", { userId, idpId, linkedUserId: "e" })
  const left = await listed()
  expect(left.map(({ type }) => type)).toEqual(["email", "passkey"])
  for (const { description } of left) expect(description).toContain("the user manager could sign")
  const { origins } = state() as WithOrigins
  expect(((await refolded()) as WithOrigins).origins).toEqual(origins)
})

test("the address that an organization's provider gave a new account", async () => {
  const idpId = await providerBy("manager")
  const external = { idpId, externalId: "e", name: "n", isFirst: true }
  const caller = { kind: "anonymous" } as const
  const signUp = (tx: Transaction) => {
    addUser(tx, "new", person("new", "org1"))
    addLink(tx, "new", external)
  }
  await estate.step(signUp, { caller })
  expect(await kinds("new")).toEqual(["email", "provider_link"])
})

test("nothing of a provider of the instance, or whose authors hold the permissions", async () => {
  await link(await providerBy("manager"))
  const resource = { resource: { case: "organizationId", value: "org1" } }
  await act("owner", "createAdministrator", { userId, resource, roles: ["ORG_OWNER"] })
  await createUser(estate.cx(), "other", person("other", "org1"))
  await link(await providerBy("owner"), "other")
  await link(await providerBy("stranger", "instance"), "other")
  expect(await listed("other")).toEqual([])
})

test("a link from before its provider's authors were recorded with it", async () => {
  const idpId = await providerBy("manager")
  await estate.step((tx) => {
    const type = "user.human.externalidp.added"
    const data = { linkId: "l1", idpId, authority: "github" }
    tx.append(user, userId, [{ type, data, private: { externalId: "e", name: "n" } }])
  })
  expect(linksOf(state())).toHaveLength(1)
  const promoted = await listed()
  expect(promoted.map(({ type }) => type)).toEqual(["provider_link"])
  expect(promoted[0]?.description).toContain("the user manager")
  await setUp()
  expect(await kinds()).toEqual(["email", "passkey", "provider_link"])
  await act("owner", "removeIDPLink", { userId, idpId, linkedUserId: "e" })
  const left = await listed()
  expect(left.map(({ type }) => type)).toEqual(["email", "passkey"])
  for (const { description } of left) expect(description).toContain("the user manager could sign")
  // By a code to that address.
  await setPassword(visitor(), userId, await mailedReset("Another-Horse-9"))
  expect(await kinds()).toEqual(["email", "password", "passkey"])
  const { origins } = state() as WithOrigins
  expect(((await refolded()) as WithOrigins).origins).toEqual(origins)
})

/** What somebody does who is signed in as the user. */
async function setUp() {
  const verification = { case: "sendCode", value: {} }
  await byUser("setEmail", { userId, email: "third@example.com", verification })
  const begun = await byUser("registerPasskey", { userId })
  await byUser("verifyPasskeyRegistration", answerTo(begun))
}

test("a link whose provider somebody else has changed since", async () => {
  const idpId = await providerBy("owner")
  await link(idpId)
  expect(await kinds()).toEqual([])
  const renamed = { ...provider, name: "Other" }
  await changeIdp(estate.cx({ caller: callerOf("manager") }), "org1", idpId, renamed)
  expect(await kinds()).toEqual(["provider_link"])
  await setUp()
  expect(await kinds()).toEqual(["email", "passkey", "provider_link"])
})

test("the same once the states are folded anew, without what was erased", async () => {
  const { verificationCode: code } = await act("manager", "passwordReset", {
    userId,
    medium: { case: "returnCode", value: {} },
  })
  await setPassword(
    visitor(),
    userId,
    await resetPasswordFor(visitor(), userId, { code, plain: password }),
  )
  const before = await listed()
  expect(before.map(({ type }) => type)).toEqual(["password"])
  const { origins } = state() as WithOrigins
  expect(Object.keys(origins ?? {})).toEqual(["email", "password"])
  const { origins: foldedAnew } = (await refolded()) as WithOrigins
  expect(foldedAnew).toEqual(origins)
})
