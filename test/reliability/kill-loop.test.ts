import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { temporaryFolder } from "../support/latchkey.ts"
import {
  createSingleUseAssertion,
  newJournal,
  type Reply,
  sendWrite,
  type WriteRequest,
} from "../support/load.ts"
import { openFamilies } from "../support/token-family.ts"
import { checkAftermath } from "./kill-loop/aftermath.ts"
import { type KillLoopResult, runKillLoop } from "./kill-loop/loop.ts"
import { openServerFolder } from "./server-folder.ts"

const rounds = 20

describe(`killed ${rounds} times under load (R-01)`, () => {
  const folder = temporaryFolder()
  let outcome: KillLoopResult
  beforeAll(async () => {
    outcome = await runKillLoop(folder.path, rounds)
  })
  afterAll(() => folder.remove())

  test("it was under load, and some requests were interrupted", () => {
    // The number depends on the load of the machine.
    expect(outcome.acknowledged).toBeGreaterThan(rounds * 5)
    expect(outcome.unanswered).toBeGreaterThan(rounds)
  })

  test("acknowledged writes are present, others completely or not at all", () => {
    expect(outcome.complaints).toEqual([])
  })

  test("it is ready again in less than two seconds", () => {
    expect(outcome.readyMs).toHaveLength(rounds)
    // Other processes may delay a start once or twice.
    const slowest = outcome.readyMs.toSorted((a, b) => b - a)
    expect(slowest[2]).toBeLessThan(2000)
  })
})

/** A server that acknowledges and forgets, writes partially, or accepts an assertion twice. */
describe("a server that breaks its promises is detected, so this test can fail", () => {
  const folder = temporaryFolder()
  afterAll(() => folder.remove())

  test("for each kind of promise", async () => {
    const house = await openServerFolder(folder.path)
    const server = await house.start()
    const client = await house.client()
    const yes: Reply = { status: 200, body: { access_token: "" }, position: 1, requestId: "" }
    const forgotten: readonly WriteRequest[] = [
      { kind: "user", id: "gone", name: "gone" },
      { kind: "project", id: "gone-project", name: "gone" },
      { kind: "app", id: "gone-app", projectId: "gone-project", name: "gone" },
      { kind: "token", assertion: await createSingleUseAssertion(client) },
    ]
    const { clientId, next } = await openFamilies(client)
    const [kept, lost] = [await next(), await next()]
    const known: WriteRequest = { kind: "user", id: "known", name: "known" }
    await sendWrite(client, known)
    const rename: WriteRequest = { kind: "rename", id: "known", name: "never renamed" }
    const password: WriteRequest = { kind: "password", id: "known", password: "Never-set-1" }
    const journal = newJournal()
    for (const deed of [...forgotten, known, rename, password]) {
      journal.sent.push(deed)
      journal.answers.set(deed, yes)
    }
    // One is reported as replaced but valid; one is unknown.
    for (const [token, given] of [
      [kept, kept],
      [lost, "nobody's"],
    ] as const) {
      const deed: WriteRequest = { kind: "refresh", clientId, token }
      journal.sent.push(deed)
      journal.answers.set(deed, { ...yes, body: { refresh_token: given } })
    }
    const complaints = await checkAftermath(client, journal)
    await server.stop()
    expect([...complaints].sort()).toEqual([
      "a family whose token came twice got 200",
      "a replaced refresh token got 200",
      "a replaced refresh token got 200",
      "a used assertion got 200",
      "an acknowledged refresh token is refused with 400",
      "an acknowledged token is refused with 401",
      "app gone-app was acknowledged and is lost",
      "password known was acknowledged, yet the former password counts",
      "project gone-project was acknowledged and is lost",
      "user gone is found as []",
      "user gone was acknowledged and is lost",
      expect.stringMatching(/^user known is there, but not whole/),
    ])
  })
})
