// Credentials that a promotion lists although the user or an anonymous caller created them.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createCode } from "../../../src/domain/credential/code.ts"
import { setPassword } from "../../../src/domain/credential/commands.ts"
import { prepareResetPassword, requestReset } from "../../../src/domain/credential/reset.ts"
import { verifyFirstKey } from "../../../src/domain/factor/key/first-key.ts"
import { replayEvents } from "../../../src/domain/history/past.ts"
import { createIdp, updateIdp } from "../../../src/domain/idp/commands.ts"
import type { IdpConfig } from "../../../src/domain/idp/model.ts"
import { messageReactor } from "../../../src/domain/message/reactor.ts"
import {
  acceptInvite,
  beginInvitedKey,
  inviteUser,
  prepareInvitedPassword,
} from "../../../src/domain/registration/invite.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { addLink } from "../../../src/domain/user-link/commands.ts"
import { linksOf } from "../../../src/domain/user-model/links.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import type { WithOrigins } from "../../../src/domain/user-model/origins.ts"
import type { Fault } from "../../../src/kernel/fault.ts"
import { type Reactors, runReactors, type Transaction } from "../../../src/store/index.ts"
import { createKey } from "../../support/authenticator.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { humanInput, openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"
import { callerOf } from "../../support/test-environment.ts"

