import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { RecoveryRequest } from "../../src/boot/recovery.ts"
import { setPassword } from "../../src/domain/credential/commands.ts"
import { prepareResetPassword } from "../../src/domain/credential/reset.ts"
import { secondFactorsOf } from "../../src/domain/factor/ready.ts"
import { importRecoveryCodes } from "../../src/domain/factor/recovery-code.ts"
import { removeTotp } from "../../src/domain/factor/totp.ts"
import { instance, ownersOf } from "../../src/domain/instance/index.ts"
import { message } from "../../src/domain/message/model.ts"
import { messageReactor } from "../../src/domain/message/reactor.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { deactivateUser, lockUser } from "../../src/domain/user/index.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { findUserName } from "../../src/domain/user-lookup/query.ts"
import { user } from "../../src/domain/user-model/model.ts"
import { previewRecovery, recover } from "../../src/server/setup/recovery.ts"
import { runReactors } from "../../src/store/index.ts"
import { createBackupFixture, type OpenData, setUpData } from "../boot/backup/house.ts"

const backupFixture = createBackupFixture("recovery")
let openData: OpenData
beforeAll(async () => {
  openData = await setUpData(backupFixture.fresh())
})
afterAll(async () => {
  await openData.close()
  backupFixture.remove()
})

const recoverAccount = (request: Partial<RecoveryRequest> = {}) =>
  recover(openData.services, { keepsFactors: false, ...request })

const idOf = (name: string) => findByLoginName(openData.cx(), name) ?? ""
const stateOf = (name: string) => openData.services.store.state(openData.cx(), user, idOf(name))
const owners = () =>
  ownersOf(openData.services.store.state(openData.cx(), instance, "1"))
    .map(({ userId }) => findUserName(openData.cx(), userId))
    .sort()

/** Sets a password with the link, as its page does. */
async function followLink(link: string, plain: string) {
  const { searchParams, hash } = new URL(link)
  const id = searchParams.get("userId") ?? ""
  const [code = ""] = hash.slice(1).split("&key=")
  const password = await prepareResetPassword(openData.cx(), id, { code, plain })
  await setPassword(openData.cx(), id, password)
}

