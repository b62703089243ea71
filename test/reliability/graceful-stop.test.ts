import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { temporaryFolder } from "../support/latchkey.ts"
import {
  type Client,
  type Deed,
  isAcknowledged,
  newJournal,
  perform,
  startLoad,
} from "../support/load.ts"
import { pause, until } from "../support/wait.ts"
import { audit } from "./audit.ts"
import { openHouse } from "./house.ts"
import { aftermath } from "./kill-loop/aftermath.ts"

/** Passwords to hash: each keeps the server busy for long enough to be stopped meanwhile. */
const inFlight = 24

describe("stopped by SIGTERM under load (R-27)", () => {
  const folder = temporaryFolder()
  const journal = newJournal()
  let outcome: {
    readonly code: number | null
    readonly ms: number
    readonly unanswered: number
    readonly finished: number
    readonly half: readonly Deed[]
    readonly complaints: readonly string[]
  }

  beforeAll(async () => {
    const house = await openHouse(folder.path)
    const server = await house.start()
    const client = await house.client()
    const changes = await people(client)
    const load = startLoad(client, journal, { name: "load" })
    await until(() => journal.answers.size > changes.length + 100, { limitMs: 60_000 })
    let stopped = false
    let finished = 0
    const answers = changes.map(async (deed) => {
      journal.sent.push(deed)
      const reply = await perform(client, deed).catch(() => undefined)
      if (reply) journal.answers.set(deed, reply)
      if (stopped) finished++
    })
    await pause(100, "the stop must come in the middle of the work, and nothing signals that")
    const began = performance.now()
    stopped = true
    const code = await server.stop()
    const ms = performance.now() - began
    await Promise.all([load.ended, ...answers])
    const unanswered = changes.filter((deed) => !isAcknowledged(journal, deed)).length
    const again = await house.start()
    const half = await repeatUnanswered(await house.client())
    const complaints = await aftermath(client, journal)
    await again.stop()
    const found = [...complaints, ...(await audit(house.file))]
    outcome = { code, ms, unanswered, finished, half, complaints: found }
  }, 240_000)
  afterAll(() => folder.remove())

  /** People whose passwords are about to change. */
  async function people(client: Client): Promise<readonly Deed[]> {
    const ids = Array.from({ length: inFlight }, (_, at) => `flying-${at}`)
    for (const id of ids) {
      const deed = { kind: "user", id, name: id } as const
      journal.sent.push(deed)
      journal.answers.set(deed, await perform(client, deed))
    }
    return ids.map((id) => ({ kind: "password", id, password: `Flying-pass-${id}` }))
  }

  /** A connection may close on a request that nobody has read; then nothing of it was done. */
  async function repeatUnanswered(client: Client): Promise<readonly Deed[]> {
    const half: Deed[] = []
    for (const deed of journal.sent.filter((each) => !journal.answers.has(each))) {
      const reply = await perform(client, deed)
      journal.answers.set(deed, reply)
      if (reply.status !== 200) half.push(deed)
    }
    return half
  }

  test("it ends by itself in time, with exit code 0", () => {
    expect(outcome.code).toBe(0)
    expect(outcome.ms).toBeLessThan(10_000)
  })

  test("requests that were in flight are answered", () => {
    expect(outcome.finished).toBeGreaterThan(0)
    expect(outcome.unanswered).toBe(0)
  })

  test("a request without an answer was not begun, and can be made again", () => {
    expect(outcome.half).toEqual([])
  })

  test("what was acknowledged is there, the rest wholly or not at all", () => {
    expect(journal.answers.size).toBeGreaterThan(100)
    expect(outcome.complaints).toEqual([])
  })
})
