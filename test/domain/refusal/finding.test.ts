import { describe, expect, test } from "vitest"
import { differenceOf, findingOfUri } from "../../../src/domain/refusal/finding.ts"
import { measureCpu } from "../../support/cpu-time.ts"

const registered = ["https://app.example.com/callback", "https://app.example.com/silent"]
const finding = (received: string, expected: readonly string[] = registered) =>
  findingOfUri("redirect_uri", received, expected)

describe("the likely cause of an unregistered URI", () => {
  test.each([
    ["https://app.example.com/callback/", /slash at the end/],
    ["https://app.example.com/Callback", /uppercase and lowercase/],
    ["http://app.example.com/callback", /one is http|http, the other/i],
    ["https://app.example.com:8443/callback", /Only the port/],
    ["https://www.app.example.com/callback", /www/],
    ["https%3A%2F%2Fapp.example.com%2Fcallback", /percent-encoded/],
    ["https://app.example.com/callback?a=b", /query/],
    ["https://app.example.com/callback#x", /fragment/],
    [" https://app.example.com/callback", /space/],
    ["https://other.example.com/callback", /the host differs/],
    ["https://app.example.com/elsewhere", /The host matches/],
  ])("%s", (received, cause) => {
    expect(finding(received).likelyCause).toMatch(cause)
  })

  test("is another name of this machine", () => {
    const { likelyCause } = finding("http://127.0.0.1:3000/cb", ["http://localhost:3000/cb"])
    expect(likelyCause).toMatch(/localhost/)
  })

  test("is that no URI is registered", () => {
    expect(finding("https://app.example.com", []).likelyCause).toMatch(/no registered redirect_uri/)
  })

  test("is omitted if no registered URI is similar", () => {
    expect(finding("myapp://x").likelyCause).toBeUndefined()
  })
})

describe("the characters that differ", () => {
  test("are between the common prefix and suffix", () => {
    const difference = differenceOf(finding("https://app.example.com/calback"))
    expect(difference).toEqual({ nearest: registered[0], sameStart: 27, sameEnd: 4 })
  })

  test("are counted once if one URI is a prefix of the other", () => {
    const difference = differenceOf(finding("https://app.example.com/callback/"))
    expect(difference).toEqual({ nearest: registered[0], sameStart: 32, sameEnd: 0 })
  })

  test("are those of the most similar URI", () => {
    const others = ["https://app.example.com/c", "https://app.example.com/callback2", ...registered]
    expect(differenceOf(finding("https://app.example.com/calback", others))).toEqual({
      nearest: registered[0],
      sameStart: 27,
      sameEnd: 4,
    })
  })

  test("are empty if there is nothing to compare", () => {
    expect(differenceOf(finding("x", []))).toBeUndefined()
    expect(differenceOf(finding(""))).toBeUndefined()
  })
})

test("long URIs from strangers cost no more than reading them", async () => {
  const expected = Array.from(
    { length: 20 },
    (_, at) => `https://app${at}.example/${"b".repeat(480)}`,
  )
  const [, computedMs] = await measureCpu(() => {
    for (const end of ["a", "/", "%41", ":1", "a.b?"]) {
      for (let times = 0; times < 20; times++) finding(`https://${end.repeat(20_000)}`, expected)
      const shown = finding(`https://app1.example/${end.repeat(500)}`.slice(0, 500), expected)
      for (let times = 0; times < 20; times++) differenceOf(shown)
    }
  })
  // With edit distances it took twenty times as long.
  expect(computedMs).toBeLessThan(2000)
})