describe("an owner who has lost all credentials", () => {
  test("sets a password with a link that is valid once, for a quarter of an hour", async () => {
    const { services } = openData
    const id = idOf("ada")
    await services.store.transact(openData.cx(), (tx) => {
      tx.append(user, id, [
        { type: "user.human.mfa.otp.added", data: {}, private: { sealed: "x" } },
        { type: "user.human.mfa.otp.verified", data: {} },
        { type: "user.locked", data: {} },
      ])
    })
    expect(secondFactorsOf(stateOf("ada"))).toEqual(["otp"])
    const before = services.clock.now()
    const { link, loginName, expires, isNewOwner } = await recoverAccount()
    expect([loginName, isNewOwner]).toEqual(["ada", false])
    const page = "https://id.example.com/ui/login/password/set?"
    expect(link.startsWith(page)).toBe(true)
    expect(link.slice(page.length)).toMatch(/^userId=\d+&organization=\d+#\w+&key=[\w-]{22}$/)
    expect(expires - before).toBeGreaterThan(14 * 60_000)
    expect(expires - before).toBeLessThan(16 * 60_000)
    expect(stateOf("ada")).toMatchObject({ status: "active" })
    expect(secondFactorsOf(stateOf("ada"))).toEqual([])
    await followLink(link, "Another-horse-8")
    await expect(followLink(link, "Another-horse-9")).rejects.toThrow(/code/)
  })

  test("sees a preview of what is removed", async () => {
    const { services } = openData
    const id = idOf("ada")
    const key = { credentialId: "c", publicKey: "p", transports: [], name: "Chrome on macOS" }
    await services.store.transact(openData.cx(), (tx) => {
      tx.append(user, id, [
        { type: "user.human.mfa.otp.added", data: {}, private: { sealed: "x" } },
        { type: "user.human.mfa.otp.verified", data: {} },
        { type: "user.human.mfa.otp.email.added", data: {} },
        {
          type: "user.human.passwordless.token.added",
          data: { tokenId: "1", rpId: "id.example.com" },
          private: { challenge: "x" },
        },
        {
          type: "user.human.passwordless.token.verified",
          data: { tokenId: "1", aaguid: "", signCount: 0 },
          private: key,
        },
      ])
      importRecoveryCodes(tx, id, ["AAAAA-AAAAA"])
    })
    const removed = [
      { kind: "passkey", name: "Chrome on macOS" },
      { kind: "otp", name: "" },
      { kind: "otp_email", name: "" },
      { kind: "recovery_codes", name: "" },
    ]
    const request = { keepsFactors: false }
    const version = () => services.store.receipt(openData.cx(), user, id)?.version
    const before = version()
    expect(previewRecovery(services, request)).toEqual({ loginName: "ada", removed })
    expect(version()).toBe(before)
    expect((await recoverAccount({ keepsFactors: true })).removed).toEqual([])
    expect((await recoverAccount()).removed).toEqual(removed)
    expect(previewRecovery(services, request)).toEqual({ loginName: "ada", removed: [] })
  })

  test("keeps second factors that are not lost", async () => {
    await openData.services.store.transact(openData.cx(), (tx) => {
      tx.append(user, idOf("ada"), [
        { type: "user.human.mfa.otp.added", data: {}, private: { sealed: "x" } },
        { type: "user.human.mfa.otp.verified", data: {} },
      ])
    })
    await recoverAccount({ keepsFactors: true })
    expect(secondFactorsOf(stateOf("ada"))).toEqual(["otp"])
    await removeTotp(openData.cx(), idOf("ada"))
  })

  test("loses every other link", async () => {
    const first = await recoverAccount()
    const second = await recoverAccount()
    await expect(followLink(first.link, "Another-horse-10")).rejects.toThrow(/code/)
    await followLink(second.link, "Another-horse-11")
  })
})

describe("another owner", () => {
  test("is created from an existing user, deactivated or not", async () => {
    const { defaultOrgId: orgId } = openData.services.store.state(openData.cx(), instance, "1")
    const profile = { givenName: "Bob", familyName: "Bo" }
    const email = { value: "bob@example.com", verified: true }
    await createUser(openData.cx(), "7001", {
      kind: "human",
      orgId,
      userName: "bob",
      profile,
      email,
    })
    await lockUser(openData.cx(), "7001")
    expect(await recoverAccount({ owner: "bob" })).toMatchObject({
      loginName: "bob",
      isNewOwner: true,
    })
    expect(owners()).toEqual(["ada", "bob"])
    await deactivateUser(openData.cx(), "7001")
    expect(await recoverAccount({ owner: "BOB" })).toMatchObject({
      loginName: "bob",
      isNewOwner: false,
    })
    expect(stateOf("bob")).toMatchObject({ status: "active" })
  })

  test("is created as a new user", async () => {
    const made = await recoverAccount({ owner: "carol.king", email: "carol@example.com" })
    expect(made).toMatchObject({ loginName: "carol.king", isNewOwner: true })
    expect(owners()).toEqual(["ada", "bob", "carol.king"])
    await followLink(made.link, "Another-horse-12")
  })
})

test("has nothing to remove if newly created", () => {
  const request = { owner: "dora", email: "dora@example.com", keepsFactors: false }
  expect(previewRecovery(openData.services, request)).toEqual({ loginName: "dora", removed: [] })
})

test("must be named if there are several, and must exist", async () => {
  await expect(recoverAccount()).rejects.toThrow("name one with --owner: ada, bob, carol.king")
  await expect(recoverAccount({ owner: "dan" })).rejects.toThrow(/login name dan not found; create/)
  await expect(recoverAccount({ owner: "dan", email: "no address" })).rejects.toThrow(/email/)
  await expect(recoverAccount({ owner: "ada", instance: "9" })).rejects.toThrow(
    "instance 9 not found",
  )
  expect(owners()).toEqual(["ada", "bob", "carol.king"])
})

test("notifies every owner and records the operator in the event log", async () => {
  const { store, clock } = openData.services
  const reactors = runReactors(store, clock, [messageReactor(openData.cx)])
  await reactors.drain()
  await recoverAccount({ owner: "bob" })
  await reactors.drain()
  await reactors.stop()
  const events = (await store.log.read(0, 10_000)).filter(({ type }) => /recovery/.test(type))
  const last = events.at(-1)
  expect(last).toMatchObject({ type: "user.recovery.started", id: "7001", data: {} })
  const told = owners().map((name) => `${last?.position}-${idOf(name ?? "")}`)
  for (const id of told) {
    expect(store.state(openData.cx(), message, id)).toMatchObject({
      kind: "owner_recovered",
      place: "bob",
      status: expect.stringMatching(/queued|failed/),
    })
  }
})
