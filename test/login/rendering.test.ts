// Pages that are rendered once for many browsers are what each would have been shown anyway.
import { createElement, type ReactElement } from "react"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { keeperOf } from "../../src/login/rendering.ts"
import type { PageProps } from "../../ui/login/index.ts"
import { initialsOf, PasswordPage, renderPage, translator } from "../../ui/login/index.ts"
import { authorizePath, browserOf, openProvider, type Provider } from "../oauth/provider.ts"

type Shown = PageProps & { readonly name: string; readonly csrf: string; readonly id?: string }

const assets = { css: "/a.css", pageJs: "/a.js", icon: "/a.svg" }
const shared = { ...translator(["en"]), assets }

/** A page with what is given in a text, an attribute and an address. */
const Page = ({ name, csrf, id = "" }: Shown): ReactElement =>
  createElement(
    ...(["p", { title: name, "data-csrf": csrf }] as const),
    createElement("a", { href: `/next?id=${encodeURIComponent(id)}` }, name, csrf),
  )

describe("a page that is kept", () => {
  let rendered = 0
  const keep = keeperOf((page) => {
    rendered += 1
    return renderPage(page)
  }, "k0123456789k")("en")
  const shownTo = (props: Omit<Shown, keyof PageProps>) =>
    keep({ page: Page, props: { ...shared, ...props }, own: [props.csrf, props.id ?? ""] })
  const anew = (props: Omit<Shown, keyof PageProps>) => renderPage(Page({ ...shared, ...props }))

  test.each([
    [
      "another browser's words",
      { name: "Wiki", csrf: "A8-8zI.jH_xqwertz", id: "198679147315200015" },
    ],
    ["no request", { name: "Wiki", csrf: "B7.uu-qqASDFGHJ" }],
    [
      "a name that is a page of its own",
      { name: `"><script>1</script>&{}`, csrf: "CCCCCCCCCCCCC" },
    ],
    [
      "a word that is in others",
      { name: "x123456789012y", csrf: "123456789012", id: "x123456789012y" },
    ],
    [
      "a word that is the name",
      { name: "Wiki-Wiki-Wiki", csrf: "Wiki-Wiki-Wiki", id: "Wiki-Wiki-Wiki" },
    ],
    ["a word like a pattern", { name: "a.b.c.d.e.f.g and aXbXcXdXeXfXg", csrf: "a.b.c.d.e.f.g" }],
    ["a word that is short", { name: "csrf name id", csrf: "csrf", id: "name" }],
    [
      "a word that would have to be escaped",
      { name: "Wiki", csrf: `"><b>"><b>"><b>"><b>`, id: "1" },
    ],
  ])("is the same with %s", (_, props) => {
    expect(shownTo(props)).toBe(anew(props))
    expect(shownTo(props)).toBe(anew(props))
  })

  test("is rendered once for all who see the same, and again for who does not", () => {
    shownTo({ name: "Shop", csrf: "first-first-first", id: "100000000000001" })
    const before = rendered
    expect(
      shownTo({ name: "Shop", csrf: "second-second-second", id: "200000000000002" }),
    ).toContain('data-csrf="second-second-second"')
    expect(rendered).toBe(before)
    shownTo({ name: "Other shop", csrf: "second-second-second", id: "200000000000002" })
    expect(rendered).toBe(before + 1)
  })
})

describe("a page that is kept for whoever it names", () => {
  let rendered = 0
  const keep = keeperOf((page) => {
    rendered += 1
    return renderPage(page)
  }, "k0123456789k")("en")
  const target = (csrf: string) => ({
    action: "/password",
    csrf,
    authRequest: "198679147315200015",
  })
  const shownTo = (displayName: string, loginName: string, csrf: string) => {
    const account = { displayName, loginName }
    const props = { ...shared, account, changeHref: "/change", form: target(csrf) }
    const naming = (word: (text: string) => string) => ({
      account: {
        displayName: word(displayName),
        loginName: word(loginName),
        initials: word(initialsOf(displayName)),
      },
      forgotHref: word(`/forgot?as=${csrf}&of=1`),
    })
    const own = [csrf, "198679147315200015"]
    return keep({ page: PasswordPage, props, own, naming })
  }
  const anew = (displayName: string, loginName: string, csrf: string) =>
    renderPage(
      PasswordPage({
        ...shared,
        account: { displayName, loginName },
        changeHref: "/change",
        form: target(csrf),
        forgotHref: `/forgot?as=${csrf}&of=1`,
      }),
    )

  test.each([
    ["Ada Lovelace", "ada@acme.localhost"],
    ["ada", "ada"],
    ["A", "A"],
    [`"><script>alert('1')</script>&amp;`, "it's <b>"],
    ["k0123456789k0x", "k0123456789k1x"],
    ["$& $1 $$", "password"],
    ["", "nobody"],
    ["Zoë Übermut", "Sign in"],
    ["長い 名前", "\u202Eevil"],
  ])("says %j, %j as a page of its own does", (displayName, loginName) => {
    for (const csrf of ["A8-8zI.jH_xqwertz", "B7.uu-qqASDFGHJ"]) {
      expect(shownTo(displayName, loginName, csrf)).toBe(anew(displayName, loginName, csrf))
    }
  })

  test("is rendered once, whoever it names", () => {
    shownTo("Grace Hopper", "grace@acme.localhost", "A8-8zI.jH_xqwertz")
    const before = rendered
    const page = shownTo("Alan Turing", "alan@acme.localhost", "B7.uu-qqASDFGHJ")
    expect(rendered).toBe(before)
    expect(page).toContain("Alan Turing")
    expect(page).not.toContain("race")
  })
})

describe("the first page", () => {
  let provider: Provider
  beforeEach(async () => {
    provider = await openProvider()
  })
  afterEach(() => provider.close())

  test("has each browser's own words, and no other's", async () => {
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
