import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { RecoveryRequest } from "../../src/boot/recovery.ts"
import { setPassword } from "../../src/domain/credential/commands.ts"
import { resetPasswordFor } from "../../src/domain/credential/reset.ts"
import { secondFactorsOf } from "../../src/domain/factor/ready.ts"
import { importRecoveryCodes } from "../../src/domain/factor/recovery-code.ts"
import { removeTotp } from "../../src/domain/factor/totp.ts"
import { instance, ownersOf } from "../../src/domain/instance/index.ts"
import { message } from "../../src/domain/message/model.ts"
import { messageReactor } from "../../src/domain/message/reactor.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { deactivateUser, lockUser } from "../../src/domain/user/index.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { userNameOf } from "../../src/domain/user-lookup/query.ts"
import { user } from "../../src/domain/user-model/model.ts"
import { previewRecovery, recover } from "../../src/server/setup/recovery.ts"
import { runReactors } from "../../src/store/index.ts"
import { houseOf, type Open, setUpData } from "../boot/backup/house.ts"

const house = houseOf("recovery")
let open: Open
beforeAll(async () => {
  open = await setUpData(house.fresh())
})
afterAll(async () => {
  await open.close()
  house.remove()
})

const ask = (request: Partial<RecoveryRequest> = {}) =>
  recover(open.services, { keepsFactors: false, ...request })

const idOf = (name: string) => findByLoginName(open.cx(), name) ?? ""
const stateOf = (name: string) => open.services.store.state(open.cx(), user, idOf(name))
const owners = () =>
  ownersOf(open.services.store.state(open.cx(), instance, "1"))
    .map(({ userId }) => userNameOf(open.cx(), userId))
    .sort()

/** Chooses a password by the link, as its page does. */
async function follow(link: string, plain: string) {
  const { searchParams, hash } = new URL(link)
  const id = searchParams.get("userId") ?? ""
  const [code = ""] = hash.slice(1).split("&key=")
  const password = await resetPasswordFor(open.cx(), id, { code, plain })
  await setPassword(open.cx(), id, password)
}

describe("an owner who has lost everything", () => {
  test("chooses a password by a link that is good once, for a quarter of an hour", async () => {
    const { services } = open
    const id = idOf("ada")
    await services.store.transact(open.cx(), (tx) => {
      tx.append(user, id, [
        { type: "user.human.mfa.otp.added", data: {}, private: { sealed: "x" } },
        { type: "user.human.mfa.otp.verified", data: {} },
        { type: "user.locked", data: {} },
      ])
    })
    expect(secondFactorsOf(stateOf("ada"))).toEqual(["otp"])
    const before = services.clock.now()
    const { link, loginName, expires, isNewOwner } = await ask()
    expect([loginName, isNewOwner]).toEqual(["ada", false])
    const page = "https://id.example.com/ui/login/password/set?"
    expect(link.startsWith(page)).toBe(true)
    expect(link.slice(page.length)).toMatch(/^userId=\d+&organization=\d+#\w+&key=[\w-]{22}$/)
    expect(expires - before).toBeGreaterThan(14 * 60_000)
    expect(expires - before).toBeLessThan(16 * 60_000)
    expect(stateOf("ada")).toMatchObject({ status: "active" })
    expect(secondFactorsOf(stateOf("ada"))).toEqual([])
    await follow(link, "Another-horse-8")
    await expect(follow(link, "Another-horse-9")).rejects.toThrow(/code/)
  })

  test("is shown before what it removes, which is what it removes", async () => {
    const { services } = open
    const id = idOf("ada")
    const key = { credentialId: "c", publicKey: "p", transports: [], name: "Chrome on macOS" }
    await services.store.transact(open.cx(), (tx) => {
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
    const version = () => services.store.receipt(open.cx(), user, id)?.version
    const before = version()
    expect(previewRecovery(services, request)).toEqual({ loginName: "ada", removed })
    expect(version()).toBe(before)
    expect((await ask({ keepsFactors: true })).removed).toEqual([])
    expect((await ask()).removed).toEqual(removed)
    expect(previewRecovery(services, request)).toEqual({ loginName: "ada", removed: [] })
  })

  test("keeps second factors that they did not lose", async () => {
    await open.services.store.transact(open.cx(), (tx) => {
      tx.append(user, idOf("ada"), [
        { type: "user.human.mfa.otp.added", data: {}, private: { sealed: "x" } },
        { type: "user.human.mfa.otp.verified", data: {} },
      ])
    })
    await ask({ keepsFactors: true })
    expect(secondFactorsOf(stateOf("ada"))).toEqual(["otp"])
    await removeTotp(open.cx(), idOf("ada"))
  })

  test("every other link of theirs is worth nothing from then on", async () => {
    const first = await ask()
    const second = await ask()
    await expect(follow(first.link, "Another-horse-10")).rejects.toThrow(/code/)
    await follow(second.link, "Another-horse-11")
  })
})

describe("another owner", () => {
  test("is made of somebody who is there, deactivated or not", async () => {
    const { defaultOrgId: orgId } = open.services.store.state(open.cx(), instance, "1")
    const profile = { givenName: "Bob", familyName: "Bo" }
    const email = { value: "bob@example.com", verified: true }
    await createUser(open.cx(), "7001", { kind: "human", orgId, userName: "bob", profile, email })
    await lockUser(open.cx(), "7001")
    expect(await ask({ owner: "bob" })).toMatchObject({ loginName: "bob", isNewOwner: true })
    expect(owners()).toEqual(["ada", "bob"])
    await deactivateUser(open.cx(), "7001")
    expect(await ask({ owner: "BOB" })).toMatchObject({ loginName: "bob", isNewOwner: false })
    expect(stateOf("bob")).toMatchObject({ status: "active" })
  })

  test("is made anew", async () => {
    const made = await ask({ owner: "carol.king", email: "carol@example.com" })
    expect(made).toMatchObject({ loginName: "carol.king", isNewOwner: true })
    expect(owners()).toEqual(["ada", "bob", "carol.king"])
    await follow(made.link, "Another-horse-12")
  })
})

test("whoever is to be made has nothing to lose", () => {
  const request = { owner: "dora", email: "dora@example.com", keepsFactors: false }
  expect(previewRecovery(open.services, request)).toEqual({ loginName: "dora", removed: [] })
})

test("says which one where there are several, and refuses who isn't there", async () => {
  await expect(ask()).rejects.toThrow("say which one with --owner: ada, bob, carol.king")
  await expect(ask({ owner: "dan" })).rejects.toThrow(/nobody signs in as dan; make/)
  await expect(ask({ owner: "dan", email: "no address" })).rejects.toThrow(/email/)
  await expect(ask({ owner: "ada", instance: "9" })).rejects.toThrow("there is no instance 9")
  expect(owners()).toEqual(["ada", "bob", "carol.king"])
})

test("every owner is told, and who did it stands in the log of events", async () => {
  const { store, clock } = open.services
  const reactors = runReactors(store, clock, [messageReactor(open.cx)])
  await reactors.drain()
  await ask({ owner: "bob" })
  await reactors.drain()
  await reactors.stop()
  const events = (await store.log.read(0, 10_000)).filter(({ type }) => /recovery/.test(type))
  const last = events.at(-1)
  expect(last).toMatchObject({ type: "user.recovery.started", id: "7001", data: {} })
  const told = owners().map((name) => `${last?.position}-${idOf(name ?? "")}`)
  for (const id of told) {
    expect(store.state(open.cx(), message, id)).toMatchObject({
      kind: "owner_recovered",
      place: "bob",
      status: expect.stringMatching(/queued|failed/),
    })
  }
})
