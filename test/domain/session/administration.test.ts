// Sessions as administrators of users list and end them.
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createPassword, setPassword } from "../../../src/domain/credential/commands.ts"
import { removeOtp } from "../../../src/domain/factor/otp.ts"
import { grant, outlivesSession } from "../../../src/domain/grant/index.ts"
import { findSession, lifetimes, session } from "../../../src/domain/session/index.ts"
import { removeUser } from "../../../src/domain/user/index.ts"
import { passwordVersion } from "../../../src/domain/user-lookup/query.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  for (const id of ["owner", "manager", "stranger"]) {
    estate.clock.advance(1000)
    await signIn(id, id === "stranger" ? "org2" : "org1")
  }
})
afterEach(() => estate.close())

/** A session whose ID is that of its user. */
const signIn = (id: string, orgId: string) =>
  estate.step((tx) => {
    const data = { userId: id, agentId: `browser of ${id}` }
    tx.append(session, id, [{ type: "session.added", data }], orgId)
    const version = { passwordVersion: passwordVersion(estate.cx(), id) }
    tx.append(session, id, [{ type: "session.password.checked", data: version }])
  })

const listSessions = async (user: TenantUser, ...queries: readonly object[]) => {
  const request = { queries: queries.map((query) => ({ query })), query: { asc: true } }
  const { sessions, details } = await estate.as(user, "listSessions", request)
  expect(details.totalResult).toBe(BigInt(sessions.length))
  return sessions
}
const ids = async (user: TenantUser, ...queries: readonly object[]) =>
  (await listSessions(user, ...queries)).map(({ id }: { id: string }) => id)

test("a session contains its user, device, creation time, and expiry", async () => {
  const [shown] = await listSessions("owner", { case: "userIdQuery", value: { id: "stranger" } })
  const now = estate.clock.now()
  expect(shown).toMatchObject({
    id: "stranger",
    sequence: 2n,
    userAgent: { fingerprintId: "browser of stranger" },
    factors: {
      user: { id: "stranger", displayName: "stranger Person", organizationId: "org2" },
    },
  })
  expect(timestampMs(shown.creationDate)).toBe(now)
  expect(timestampMs(shown.factors.password.verifiedAt)).toBe(now)
  expect(timestampMs(shown.expirationDate)).toBe(now + lifetimes.session)
})

test("sessions are visible to callers with the permission, and to their user", async () => {
  expect(await ids("owner")).toEqual(["owner", "manager", "stranger"])
  expect(await ids("stranger")).toEqual(["stranger"])
  expect(await ids("nobody")).toEqual([])
  await signIn("nobody", "org1")
  expect(await ids("nobody")).toEqual(["nobody"])
})

test("finds sessions by every query", async () => {
  const at = timestampFromMs(estate.clock.now() - 1000)
  const by = (name: string, value: object) => ids("owner", { case: name, value })
  expect(await by("idsQuery", { ids: ["owner", "absent"] })).toEqual(["owner"])
  expect(await by("creatorQuery", { id: "manager" })).toEqual(["manager"])
  expect(await by("creatorQuery", {})).toEqual(["owner"])
  const agent = { fingerprintId: "browser of manager" }
  expect(await by("userAgentQuery", agent)).toEqual(["manager"])
  expect(await by("userAgentQuery", {})).toEqual([])
  const when = (method: number) => by("creationDateQuery", { creationDate: at, method })
  expect(await Promise.all([0, 1, 2, 3, 4].map(when))).toEqual([
    ["manager"],
    ["stranger"],
    ["manager", "stranger"],
    ["owner"],
    ["owner", "manager"],
  ])
  const expirationDate = timestampFromMs(estate.clock.now() + lifetimes.session - 1)
  expect(await by("expirationDateQuery", { expirationDate, method: 1 })).toEqual(["stranger"])
  for (const query of [{}, { case: "creationDateQuery", value: { method: 1 } }]) {
    await expect(ids("owner", query)).rejects.toMatchObject({ id: "search.filter_empty" })
  }
})

test("an ended session is invalid, unlisted, and ends once", async () => {
  expect(findSession(estate.cx(), "manager")).toBeDefined()
  const { details } = await estate.as("owner", "deleteSession", { sessionId: "manager" })
  expect(details.resourceOwner).toBe("org1")
  expect(findSession(estate.cx(), "manager")).toBeUndefined()
  expect(await ids("owner")).toEqual(["owner", "stranger"])
  for (const who of ["owner", "manager"] as const) {
    const read = estate.as(who, "getSession", { sessionId: "manager" })
    await expect(read).rejects.toMatchObject({ code: "not_found", id: "session.missing" })
  }
  const before = estate.store.log.durable()
  await estate.as("owner", "deleteSession", { sessionId: "manager" })
  expect(estate.store.log.durable()).toBe(before)
})

