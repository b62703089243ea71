import { expect, test } from "vitest"
import { prefersHtml } from "../../src/protocol/accept.ts"

const wantsPageFor = (headers: Record<string, string>, method = "GET") =>
  prefersHtml(new Request("http://localhost/", { method, headers }))

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
])("Accept: %j requests a page: %s", (accept, isWanted) => {
  expect(wantsPageFor({ accept })).toBe(isWanted)
})

test("a client with a token is a program; a proxy password is from a browser", () => {
  const accept = "text/html"
  for (const [authorization, isWanted] of [
    ["Bearer abc", false],
    ["bearer abc", false],
    ["DPoP abc", false],
    ["Basic abc", true],
  ] as const) {
    expect(wantsPageFor({ accept, authorization }), authorization).toBe(isWanted)
  }
  expect(wantsPageFor({ accept }, "POST")).toBe(false)
  expect(wantsPageFor({ accept }, "HEAD")).toBe(true)
})