let estate: Tenant
let reactors: Reactors
beforeEach(async () => {
  estate = await openTenant()
  await createUser(estate.cx(), userId, humanInput("prepared", "org1"))
  const call = (instance: string) => ({ ...estate.cx({ instance }), outside: unreachableOutside })
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

const callAs = (user: TenantUser, name: string, request: object): Promise<any> =>
  estate.as(user, name, request)
const byUser = (name: string, request: object) =>
  estate.as("nobody", name, request, {
    cx: { caller: { kind: "user", userId, orgId: "org1", clientId: "console" } },
  })
const visitor = () => estate.cx({ caller: { kind: "anonymous" } })
const state = () => estate.store.state(estate.cx(), user, userId)
/** The state rebuilt from the stored events. */
async function rebuiltState(): Promise<unknown> {
  const after: unknown[] = []
  for await (const folding of replayEvents(estate.cx(), { kind: user, id: userId })) {
    after.push(folding.after.whole)
  }
  return after.at(-1)
}

/** The credentials that a promotion by the owner lists. */
async function listCredentials(id = userId) {
  const resource = { resource: { case: "instance", value: true } }
  const admin = { userId: id, resource }
  const promotion = callAs("owner", "createAdministrator", { ...admin, roles: ["IAM_OWNER"] })
  const fault: Fault | undefined = await promotion.then(
    () => undefined,
    (cause: Fault) => cause,
  )
  if (!fault) {
    await callAs("owner", "deleteAdministrator", admin)
    return []
  }
  expect(fault.id).toBe("member.credentials_unconfirmed")
  return fault.preconditions
}
const credentialTypes = async (id?: string) => (await listCredentials(id)).map(({ type }) => type)

type StartedRegistration = {
  readonly passkeyId: string
  readonly publicKeyCredentialCreationOptions: any
}

const beginPasskey = (user: TenantUser): Promise<StartedRegistration> =>
  callAs(user, "registerPasskey", { userId })
const attestationFor = ({ passkeyId, publicKeyCredentialCreationOptions }: StartedRegistration) => {
  const { publicKey } = publicKeyCredentialCreationOptions
  const publicKeyCredential = createKey(publicKey, { origin }).creation
  return { userId, passkeyId, publicKeyCredential, passkeyName: "Key" }
}

async function resetCode(plain: string) {
  const code = createCode(visitor(), userId, { of: "password", returned: false })
  await requestReset(visitor(), userId, { code, channel: "email" })
  return prepareResetPassword(visitor(), userId, { code: code.plain, plain })
}

test("a passkey that another user has begun to register, while it can be completed", async () => {
  await beginPasskey("manager")
  expect(await credentialTypes()).toEqual(["passkey"])
  estate.clock.advance(10 * 60_000)
  expect(await credentialTypes()).toEqual([])
})

test("a passkey that another user began, whoever completes it", async () => {
  const answer = attestationFor(await beginPasskey("manager"))
  await byUser("verifyPasskeyRegistration", answer)
  const [key] = await listCredentials()
  expect(key).toMatchObject({ type: "passkey" })
  expect(key?.description).toContain("the user manager")
})

test("a passkey that the user created while someone else could sign in", async () => {
  await callAs(
    "manager",
    "verifyPasskeyRegistration",
    attestationFor(await beginPasskey("manager")),
  )
  const begun = await byUser("registerPasskey", { userId })
  await byUser("verifyPasskeyRegistration", attestationFor(begun))
  const [, own] = await listCredentials()
  expect(own?.description).toMatch(/^created on .*, when the user manager could sign in/)
  const keys = await byUser("listPasskeys", { userId })
  const others = keys.result.filter(({ id }: { id: string }) => id !== begun.passkeyId)
  for (const { id } of others) await byUser("removePasskey", { userId, passkeyId: id })
  expect(await credentialTypes()).toEqual(["passkey"])
})

test("an address that another user set, and credentials set by a code sent to it", async () => {
  await callAs("manager", "updateHumanUser", {
    userId,
    email: { email: "other@example.com", verification: { case: "isVerified", value: true } },
  })
  expect(await credentialTypes()).toEqual(["email"])
  await setPassword(visitor(), userId, await resetCode(password))
  expect(await credentialTypes()).toEqual(["email", "password"])
  // Users who read the email there can sign in and change the address.
  const email = { email: "third@example.com", verification: { case: "sendCode", value: {} } }
  await byUser("setEmail", { userId, email: email.email, verification: email.verification })
  expect(await credentialTypes()).toEqual(["email", "password"])
})

test("a phone number that another user set", async () => {
  const verification = { case: "isVerified", value: true }
  await callAs("manager", "setPhone", { userId, phone: "+41791234567", verification })
  expect(await credentialTypes()).toEqual(["phone"])
  await byUser("removePhone", { userId })
  expect(await credentialTypes()).toEqual([])
})

test("a password that was set by an invitation that another user could read", async () => {
  const code = createCode(estate.cx(), userId, { of: "invite", returned: true })
  const caller = { kind: "user", userId: "manager", orgId: "org1", clientId: "c" } as const
  await inviteUser(estate.cx({ caller }), userId, { code })
  expect(await credentialTypes()).toEqual(["invitation"])
  const chosen = await prepareInvitedPassword(visitor(), userId, password)
  const accepted = { code: code.plain, password: chosen }
  await estate.step((tx) => acceptInvite(tx, userId, accepted), { caller: { kind: "anonymous" } })
  expect(await credentialTypes()).toEqual(["password"])
})

/** The code in the newest message to the user, as an administrator of the organization views it. */
async function viewCode(): Promise<{ readonly code: string; readonly codeId: string }> {
  await reactors.drain()
  const [{ id: messageId }] = (await callAs("manager", "listMessages", { userId })).messages
  const { link } = await callAs("manager", "viewMessage", { userId, messageId })
  const url = new URL(link)
  const [code = ""] = url.hash.slice(1).split("&")
  return { code, codeId: url.searchParams.get("codeId") ?? "" }
}

describe("a code that another user has viewed in its message", () => {
  test("to set a password, and the password that was set by it", async () => {
    await resetCode(password)
    expect(await credentialTypes()).toEqual([])
    const { code } = await viewCode()
    const [listedCode, ...others] = await listCredentials()
    expect(others).toEqual([])
    expect(listedCode).toMatchObject({ type: "password_code" })
    expect(listedCode?.description).toContain("the user manager")
    const given = { code, plain: password }
    await setPassword(visitor(), userId, await prepareResetPassword(visitor(), userId, given))
    const [set] = await listCredentials()
    expect(set).toMatchObject({ type: "password" })
    expect(set?.description).toContain("the user manager could sign in")
    const { origins } = state() as WithOrigins
    const { origins: foldedAnew } = (await rebuiltState()) as WithOrigins
    expect(foldedAnew).toEqual(origins)
  })

  test("of an invitation, and the password that was set by it", async () => {
    await callAs("owner", "createInviteCode", { userId, verification: sendCode })
    expect(await credentialTypes()).toEqual([])
    const { code } = await viewCode()
    expect(await credentialTypes()).toEqual(["invitation"])
    const accepted = { code, password: await prepareInvitedPassword(visitor(), userId, password) }
    await estate.step((tx) => acceptInvite(tx, userId, accepted), { caller: { kind: "anonymous" } })
    expect(await credentialTypes()).toEqual(["password"])
  })

  test("of an invitation, and the passkey that was registered by it", async () => {
    await callAs("owner", "createInviteCode", { userId, verification: sendCode })
    const { code } = await viewCode()
    const { options, challenge } = await beginInvitedKey(visitor(), userId)
    const given = JSON.stringify(createKey(options, { origin }).creation)
    const passkey = await verifyFirstKey(visitor(), { challenge, given })
    const accepted = { code, passkey }
    await estate.step((tx) => acceptInvite(tx, userId, accepted), { caller: { kind: "anonymous" } })
    expect(await credentialTypes()).toEqual(["passkey"])
  })

  test("to register a passkey, and the passkey that was registered by it", async () => {
    const medium = { case: "sendLink", value: {} }
    await callAs("owner", "createPasskeyRegistrationLink", { userId, medium })
    expect(await credentialTypes()).toEqual([])
    const { code, codeId: id } = await viewCode()
    expect(await credentialTypes()).toEqual(["passkey_code"])
    const begun = await byUser("registerPasskey", { userId, code: { id, code } })
    await byUser("verifyPasskeyRegistration", attestationFor(begun))
    expect(await credentialTypes()).toEqual(["passkey"])
  })

  test("is not listed once the user has a new one", async () => {
    await resetCode(password)
    await viewCode()
    estate.clock.advance(1000)
    await resetCode(password)
    expect(await credentialTypes()).toEqual([])
  })
})

const sendCode = { case: "sendCode", value: {} }

test("nothing if the user used a code sent to their own address", async () => {
  await callAs("manager", "setPassword", { userId, newPassword: { password } })
  await setPassword(visitor(), userId, await resetCode("Mailed-Horse-8"))
  expect(await credentialTypes()).toEqual([])
})

test("no password that the user changed on the login page with the current one", async () => {
  await setPassword(visitor(), userId, await resetCode(password))
  const newPassword = { password: "Another-Horse-8" }
  const verification = { case: "currentPassword", value: password }
  await callAs("manager", "setPassword", { userId, newPassword, verification })
  expect(await credentialTypes()).toEqual([])
  await callAs("manager", "setPassword", { userId, newPassword: { password } })
  expect(await credentialTypes()).toEqual(["password"])
})

const provider: IdpConfig = {
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
const createProvider = async (author: string, location: "org1" | "instance" = "org1") => {
  const cx = estate.cx({ caller: callerOf(author) })
  const of = location === "instance" ? undefined : location
  return (await createIdp(cx, of, { ...provider, secret: "s" })).id
}
/** The effect of an anonymous sign-in through a provider. */
const linkProvider = (idpId: string, id = userId) =>
  estate.step((tx) => addLink(tx, id, { idpId, externalId: "e", name: "n" }), {
    caller: { kind: "anonymous" },
  })

test("a link that was created at a sign-in through an organization's provider, with its authors", async () => {
  await linkProvider(await createProvider("manager"))
  const [only, ...others] = await listCredentials()
  expect(only).toMatchObject({ type: "provider_link" })
  expect(only?.description).toContain("when the user manager could sign in as this user")
  expect(others).toEqual([])
})

test("everything the user created since then, even after the link is removed", async () => {
  const idpId = await createProvider("manager")
  await linkProvider(idpId)
  await setUpCredentials()
  expect(await credentialTypes()).toEqual(["email", "passkey", "provider_link"])
  await callAs("owner", "removeIDPLink", { userId, idpId, linkedUserId: "e" })
  const left = await listCredentials()
  expect(left.map(({ type }) => type)).toEqual(["email", "passkey"])
  for (const { description } of left) expect(description).toContain("the user manager could sign")
  const { origins } = state() as WithOrigins
  expect(((await rebuiltState()) as WithOrigins).origins).toEqual(origins)
})

test("the address that an organization's provider gave a new account", async () => {
  const idpId = await createProvider("manager")
  const external = { idpId, externalId: "e", name: "n", isFirst: true }
  const caller = { kind: "anonymous" } as const
  const signUp = (tx: Transaction) => {
    addUser(tx, "new", humanInput("new", "org1"))
    addLink(tx, "new", external)
  }
  await estate.step(signUp, { caller })
  expect(await credentialTypes("new")).toEqual(["email", "provider_link"])
})

test("nothing of a provider of the instance, or of authors with the permissions", async () => {
  await linkProvider(await createProvider("manager"))
  const resource = { resource: { case: "organizationId", value: "org1" } }
  await callAs("owner", "createAdministrator", { userId, resource, roles: ["ORG_OWNER"] })
  await createUser(estate.cx(), "other", humanInput("other", "org1"))
  await linkProvider(await createProvider("owner"), "other")
  await linkProvider(await createProvider("stranger", "instance"), "other")
  expect(await listCredentials("other")).toEqual([])
})

test("a link from before its provider's authors were recorded with it", async () => {
  const idpId = await createProvider("manager")
  await estate.step((tx) => {
    const type = "user.human.externalidp.added"
    const data = { linkId: "l1", idpId, authority: "github" }
    tx.append(user, userId, [{ type, data, private: { externalId: "e", name: "n" } }])
  })
  expect(linksOf(state())).toHaveLength(1)
  const promoted = await listCredentials()
  expect(promoted.map(({ type }) => type)).toEqual(["provider_link"])
  expect(promoted[0]?.description).toContain("the user manager")
  await setUpCredentials()
  expect(await credentialTypes()).toEqual(["email", "passkey", "provider_link"])
  await callAs("owner", "removeIDPLink", { userId, idpId, linkedUserId: "e" })
  const left = await listCredentials()
  expect(left.map(({ type }) => type)).toEqual(["email", "passkey"])
  for (const { description } of left) expect(description).toContain("the user manager could sign")
  // By a code to that address.
  await setPassword(visitor(), userId, await resetCode("Another-Horse-9"))
  expect(await credentialTypes()).toEqual(["email", "password", "passkey"])
  const { origins } = state() as WithOrigins
  expect(((await rebuiltState()) as WithOrigins).origins).toEqual(origins)
})

/** The actions of a caller who is signed in as the user. */
async function setUpCredentials() {
  const verification = { case: "sendCode", value: {} }
  await byUser("setEmail", { userId, email: "third@example.com", verification })
  const begun = await byUser("registerPasskey", { userId })
  await byUser("verifyPasskeyRegistration", attestationFor(begun))
}

test("a link whose provider was changed by another user since", async () => {
  const idpId = await createProvider("owner")
  await linkProvider(idpId)
  expect(await credentialTypes()).toEqual([])
  const renamed = { ...provider, name: "Other" }
  await updateIdp(estate.cx({ caller: callerOf("manager") }), "org1", idpId, renamed)
  expect(await credentialTypes()).toEqual(["provider_link"])
  await setUpCredentials()
  expect(await credentialTypes()).toEqual(["email", "passkey", "provider_link"])
})

test("the same after the states are rebuilt without erased data", async () => {
  const { verificationCode: code } = await callAs("manager", "passwordReset", {
    userId,
    medium: { case: "returnCode", value: {} },
  })
  await setPassword(
    visitor(),
    userId,
    await prepareResetPassword(visitor(), userId, { code, plain: password }),
  )
  const before = await listCredentials()
  expect(before.map(({ type }) => type)).toEqual(["password"])
  const { origins } = state() as WithOrigins
  expect(Object.keys(origins ?? {})).toEqual(["email", "password"])
  const { origins: foldedAnew } = (await rebuiltState()) as WithOrigins
  expect(foldedAnew).toEqual(origins)
})
