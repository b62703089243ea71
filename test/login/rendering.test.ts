// A page contains the texts of the browser and of its user, escaped.

import { escapeHTML } from "bun"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { LoginNamePage, PasswordPage, renderPage, translator } from "../../ui/login/index.ts"
import { authorizePath, browserOf, openProvider, type Provider } from "../oauth/provider.ts"

const assets = { css: "/a.css", pageJs: "/a.js", icon: "/a.svg" }
const shared = { ...translator(["en"]), assets }
const csrfs = ["A8-8zI.jH_xqwertz", "B7.uu-qqASDFGHJ", "password", `"><b>"><b>`, "$& $1 $$"]

describe("a page that names a person", () => {
  const pageOf = (displayName: string, loginName: string, csrf: string) => {
    const form = { action: "/password", csrf, authRequest: "198679147315200015" }
    const account = { displayName, loginName }
    const forgotHref = `/forgot?as=${encodeURIComponent(csrf)}&of=1`
    return renderPage(PasswordPage({ ...shared, account, changeHref: "/change", form, forgotHref }))
  }

  test.each([
    ["Ada Lovelace", "ada@acme.localhost"],
    ["ada", "ada"],
    ["A", "A"],
    [`"><script>alert('1')</script>&amp;`, "it's <b>"],
    ["k0123456789k0x", "k0123456789k1x"],
    ["$& $1 $$", "password"],
    ["Zoë Übermut", "Sign in"],
    ["長い 名前", "\u202Eevil"],
  ])("contains %j, %j and each form token", (displayName, loginName) => {
    for (const csrf of csrfs) {
      const page = pageOf(displayName, loginName, csrf)
      expect(page).toContain(`name="csrf" value="${escapeHTML(csrf)}"`)
      expect(page).toContain(`name="loginName" value="${escapeHTML(loginName)}"`)
      expect(page).toContain(`>${escapeHTML(displayName)}</bdi>`)
      expect(page).toContain(`href="/forgot?as=${escapeHTML(encodeURIComponent(csrf))}&amp;of=1"`)
      expect(page).not.toMatch(/<script>|<b>/)
    }
  })

  test("contains no other user's data", () => {
    pageOf("Grace Hopper", "grace@acme.localhost", "A8-8zI.jH_xqwertz")
    const page = pageOf("Alan Turing", "alan@acme.localhost", "B7.uu-qqASDFGHJ")
    expect(page).toContain("Alan Turing")
    expect(page).not.toMatch(/race|A8-8zI/)
  })
})

describe("a page that names an application", () => {
  test.each([
    ["another browser's token", "Wiki", "A8-8zI.jH_xqwertz"],
    ["a name that is a page of its own", `"><script>1</script>&{}`, "CCCCCCCCCCCCC"],
    ["a token that is the name", "Wiki-Wiki-Wiki", "Wiki-Wiki-Wiki"],
    ["a token like a pattern", "a.b.c.d.e.f.g and aXbXcXdXeXfXg", "a.b.c.d.e.f.g"],
    ["a token that is the name of a field", "csrf name id", "csrf"],
    ["a token that has to be escaped", "Wiki", `"><b>"><b>`],
  ])("has %s", (_, name, csrf) => {
    const form = { action: "/loginname", csrf, authRequest: "198679147315200015" }
    const application = { name, requestedData: [], isConsole: false }
    const page = renderPage(LoginNamePage({ ...shared, form, application }))
    // In the form and in the cancel form.
    expect(page.split(`name="csrf" value="${escapeHTML(csrf)}"`)).toHaveLength(3)
    expect(page).toContain(escapeHTML(name))
    expect(page).not.toMatch(/<script>|<b>/)
  })
})

describe("the first page", () => {
  let provider: Provider
  beforeEach(async () => {
    provider = await openProvider()
  })
  afterEach(() => provider.close())

  test("contains each browser's own texts, and no others", async () => {
    const { id } = await provider.addClient()
    const pages: string[] = []
    for (let count = 0; count < 3; count += 1) {
      pages.push((await browserOf(provider).go(authorizePath(id))).page)
    }
    const valuesOf = (name: string) =>
      pages.map((page) => new RegExp(`name="${name}" value="([^"]+)"`).exec(page)?.[1])
    for (const name of ["csrf", "authRequest"]) expect(new Set(valuesOf(name)).size).toBe(3)
    const own = / value="[^"]*"|challenge&quot;:&quot;[\w-]+|authRequest=\d+/g
    const bare = pages.map((page) => page.replaceAll(own, ""))
    const challenges = pages.map((page) => /challenge&quot;:&quot;([\w-]+)/.exec(page)?.[1])
    expect(new Set(challenges).size).toBe(3)
    expect(bare.slice(1)).toEqual(bare.slice(0, -1))
  })
})
