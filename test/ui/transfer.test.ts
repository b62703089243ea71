// What the console makes of a file of organisations before it sends them.
import { describe, expect, test } from "vitest"
import { partsOf, piecesIn } from "../../ui/console/transfer/file.ts"

const acme = { orgId: "acme", org: { name: "Acme" }, humanUsers: [{ userId: "ada" }] }
const home = { orgId: "home", org: { name: "Home" } }

describe("a file of organisations", () => {
  test.each([
    ["lines, as they are exported", `${JSON.stringify(acme)}\r\n\n${JSON.stringify(home)}\n`],
    ["what an export by the interface answers", JSON.stringify({ orgs: [acme, home] }, null, 2)],
    ["what an import by it takes", JSON.stringify({ dataOrgs: { orgs: [acme, home] } })],
  ])("is read that has %s", (_, text) => {
    expect(piecesIn(text)).toEqual({ pieces: [acme, home], unread: [] })
  })

  test("may be one line", () => {
    expect(piecesIn(JSON.stringify(acme))).toEqual({ pieces: [acme], unread: [] })
  })

  test.each([
    ["a broken line among others", `${JSON.stringify(acme)}\n{"orgId":\n[]\n`, [acme], [2, 3]],
    ["no organisation", '{"users": []}', [], [1]],
    ["no JSON", "user name;email", [], [1]],
    ["nothing", "", [], []],
  ])("with %s says where", (_, text, pieces, unread) => {
    expect(piecesIn(text)).toEqual({ pieces, unread })
  })
})

describe("what is sent", () => {
  test("is put together by organisation, and nothing is lost", () => {
    const pieces = [
      { orgId: "acme", org: { name: "Acme" } },
      home,
      { orgId: "acme", humanUsers: [{ userId: "ada" }] },
      { orgId: "acme", humanUsers: [{ userId: "ben" }] },
    ]
    expect(partsOf(pieces)).toEqual([
      [{ ...acme, humanUsers: [{ userId: "ada" }, { userId: "ben" }] }, home],
    ])
    expect(partsOf([])).toEqual([])
  })

  test.each([
    ["letters", 60, { nickName: "x".repeat(20_000) }, 2],
    ["bytes", 60, { nickName: "長".repeat(8000) }, 3],
    ["keys", 400, Object.fromEntries(Array.from({ length: 30 }, (_, at) => [at, at])), 4],
  ])("has no more %s than a request may have, in the same order", (_, people, profile, parts) => {
    const humanUsers = Array.from({ length: people }, (_, at) => ({ userId: `u${at}`, profile }))
    const sent = partsOf([{ ...home, humanUsers }])
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
