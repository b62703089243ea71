// Months of sign-ins leave a bounded amount of data.
import { afterEach, beforeEach, expect, test } from "vitest"
import * as grants from "../../src/domain/grant/index.ts"
import { passwordCheck } from "../../src/domain/lockout/attempt.ts"
import { signIn } from "../../src/domain/session/commands.ts"
import { endSession, session } from "../../src/domain/session/index.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { aggregates, views } from "../../src/server/modules.ts"
import { human, provision } from "../domain/user/household.ts"
import { openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"
import { dumpViews } from "./audit.ts"

let environment: TestEnvironment
beforeEach(async () => {
  environment = openTestEnvironment({ aggregates, views })
  await provision(cx())
  for (let n = 0; n < userCount; n++) {
    const password = { hash: `hash ${n}`, changeRequired: false }
    await createUser(cx(), `u${n}`, human({ userName: `person${n}`, password }))
  }
})
afterEach(() => environment.close())

const cx = () => environment.cx()
const userCount = 10
const day = 86_400_000

const grantRequest: grants.AuthorizationRequest = {
  clientId: "client",
  appId: "app",
  redirectUri: "https://app.example.com/callback",
  responseMode: "query",
  scopes: ["openid"],
  audience: ["client"],
  prompts: [],
  languages: [],
}

/** One visit: usually a sign-in, sometimes with every other possible consequence. */
async function simulateVisit(count: number): Promise<void> {
  const id = `r${count}`
  const agentId = `browser${count}`
  const userId = `u${count % userCount}`
  await cx().store.transact(cx(), (tx) =>
    grants.addAuthRequest(tx, id, { agentId, asked: grantRequest, loginHint: "" }),
  )
  if (count % 3 === 0) await failPassword(userId)
  if (count % 7 === 0) {
    await cx().store.transact(cx(), (tx) => grants.failRequest(tx, id, "access_denied"))
    return
  }
  const { value: sessionId } = await cx().store.transact(cx(), (tx) => {
    const made = signIn(tx, { agentId, userId, hash: "hash", userAgent: {} })
    grants.completeAuthRequest(tx, id, made)
    return made
  })
  await cx().store.transact(cx(), (tx) => {
    const offline = { lifetimeSeconds: 20 * 86_400, idleLifetimeSeconds: 5 * 86_400 }
    const grantId = grants.exchangeCode(
      tx,
      { id },
      {
        ...grantRequest,
        session: tx.state(session, sessionId),
        accessLifetimeSeconds: 43_200,
        ...(count % 2 === 0 && { offline }),
      },
    )
    if (count % 4 === 0) grants.endGrant(tx, grantId, "revoked")
    if (count % 5 === 0) endSession(tx, sessionId)
    const expires = tx.now + 3_600_000
    grants.recordAssertion(tx, { issuer: userId, jti: `${count}`, expires })
    grants.revokeToken(tx, `token${count}`, expires)
  })
}

const failPassword = (account: string) =>
  cx().store.transact(cx(), (tx) =>
    tx.append(passwordCheck, account, [{ type: "user.human.password.check.failed", data: {} }]),
  )

async function pruneStore(): Promise<void> {
  const now = environment.clock.now()
  const limits = { now, auditedBefore: now - 14 * day, position: Number.MAX_SAFE_INTEGER }
  await environment.store.prune({ ...limits, stopped: () => false })
}

type Size = { readonly events: number; readonly claims: number; readonly pages: number }

function measureSize(): Size {
  const rows = environment.store.database.query<Size, []>(
    `SELECT (SELECT count(*) FROM event) AS events, (SELECT count(*) FROM claim) AS claims,
       (SELECT page_count FROM pragma_page_count) AS pages`,
  )
  return rows.all()[0] ?? { events: 0, claims: 0, pages: 0 }
}

test("a store reaches a constant size, and is emptied when all users stay away", async () => {
  const quiet = measureSize()
  const sizes: Size[] = []
  for (let days = 0; days < 80; days++) {
    for (let count = 0; count < 12; count++) {
      await simulateVisit(days * 12 + count)
      environment.clock.advance(day / 12)
    }
    await pruneStore()
    sizes.push(measureSize())
  }
  const most = (description: keyof Size, from: number, to: number) =>
    Math.max(...sizes.slice(from, to).map((each) => each[description]))
  // Browsers are kept longest: a month. After that the size is constant.
  for (const what of ["events", "claims", "pages"] as const) {
    expect(most(what, 60, 80), what).toBeLessThanOrEqual(most(what, 40, 60) * 1.03)
  }
  const written = environment.store.log.durable()
  expect(sizes.at(-1)?.events).toBeLessThan(written / 3)

  const live = dumpViews(environment.store)
  environment = await environment.reopen(views.map((view) => ({ ...view, hash: "anew" })))
  expect(dumpViews(environment.store)).toEqual(live)

  // The clock of a reopened environment starts at its beginning.
  environment.clock.advance((80 + 60) * day)
  await createUser(cx(), "last", human({ userName: "last" }))
  await pruneStore()
  const left = measureSize()
  expect(left.events - quiet.events).toBeLessThan(5)
  expect(left.claims - quiet.claims).toBeLessThan(5)
  expect(environment.store.log.durable()).toBeGreaterThan(written)
})
