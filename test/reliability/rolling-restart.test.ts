// Rolling restarts of two nodes under load, behind load balancers that repeat no request.
import { describe, expect, test } from "vitest"
import { temporaryFolder } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"
import { rollNodes } from "./nodes/rolling.ts"

describe.runIf(needs("postgres") && needs("haproxy"))("two nodes, restarted in turn", () => {
  test.each(["haproxy", "plain"] as const)(
    "no call is interrupted in three rolling restarts behind %s, and nothing is lost",
    async (balancer) => {
      const folder = temporaryFolder()
      try {
        const outcome = await rollNodes(folder.path, { rounds: 3, balancer })
        expect([...outcome.interrupted]).toEqual([])
        expect(outcome.lost).toEqual([])
        expect(outcome.answered).toBeGreaterThan(300)
        expect(outcome.slowestStopMs).toBeGreaterThan(3000)
        expect(outcome.slowestStopMs).toBeLessThan(10_000)
        expect(outcome.output).toContain(
          "because the server is stopping; serving requests for " + "another 3 s",
        )
      } finally {
        folder.remove()
      }
    },
    300_000,
  )
})
