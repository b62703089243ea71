// What a program that blocks addresses reads of failed sign-ins.
import { configure, getLogger, type LogRecord, reset } from "@logtape/logtape"
import { afterEach, beforeEach, expect, test } from "vitest"
import { type ManualClock, manualClock } from "../../src/kernel/clock.ts"
import { failedSignInLog } from "../../src/server/refusal-log.ts"
import type { OpenOptions } from "../../src/store/index.ts"

type Appended = Parameters<NonNullable<OpenOptions["appended"]>>[0]

let records: LogRecord[]
let clock: ManualClock
beforeEach(async () => {
  records = []
  clock = manualClock(0)
  await configure({
    reset: true,
    sinks: { here: (record) => void records.push(record) },
    loggers: [
      { category: "failed", lowestLevel: "info", sinks: ["here"] },
      { category: ["logtape", "meta"], sinks: [] },
    ],
  })
})
afterEach(() => reset())

const logged = () => records.map(({ rawMessage, properties }) => [rawMessage, properties])
const event = (more: Partial<Appended[number]>): Appended[number] => ({
  instance: "i1",
  stream: "password_check",
  id: "u1 device:phone",
  version: 1,
  revision: 2,
  type: "user.human.password.check.failed",
  data: {},
  time: 0,
  owner: "",
  erase: null,
  editor: { user: "", client: "" },
  correlation: "r1",
  private: { address: "203.0.113.7", userAgent: "curl" },
  ...more,
})

test("the address, what was wrong and the ID of the user, no name and no browser", () => {
  const log = failedSignInLog(getLogger("failed"), clock)
  const unknown = { address: "", userAgent: "" }
  log.appended([
    event({}),
    event({ stream: "factor_check", id: "u2", type: "user.human.mfa.otp.check.failed" }),
    event({ private: unknown }),
    event({ private: null }),
    event({ type: "user.human.password.check.succeeded" }),
  ])
  log.stranger("2001:db8::1")
  const line = "failed sign-in from {address}: {check} of user {userId}"
  const from = { address: "203.0.113.7", requestId: "r1" }
  expect(logged()).toEqual([
    [line, { ...from, check: "password", userId: "u1" }],
    [line, { ...from, check: "totp", userId: "u2" }],
    ["failed sign-in from {address}: unknown account", { address: "2001:db8::1" }],
  ])
})

test("a flood writes twenty lines a second, and counts the rest", () => {
  const log = failedSignInLog(getLogger("failed"), clock)
  for (let count = 0; count < 50; count++) log.stranger("203.0.113.7")
  expect(records).toHaveLength(20)
  clock.advance(1000)
  log.stranger("203.0.113.7")
  expect(logged().at(-2)).toEqual(["{passedOver} more sign-ins failed", { passedOver: 30 }])
})
