// The log lines of failed sign-ins, for programs that block addresses.
import { configure, getLogger, type LogRecord, reset } from "@logtape/logtape"
import { afterEach, beforeEach, expect, test } from "vitest"
import { type ManualClock, manualClock } from "../../src/kernel/clock.ts"
import { createFailedSignInLog } from "../../src/server/rejection-log.ts"
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

const loggedLines = () => records.map(({ rawMessage, properties }) => [rawMessage, properties])
const failedSignIn = (more: Partial<Appended[number]>): Appended[number] => ({
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

test("logs the address, the reason, and the user ID, but no name and no browser", () => {
  const log = createFailedSignInLog(getLogger("failed"), clock)
  const unknown = { address: "", userAgent: "" }
  log.appended([
    failedSignIn({}),
    failedSignIn({ stream: "factor_check", id: "u2", type: "user.human.mfa.otp.check.failed" }),
    failedSignIn({ private: unknown }),
    failedSignIn({ private: null }),
    failedSignIn({ type: "user.human.password.check.succeeded" }),
  ])
  log.unknownAccount("2001:db8::1")
  const line = "failed sign-in from {address}: {check} of user {userId}"
  const from = { address: "203.0.113.7", requestId: "r1" }
  expect(loggedLines()).toEqual([
    [line, { ...from, check: "password", userId: "u1" }],
    [line, { ...from, check: "totp", userId: "u2" }],
    ["failed sign-in from {address}: unknown account", { address: "2001:db8::1" }],
  ])
})

test("writes at most twenty lines a second, and counts the rest", () => {
  const log = createFailedSignInLog(getLogger("failed"), clock)
  for (let count = 0; count < 50; count++) log.unknownAccount("203.0.113.7")
  expect(records).toHaveLength(20)
  clock.advance(1000)
  log.unknownAccount("203.0.113.7")
  expect(loggedLines().at(-2)).toEqual(["{passedOver} more sign-ins failed", { passedOver: 30 }])
})
