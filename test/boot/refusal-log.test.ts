import { configure, getLogger, type LogRecord, reset } from "@logtape/logtape"
import { afterEach, expect, test } from "vitest"
import { manualClock } from "../../src/kernel/clock.ts"
import { createRejectionLog } from "../../src/server/rejection-log.ts"

afterEach(() => reset())

test("writes at most twenty lines a second about rejected requests, and counts the rest", async () => {
  const records: LogRecord[] = []
  await configure({
    // Another test of the same process may have configured logging.
    reset: true,
    sinks: { here: (record) => void records.push(record) },
    loggers: [
      { category: "refusals", lowestLevel: "info", sinks: ["here"] },
      { category: ["logtape", "meta"], sinks: [] },
    ],
  })
  const clock = manualClock(0)
  const write = createRejectionLog(getLogger("refusals"), clock)
  const refusal = {
    requestId: "1",
    time: 0,
    endpoint: "/oauth/v2/token",
    error: "invalid_client",
    description: "",
    clientId: "nobody",
    findings: [],
  }
  for (let at = 0; at < 1000; at++) write(refusal)
  expect(records).toHaveLength(20)
  clock.advance(1000)
  write(refusal)
  expect(records).toHaveLength(22)
  expect(records[20]?.properties).toEqual({ passedOver: 980 })
})
