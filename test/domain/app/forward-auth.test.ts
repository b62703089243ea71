import { describe, expect, test } from "vitest"
import {
  type AccessRule,
  isAtOrBelow,
  proxiedOrigins,
  rulesFor,
  satisfiesRule,
  validateAccessRules,
} from "../../../src/domain/app/forward-auth.ts"

const rule = (prefix: string, ...roles: string[]): AccessRule => ({
  prefix,
  everybody: false,
  roles,
})
const open = (prefix: string): AccessRule => ({ prefix, everybody: true, roles: [] })
const rules = [rule("/admin", "admin"), open("/public/"), rule("/public/drafts", "editor")]

const prefixesFor = (target: string, of = rules) => rulesFor(of, target).map(({ prefix }) => prefix)

describe("the rules that a request must satisfy", () => {
  test.each([
    ["/", ["/"]],
    ["/elsewhere?next=/public/", ["/"]],
    ["/admin", ["/admin"]],
    ["/admin/users", ["/admin"]],
    ["/public/logo.svg", ["/public/"]],
    ["/public", ["/"]],
    ["/public/drafts/1", ["/public/drafts"]],
    ["/%61dmin", ["/admin"]],
  ])("%s: the longest prefix decides", (target, expected) => {
    expect(prefixesFor(target)).toEqual(expected)
  })

  test.each([
    ["/publicity", false],
    ["/public.json", false],
    ["/PUBLICity", false],
    ["/public", true],
    ["/public/", true],
    ["/public/x?y", true],
  ])("%s: a public path matches whole segments only", (target, isOpen) => {
    const found = rulesFor([open("/public")], target)
    expect(found.every(({ everybody }) => everybody)).toBe(isOpen)
  })

  test("a path that starts with the characters of a rule satisfies that rule, too", () => {
    expect(prefixesFor("/admin.json")).toEqual(["/", "/admin"])
    const nested = [rule("/", "staff"), rule("/team", "team")]
    expect(prefixesFor("/teamwork", nested)).toEqual(["/", "/team"])
  })

  test("a path that ends with * matches every path with this prefix", () => {
    const wide = [open("/public*"), rule("/public/drafts", "editor")]
    for (const target of ["/public", "/publicity", "/public/x", "/public.json"]) {
      expect(prefixesFor(target, wide), target).toEqual(["/public*"])
    }
    expect(prefixesFor("/public/drafts/1", wide)).toEqual(["/public/drafts"])
    expect(prefixesFor("/publi", wide)).toEqual(["/"])
  })

  test.each([["/Admin"], ["/ADMIN/users"]])(
    "%s: spellings that some servers treat as equal match",
    (target) => {
      expect(prefixesFor(target)).toEqual(["/", "/admin"])
    },
  )

  test("a public path in another case is not public", () => {
    const isOpen = rulesFor(rules, "/PUBLIC/x").every(({ everybody }) => everybody)
    expect(isOpen).toBe(false)
  })

  test.each([
    ["/public/../admin"],
    ["/public/%2e%2e/admin"],
    ["/public/.%2E/admin"],
    ["/public/./x"],
    ["/public/.."],
    ["/public//admin"],
    ["//admin"],
    ["/public/%2Fadmin"],
    ["/public/..%2fadmin"],
    ["/public/..%5cadmin"],
    ["/public/..\\admin"],
    ["/public/%252e%252e/admin"],
    ["/public/;/../admin"],
    ["/admin;x=1"],
    ["/public/%00"],
    ["/public/%ff"],
    ["/public/%zz"],
    ["/public/%3f"],
    ["/public/#/../../admin"],
    ["public/"],
    [""],
  ])("%s: an ambiguous path must satisfy every reading", (target) => {
    expect(rulesFor(rules, target)).toHaveLength(rules.length + 1)
  })

  test("an ambiguous path accepts tokens only if every reading does", () => {
    const api = { ...rule("/api"), accessTokens: true }
    const whole = { ...rule("/"), accessTokens: true }
    const accepts = (rules: readonly AccessRule[], target = "/api/group%2Fproject") =>
      rulesFor(rules, target).every(({ accessTokens }) => accessTokens)
    expect(accepts([api], "/api/group")).toBe(true)
    expect(accepts([api])).toBe(false)
    expect(accepts([whole, rule("/admin")])).toBe(false)
    expect(accepts([whole, api])).toBe(true)
  })

  test("a rule for the whole host replaces the default", () => {
    expect(rulesFor([rule("/", "staff")], "/x")).toEqual([rule("/", "staff")])
  })
})

test("one of the roles suffices, and none is required if the rule has none", () => {
  expect(satisfiesRule(["b"], rule("/", "a", "b"))).toBe(true)
  expect(satisfiesRule(["c"], rule("/", "a", "b"))).toBe(false)
  expect(satisfiesRule([], rule("/"))).toBe(true)
  expect(satisfiesRule([], open("/"))).toBe(true)
})

test.each([
  ["a path that begins elsewhere", [rule("admin")]],
  ["a path with a dot segment", [rule("/a/../b")]],
  ["an encoded path", [rule("/%61")]],
  ["a query", [rule("/a?b")]],
  ["a path twice", [rule("/a"), rule("/a", "x")]],
  ["everybody and roles", [{ ...rule("/a", "x"), everybody: true }]],
  ["an empty role", [rule("/a", "")]],
  ["too many", Array.from({ length: 101 }, (_, at) => rule(`/${at}`))],
])("rejects %s", (_, input) => {
  expect(() => validateAccessRules(input)).toThrow("forward_auth")
})

test.each([
  ["https://a.test/api", "/api", true],
  ["https://a.test/api", "/api/x?y=/../", true],
  ["https://a.test/api/", "/api/x", true],
  ["https://a.test/a%20b", "/a%20b/x", true],
  ["https://a.test", "/group%2Fproject", true],
  ["https://a.test/api", "/apis", false],
  ["https://a.test/api", "/API/x", false],
  ["https://a.test/api", "/api/../admin", false],
  ["https://a.test/api", "/api%2Fx", false],
  ["https://a.test/api/", "/api", false],
  ["https://a.test/a%2Fb", "/a/b", false],
  ["https://a.test/api*", "/apis", false],
  ["https://a.test/?tenant=1", "/x", false],
] as const)("%s and a request for %s: at or below is %s", (uri, target, expected) => {
  expect(isAtOrBelow(new URL(uri), target)).toBe(expected)
})

test("protects only the hosts of forward auth callbacks", () => {
  const redirectUris = [
    "https://app.example.com/callback",
    "https://wiki.example.com:8443/.latchkey/callback",
    "com.example.app:/.latchkey/callback",
  ]
  const hosts = proxiedOrigins({ redirectUris }).map(({ host }) => host)
  expect(hosts).toEqual(["wiki.example.com:8443"])
})
