import { expect, test } from "vitest"
import { wantsPage } from "../../src/protocol/accept.ts"

const asked = (headers: Record<string, string>, method = "GET") =>
  wantsPage(new Request("http://localhost/", { method, headers }))

/** RFC 9110 §12.5.1. */
test.each<[string, boolean]>([
  ["text/html", true],
  ["Text/HTML", true],
  ["text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8", true],
  ["text/html, */*", true],
  ["text/*", true],
  ["application/json;q=0.9, text/html", true],
  ["application/json, text/html;q=0.5", false],
  ["application/json, text/html", false],
  ["application/json, text/plain, */*;q=0.1, text/html;q=0", false],
  ["text/html;q=0", false],
  ["text/html;q=0, text/*", false],
  ["text/html;level=1;Q=0.4, */*;q=0.5", false],
  ["*/*", false],
  ["text/html-sandboxed", false],
  ["", false],
])("a page is wanted by who accepts %j: %s", (accept, isWanted) => {
  expect(asked({ accept })).toBe(isWanted)
})

test("whoever brings a token is a program; a proxy's password is a browser's", () => {
  const accept = "text/html"
  for (const [authorization, isWanted] of [
    ["Bearer abc", false],
    ["bearer abc", false],
    ["DPoP abc", false],
    ["Basic abc", true],
  ] as const) {
    expect(asked({ accept, authorization }), authorization).toBe(isWanted)
  }
  expect(asked({ accept }, "POST")).toBe(false)
  expect(asked({ accept }, "HEAD")).toBe(true)
})
