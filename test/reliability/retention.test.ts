// People sign in for months, and what that leaves behind does not grow.
import { afterEach, beforeEach, expect, test } from "vitest"
import * as grants from "../../src/domain/grant/index.ts"
import { passwordCheck } from "../../src/domain/lockout/attempt.ts"
import { signIn } from "../../src/domain/session/commands.ts"
import { endSession, session } from "../../src/domain/session/index.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { aggregates, views } from "../../src/server/modules.ts"
import { human, provision } from "../domain/user/household.ts"
import { openWorld, type World } from "../support/world.ts"
import { dump } from "./audit.ts"

let world: World
beforeEach(async () => {
  world = openWorld({ aggregates, views })
  await provision(cx())
  for (let n = 0; n < people; n++) {
    const password = { hash: `hash ${n}`, changeRequired: false }
    await createUser(cx(), `u${n}`, human({ userName: `person${n}`, password }))
  }
})
afterEach(() => world.close())

const cx = () => world.cx()
const people = 10
const day = 86_400_000

const asked: grants.Requested = {
  clientId: "client",
  appId: "app",
  redirectUri: "https://app.example.com/callback",
  responseMode: "query",
  scopes: ["openid"],
  audience: ["client"],
  prompts: [],
  languages: [],
}

/** One visit: mostly somebody signs in, and everything else that may come of it comes sometimes. */
async function visit(count: number): Promise<void> {
  const id = `r${count}`
  const agentId = `browser${count}`
  const userId = `u${count % people}`
  await cx().store.transact(cx(), (tx) =>
    grants.addAuthRequest(tx, id, { agentId, asked, loginHint: "" }),
  )
  if (count % 3 === 0) await fail(userId)
  if (count % 7 === 0) {
    await cx().store.transact(cx(), (tx) => grants.failRequest(tx, id, "access_denied"))
    return
  }
  const { value: sessionId } = await cx().store.transact(cx(), (tx) => {
    const made = signIn(tx, { agentId, userId, hash: "hash", userAgent: {} })
    grants.answerRequest(tx, id, made)
    return made
  })
  await cx().store.transact(cx(), (tx) => {
    const offline = { lifetimeSeconds: 20 * 86_400, idleLifetimeSeconds: 5 * 86_400 }
    const grantId = grants.exchangeCode(
      tx,
      { id },
      {
        ...asked,
        session: tx.state(session, sessionId),
        accessLifetimeSeconds: 43_200,
        ...(count % 2 === 0 && { offline }),
      },
    )
    if (count % 4 === 0) grants.endGrant(tx, grantId, "revoked")
    if (count % 5 === 0) endSession(tx, sessionId)
    const expires = tx.now + 3_600_000
    grants.spendAssertion(tx, { issuer: userId, jti: `${count}`, expires })
    grants.revokeToken(tx, `token${count}`, expires)
  })
}

const fail = (account: string) =>
  cx().store.transact(cx(), (tx) =>
    tx.append(passwordCheck, account, [{ type: "user.human.password.check.failed", data: {} }]),
  )

async function prune(): Promise<void> {
  const now = world.clock.now()
  const limits = { now, auditedBefore: now - 14 * day, position: Number.MAX_SAFE_INTEGER }
  await world.store.prune({ ...limits, stopped: () => false })
}

type Size = { readonly events: number; readonly claims: number; readonly pages: number }

function size(): Size {
  const rows = world.store.database.query<Size, []>(
    `SELECT (SELECT count(*) FROM event) AS events, (SELECT count(*) FROM claim) AS claims,
       (SELECT page_count FROM pragma_page_count) AS pages`,
  )
  return rows.all()[0] ?? { events: 0, claims: 0, pages: 0 }
}

test("a store levels off, and is empty of visits when nobody comes any more", async () => {
  const quiet = size()
  const sizes: Size[] = []
  for (let days = 0; days < 80; days++) {
    for (let count = 0; count < 12; count++) {
      await visit(days * 12 + count)
      world.clock.advance(day / 12)
    }
    await prune()
    sizes.push(size())
  }
  const most = (what: keyof Size, from: number, to: number) =>
    Math.max(...sizes.slice(from, to).map((each) => each[what]))
  // Browsers stay longest: a month. From then on it is the same every day.
  for (const what of ["events", "claims", "pages"] as const) {
    expect(most(what, 60, 80), what).toBeLessThanOrEqual(most(what, 40, 60) * 1.03)
  }
  const written = world.store.log.durable()
  expect(sizes.at(-1)?.events).toBeLessThan(written / 3)

  const live = dump(world.store)
  world = await world.reopen(views.map((view) => ({ ...view, hash: "anew" })))
  expect(dump(world.store)).toEqual(live)

  // The clock of a world that was opened again stands at its beginning.
  world.clock.advance((80 + 60) * day)
  await createUser(cx(), "last", human({ userName: "last" }))
  await prune()
  const left = size()
  expect(left.events - quiet.events).toBeLessThan(5)
  expect(left.claims - quiet.claims).toBeLessThan(5)
  expect(world.store.log.durable()).toBeGreaterThan(written)
})
