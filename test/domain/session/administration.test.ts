// Sessions as whoever looks after people sees and ends them.
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { lifetimes, session, sessionNow } from "../../../src/domain/session/index.ts"
import { passwordVersion, removeUser } from "../../../src/domain/user/index.ts"
import { type Estate, openEstate, type Person } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
  for (const id of ["owner", "manager", "stranger"]) {
    estate.clock.advance(1000)
    await signIn(id, id === "stranger" ? "org2" : "org1")
  }
})
afterEach(() => estate.close())

/** A session whose id is that of its user. */
const signIn = (id: string, orgId: string) =>
  estate.step((tx) => {
    const data = { userId: id, agentId: `browser of ${id}` }
    tx.append(session, id, [{ type: "session.added", data }], orgId)
    const version = { passwordVersion: passwordVersion(estate.cx(), id) }
    tx.append(session, id, [{ type: "session.password.checked", data: version }])
  })

const listed = async (who: Person, ...queries: readonly object[]) => {
  const request = { queries: queries.map((query) => ({ query })), query: { asc: true } }
  const { sessions, details } = await estate.as(who, "listSessions", request)
  expect(details.totalResult).toBe(BigInt(sessions.length))
  return sessions
}
const ids = async (who: Person, ...queries: readonly object[]) =>
  (await listed(who, ...queries)).map(({ id }: { id: string }) => id)

test("a session tells who is signed in, where, since when and until when", async () => {
  const [shown] = await listed("owner", { case: "userIdQuery", value: { id: "stranger" } })
  const now = estate.clock.now()
  expect(shown).toMatchObject({
    ...{ id: "stranger", sequence: 2n, userAgent: { fingerprintId: "browser of stranger" } },
    factors: {
      user: { id: "stranger", displayName: "stranger Person", organizationId: "org2" },
    },
  })
  expect(timestampMs(shown.creationDate)).toBe(now)
  expect(timestampMs(shown.factors.password.verifiedAt)).toBe(now)
  expect(timestampMs(shown.expirationDate)).toBe(now + lifetimes.session)
})

test("sessions are seen by whoever may, where they may, and by oneself", async () => {
  expect(await ids("owner")).toEqual(["owner", "manager", "stranger"])
  expect(await ids("stranger")).toEqual(["stranger"])
  expect(await ids("nobody")).toEqual([])
  await signIn("nobody", "org1")
  expect(await ids("nobody")).toEqual(["nobody"])
})

test("sessions are found by all that a query may say", async () => {
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
    ...[["manager"], ["stranger"], ["manager", "stranger"]],
    ...[["owner"], ["owner", "manager"]],
  ])
  const expirationDate = timestampFromMs(estate.clock.now() + lifetimes.session - 1)
  expect(await by("expirationDateQuery", { expirationDate, method: 1 })).toEqual(["stranger"])
  for (const query of [{}, { case: "creationDateQuery", value: { method: 1 } }]) {
    await expect(ids("owner", query)).rejects.toMatchObject({ id: "search.filter_empty" })
  }
})

test("a session that is ended is worth nothing, is gone from lists, and ends once", async () => {
  expect(sessionNow(estate.cx(), "manager")).toBeDefined()
  const { details } = await estate.as("owner", "deleteSession", { sessionId: "manager" })
  expect(details.resourceOwner).toBe("org1")
  expect(sessionNow(estate.cx(), "manager")).toBeUndefined()
  expect(await ids("owner")).toEqual(["owner", "stranger"])
  for (const who of ["owner", "manager"] as const) {
    const read = estate.as(who, "getSession", { sessionId: "manager" })
    await expect(read).rejects.toMatchObject({ code: "not_found", id: "session.missing" })
  }
  const before = estate.store.log.durable()
  await estate.as("owner", "deleteSession", { sessionId: "manager" })
  expect(estate.store.log.durable()).toBe(before)
})

test("a session of others is as if it were not there, and of those above stays", async () => {
  const end = async (who: Person, sessionId: string) =>
    estate.as(who, "deleteSession", { sessionId })
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

test("of a person who is gone a session is gone", async () => {
  await removeUser(estate.cx(), "manager")
  const tried = async () => estate.as("owner", "deleteSession", { sessionId: "manager" })
  await expect(tried()).rejects.toMatchObject({ id: "session.missing" })
})
