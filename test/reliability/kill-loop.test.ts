import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openFamilies } from "../support/family.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { type Deed, newJournal, perform, type Reply, singleAssertion } from "../support/load.ts"
import { openHouse } from "./house.ts"
import { aftermath } from "./kill-loop/aftermath.ts"
import { type KillLoop, killLoop } from "./kill-loop/loop.ts"

const rounds = 20

describe(`killed ${rounds} times under load (R-01)`, () => {
  const folder = temporaryFolder()
  let outcome: KillLoop
  beforeAll(async () => {
    outcome = await killLoop(folder.path, rounds)
  })
  afterAll(() => folder.remove())

  test("it was under load, and some requests were cut off", () => {
    // How many depends on what else the machine does.
    expect(outcome.acknowledged).toBeGreaterThan(rounds * 5)
    expect(outcome.unanswered).toBeGreaterThan(rounds)
  })

  test("what was acknowledged is there, the rest wholly or not at all", () => {
    expect(outcome.complaints).toEqual([])
  })

  test("it is ready again in less than two seconds", () => {
    expect(outcome.readyMs).toHaveLength(rounds)
    // Others may take the machine once or twice in the midst of a start.
    const slowest = outcome.readyMs.toSorted((a, b) => b - a)
    expect(slowest[2]).toBeLessThan(2000)
  })
})

/** A server that says yes and forgets, half does a thing, or lets an assertion count twice. */
describe("a server that does not keep its word is found out, so this can fail", () => {
  const folder = temporaryFolder()
  afterAll(() => folder.remove())

  test("in each thing that it may have promised", async () => {
    const house = await openHouse(folder.path)
    const server = await house.start()
    const client = await house.client()
    const yes: Reply = { status: 200, body: { access_token: "" }, position: 1, requestId: "" }
    const forgotten: readonly Deed[] = [
      { kind: "user", id: "gone", name: "gone" },
      { kind: "project", id: "gone-project", name: "gone" },
      { kind: "app", id: "gone-app", projectId: "gone-project", name: "gone" },
      { kind: "token", assertion: await singleAssertion(client) },
    ]
    const { clientId, next } = await openFamilies(client)
    const [kept, lost] = [await next(), await next()]
    const known: Deed = { kind: "user", id: "known", name: "known" }
    await perform(client, known)
    const rename: Deed = { kind: "rename", id: "known", name: "never renamed" }
    const password: Deed = { kind: "password", id: "known", password: "Never-set-1" }
    const journal = newJournal()
    for (const deed of [...forgotten, known, rename, password]) {
      journal.sent.push(deed)
      journal.answers.set(deed, yes)
    }
    // One says that it was replaced, and is good all the same; one is nobody's.
    for (const [token, given] of [
      [kept, kept],
      [lost, "nobody's"],
    ] as const) {
      const deed: Deed = { kind: "refresh", clientId, token }
      journal.sent.push(deed)
      journal.answers.set(deed, { ...yes, body: { refresh_token: given } })
    }
    const complaints = await aftermath(client, journal)
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