test("inaccessible sessions are not found, and those of higher-ranked users stay", async () => {
  const end = async (user: TenantUser, sessionId: string) =>
    estate.as(user, "deleteSession", { sessionId })
  const ended = await Promise.all(
    ["manager", "absent"].map((id) => end("stranger", id).catch((fault) => fault)),
  )
  expect(ended.map(({ id }) => id)).toEqual(["session.missing", "session.missing"])
  await expect(end("nobody", "manager")).rejects.toMatchObject({ code: "permission_denied" })
  const give = { userId: "nobody", resource: { resource: { case: "instance", value: true } } }
  await estate.as("owner", "createAdministrator", { ...give, roles: ["IAM_USER_MANAGER"] })
  await expect(end("nobody", "owner")).rejects.toMatchObject({ id: "user.outranks_you" })
  await expect(end("nobody", "absent")).rejects.toMatchObject({ id: "session.missing" })
  await end("stranger", "stranger")
  expect(await ids("owner")).toEqual(["owner", "manager"])
})

describe("removing a second factor", () => {
  const own = { kind: "user", userId: "nobody", orgId: "org1", clientId: "" } as const
  const add = (sessionId: string) =>
    estate.step((tx) => {
      const data = { userId: "nobody", agentId: sessionId }
      tx.append(session, sessionId, [{ type: "session.added", data }], "org1")
      const version = { passwordVersion: passwordVersion(estate.cx(), "nobody") }
      tx.append(session, sessionId, [{ type: "session.password.checked", data: version }])
      const given = {
        userId: "nobody",
        clientId: "app",
        appId: "app",
        scopes: [],
        audience: [],
        sessionId,
        methods: [],
      }
      const times = { lifetimeSeconds: 3600, idleLifetimeSeconds: 3600 }
      tx.append(grant, sessionId, [
        { type: "oidc_session.added", data: given },
        { type: "oidc_session.refresh_token.added", data: { ...version, ...times } },
      ])
    })
  const addFactor = () =>
    estate.step((tx) =>
      tx.append(user, "nobody", [{ type: "user.human.mfa.otp.email.added", data: {} }]),
    )
  const remove = async (sessionId?: string) => {
    await addFactor()
    const caller = sessionId === undefined ? own : { ...own, sessionId }
    await removeOtp(estate.cx({ caller }), "nobody", "email")
  }
  const current = (...sessionIds: readonly string[]) =>
    sessionIds.filter((id) => {
      const goesOn = findSession(estate.cx(), id) !== undefined
      const given = estate.store.state(estate.cx(), grant, id)
      expect([id, outlivesSession(estate.cx(), "nobody", given)]).toEqual([id, goesOn])
      return goesOn
    })

  test("ends the user's other sessions, not the current one", async () => {
    for (const id of ["one", "two", "three"]) await add(id)
    await remove("one")
    expect(current("one", "two", "three")).toEqual(["one"])
    await add("four")
    await remove("one")
    expect(current("one", "four")).toEqual(["one"])
    await add("five")
    await remove("five")
    expect(current("one", "five")).toEqual(["five"])
    await remove()
    expect(current("five")).toEqual([])
  })

  test("ends no session in which the user has authenticated again since", async () => {
    await add("one")
    await remove("one")
    const version = { passwordVersion: passwordVersion(estate.cx(), "nobody") }
    await estate.step((tx) =>
      tx.append(session, "one", [{ type: "session.password.checked", data: version }]),
    )
    await remove("one")
    expect(findSession(estate.cx(), "one")).toBeDefined()
  })

  test("ends all sessions if another user removes it, or the password changes", async () => {
    await add("one")
    await addFactor()
    await estate.as("owner", "removeOTPEmail", { userId: "nobody" })
    expect(current("one")).toEqual([])
    await add("two")
    await remove("two")
    const password = await createPassword("Correct-Horse-7", { names: [] })
    await setPassword(estate.cx(), "nobody", password)
    expect(current("two")).toEqual([])
  })
})

test("the sessions of a deleted user end", async () => {
  await removeUser(estate.cx(), "manager")
  const tried = async () => estate.as("owner", "deleteSession", { sessionId: "manager" })
  await expect(tried()).rejects.toMatchObject({ id: "session.missing" })
})
