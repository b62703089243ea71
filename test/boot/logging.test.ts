import { resetSync } from "@logtape/logtape"
import { afterEach, expect, test, vi } from "vitest"
import { openLog } from "../../src/boot/logging.ts"

afterEach(() => {
  vi.restoreAllMocks()
  resetSync()
})

/** What a log of this format writes. */
function written(logFormat: "text" | "json", log: (to: ReturnType<typeof openLog>) => void) {
  const texts: string[] = []
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    texts.push(String(text))
    return true
  })
  log(openLog({ logLevel: "info", logFormat } as never))
  vi.restoreAllMocks()
  return texts.join("")
}

const line = "2026-01-01 00:00:00.000 +00:00 [ERR] latchkey: forged"

/** Where somebody might get a line break in. */
const forgeries: Readonly<Record<string, unknown>> = {
  "a short text": `x\n${line}`,
  "a long text": `${"A".repeat(200)}\n${line}`,
  "a text of an object": { in: { it: `${"A".repeat(200)}\r\n${line}` } },
  "the message of an error": new Error(`x\n${line}`),
  "another line break": new Error(`x\r${line}\u2028${line}\u0085${line}\v${line}\f${line}`),
}

test.each(Object.entries(forgeries))("%s begins no line of the log", (_, value) => {
  const text = written("text", (log) => log.warning("it was {value}", { value }))
  const [first = "", ...others] = text.split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/)
  expect(first).toMatch(/^20\d\d-.*\[WRN\] latchkey: it was /)
  expect(others.pop()).toBe("")
  expect(others.filter((other) => !other.startsWith("    "))).toEqual([])

  const [only, ...more] = written("json", (log) => log.warning("it was {value}", { value }))
    .trimEnd()
    .split("\n")
  expect([JSON.parse(only ?? "").level, more]).toEqual(["WARN", []])
})

test("an error is shown with where it came from", () => {
  const cause = new Error("it broke")
  const text = written("text", (log) => log.error("failed: {cause}", { cause }))
  expect(text).toMatch(/: failed: .*it broke\n {4,}at .*logging\.test/s)
})
