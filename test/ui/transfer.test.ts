// How the console prepares a file of organizations before sending it.
import { describe, expect, test } from "vitest"
import { parseFile, splitIntoRequests } from "../../ui/console/transfer/file.ts"

const acme = { orgId: "acme", org: { name: "Acme" }, humanUsers: [{ userId: "ada" }] }
const home = { orgId: "home", org: { name: "Home" } }

describe("a file of organizations", () => {
  test.each([
    ["lines, as they are exported", `${JSON.stringify(acme)}\r\n\n${JSON.stringify(home)}\n`],
    ["what an export by the interface answers", JSON.stringify({ orgs: [acme, home] }, null, 2)],
    ["what an import by it takes", JSON.stringify({ dataOrgs: { orgs: [acme, home] } })],
  ])("is parsed with %s", (_, text) => {
    expect(parseFile(text)).toEqual({ pieces: [acme, home], invalidLines: [] })
  })

  test("can be one line", () => {
    expect(parseFile(JSON.stringify(acme))).toEqual({ pieces: [acme], invalidLines: [] })
  })

  test.each([
    ["a broken line among others", `${JSON.stringify(acme)}\n{"orgId":\n[]\n`, [acme], [2, 3]],
    ["no organisation", '{"users": []}', [], [1]],
    ["no JSON", "user name;email", [], [1]],
    ["nothing", "", [], []],
  ])("with %s reports the line", (_, text, pieces, invalidLines) => {
    expect(parseFile(text)).toEqual({ pieces, invalidLines })
  })
})

describe("the requests", () => {
  test("are grouped by organization, without losses", () => {
    const pieces = [
      { orgId: "acme", org: { name: "Acme" } },
      home,
      { orgId: "acme", humanUsers: [{ userId: "ada" }] },
      { orgId: "acme", humanUsers: [{ userId: "ben" }] },
    ]
    expect(splitIntoRequests(pieces)).toEqual([
      [{ ...acme, humanUsers: [{ userId: "ada" }, { userId: "ben" }] }, home],
    ])
    expect(splitIntoRequests([])).toEqual([])
  })

  test.each([
    ["letters", 60, { nickName: "x".repeat(20_000) }, 2],
    ["bytes", 60, { nickName: "長".repeat(8000) }, 3],
    ["keys", 400, Object.fromEntries(Array.from({ length: 30 }, (_, at) => [at, at])), 4],
  ])("have at most the allowed number of %s, in the same order", (_, people, profile, parts) => {
    const humanUsers = Array.from({ length: people }, (_, at) => ({ userId: `u${at}`, profile }))
    const sent = splitIntoRequests([{ ...home, humanUsers }])
    expect(sent.length).toBeGreaterThanOrEqual(parts)
    for (const part of sent) {
      const text = JSON.stringify(part)
      expect(Buffer.byteLength(text)).toBeLessThan(1_000_000)
      expect(text.match(/[,:{[]/g)?.length).toBeLessThan(10_000)
    }
    expect(sent.flat().flatMap((each) => each.humanUsers)).toEqual(humanUsers)
    expect(sent[0]?.[0]?.org).toEqual(home.org)
  })
})
