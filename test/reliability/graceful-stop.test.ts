import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { temporaryFolder } from "../support/latchkey.ts"
import {
  type Client,
  isAcknowledged,
  newJournal,
  sendWrite,
  startLoad,
  type WriteRequest,
} from "../support/load.ts"
import { pause, until } from "../support/wait.ts"
import { audit } from "./audit.ts"
import { checkAftermath } from "./kill-loop/aftermath.ts"
import { openServerFolder } from "./server-folder.ts"

/** Password changes: each keeps the server busy long enough to be stopped meanwhile. */
const inFlight = 24

describe("stopped by SIGTERM under load (R-27)", () => {
  const folder = temporaryFolder()
  const journal = newJournal()
  let outcome: {
    readonly code: number | null
    readonly ms: number
    readonly unanswered: number
    readonly finished: number
    readonly half: readonly WriteRequest[]
    readonly complaints: readonly string[]
  }

  beforeAll(async () => {
    const house = await openServerFolder(folder.path)
    const server = await house.start()
    const client = await house.client()
    const changes = await people(client)
    const load = startLoad(client, journal, { name: "load" })
    await until(() => journal.answers.size > changes.length + 100, { limitMs: 60_000 })
    let stopped = false
    let finished = 0
    const answers = changes.map(async (deed) => {
      journal.sent.push(deed)
      const reply = await sendWrite(client, deed).catch(() => undefined)
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
    const complaints = await checkAftermath(client, journal)
    await again.stop()
    const found = [...complaints, ...(await audit(house.file))]
    outcome = { code, ms, unanswered, finished, half, complaints: found }
  }, 240_000)
  afterAll(() => folder.remove())

  /** Users whose passwords are about to change. */
  async function people(client: Client): Promise<readonly WriteRequest[]> {
    const ids = Array.from({ length: inFlight }, (_, at) => `flying-${at}`)
    for (const id of ids) {
      const deed = { kind: "user", id, name: id } as const
      journal.sent.push(deed)
      journal.answers.set(deed, await sendWrite(client, deed))
    }
    return ids.map((id) => ({ kind: "password", id, password: `Flying-pass-${id}` }))
  }

  /** A connection may close on an unread request; then none of it was executed. */
  async function repeatUnanswered(client: Client): Promise<readonly WriteRequest[]> {
    const half: WriteRequest[] = []
    for (const deed of journal.sent.filter((each) => !journal.answers.has(each))) {
      const reply = await sendWrite(client, deed)
      journal.answers.set(deed, reply)
      if (reply.status !== 200) half.push(deed)
    }
    return half
  }

  test("it exits in time, with exit code 0", () => {
    expect(outcome.code).toBe(0)
    expect(outcome.ms).toBeLessThan(10_000)
  })

  test("requests in flight are answered", () => {
    expect(outcome.finished).toBeGreaterThan(0)
    expect(outcome.unanswered).toBe(0)
  })

  test("a request without a response was not started, and can be repeated", () => {
    expect(outcome.half).toEqual([])
  })

  test("acknowledged writes are present, others completely or not at all", () => {
    expect(journal.answers.size).toBeGreaterThan(100)
    expect(outcome.complaints).toEqual([])
  })
})
