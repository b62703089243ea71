import { resetSync } from "@logtape/logtape"
import { afterEach, expect, test, vi } from "vitest"
import { openLog } from "../../src/boot/logging.ts"

afterEach(() => {
  vi.restoreAllMocks()
  resetSync()
})

/** The output of a log, in this format. */
function logOutput(logFormat: "text" | "json", log: (to: ReturnType<typeof openLog>) => void) {
  const texts: string[] = []
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    texts.push(String(text))
    return true
  })
  log(openLog({ logLevel: "info", logFormat } as never))
  vi.restoreAllMocks()
  return texts.join("")
}

const forgedLine = "2026-01-01 00:00:00.000 +00:00 [ERR] latchkey: forged"

/** Values that might inject a line break. */
const forgeries: Readonly<Record<string, unknown>> = {
  "a short text": `x\n${forgedLine}`,
  "a long text": `${"A".repeat(200)}\n${forgedLine}`,
  "a text of an object": { in: { it: `${"A".repeat(200)}\r\n${forgedLine}` } },
  "the message of an error": new Error(`x\n${forgedLine}`),
  "another line break": new Error(
    `x\r${forgedLine}\u2028${forgedLine}\u0085${forgedLine}\v${forgedLine}\f${forgedLine}`,
  ),
}

test.each(Object.entries(forgeries))("%s starts no line of the log", (_, value) => {
  const text = logOutput("text", (log) => log.warning("it was {value}", { value }))
  const [first = "", ...others] = text.split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/)
  expect(first).toMatch(/^20\d\d-.*\[WRN\] latchkey: it was /)
  expect(others.pop()).toBe("")
  expect(others.filter((other) => !other.startsWith("    "))).toEqual([])

  const [only, ...more] = logOutput("json", (log) => log.warning("it was {value}", { value }))
    .trimEnd()
    .split("\n")
  expect([JSON.parse(only ?? "").level, more]).toEqual(["WARN", []])
})

test("an error is logged with its stack", () => {
  const cause = new Error("it broke")
  const text = logOutput("text", (log) => log.error("failed: {cause}", { cause }))
  expect(text).toMatch(/: failed: .*it broke\n {4,}at .*logging\.test/s)
})
