import { readFileSync } from "node:fs"
import { createElement } from "react"
import { describe, expect, it } from "vitest"
import { pageLanguages } from "../../src/kernel/text/language.ts"
import * as login from "../../ui/login/index.ts"
import { loginSamples, unloaded } from "../support/login-sample.tsx"

const form = { action: "/ui/login/here", csrf: "csrf-value", authRequest: "request-1" }
const hostile = `"><script>alert(1)</script>`
const account = { displayName: hostile, loginName: "ada@example.org" }
const assets = unloaded

const rendered = pageLanguages.flatMap((language) =>
  Object.entries(loginSamples(language, hostile)).map(([name, page]) => ({
    name: `${language} ${name}`,
    language,
    html: login.renderPage(page),
  })),
)

describe("every login page", () => {
  it("has a sample here", () => {
    const shown = new Set(Object.values(loginSamples("en", hostile)).map(({ type }) => type))
    const pages = Object.entries(login).filter(([name]) => /^[A-Z]\w*Page$/.test(name))
    expect(pages.filter(([, page]) => !shown.has(page as never)).map(([name]) => name)).toEqual([])
  })

  it.each(rendered)("$name is a whole document in its language", ({ html, language }) => {
    expect(html).toMatch(/^<!DOCTYPE html><html lang/)
    expect(html).toContain(`<html lang="${language}">`)
    expect(html).toMatch(/<title>[^<]+ · Latchkey<\/title>/)
    expect(html).toContain(`name="viewport"`)
    expect(html.match(/<h1>/g)).toHaveLength(1)
  })

  it.each(rendered)("$name carries nothing inline that its CSP would refuse", ({ html }) => {
    expect(html).not.toMatch(/<[^>]+\sstyle=/)
    expect(html).not.toMatch(/<style/)
    expect(html).not.toMatch(/<[^>]+\son[a-z]+=/)
    const scripts = html.match(/<script[^>]*>[^<]*/g) ?? []
    expect(scripts).toEqual([`<script src="${assets.pageJs}">`])
    expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\/(?!id\.example\.org)/)
  })

  it.each(rendered)("$name escapes what others named", ({ html }) => {
    expect(html).not.toContain("<script>alert")
  })

  it.each(rendered)("$name ties each label and note to its control", ({ html }) => {
    const ids = new Set([...html.matchAll(/\sid="([^"]+)"/g)].map((match) => match[1]))
    for (const [, id] of html.matchAll(/\s(?:for|aria-describedby|aria-controls)="([^"]+)"/g))
      for (const each of id?.split(" ") ?? []) expect(ids).toContain(each)
  })
})

it("every class of a login page has a rule in the stylesheet that those pages have", () => {
  const [, ...parts] = readFileSync("ui/kit/kit.css", "utf8").split(/@import "\.\/(?=\w)/)
  // What an instance says of its look is put together by a program.
  const files = [...parts.map((part) => part.split('"')[0]), "branding.ts"]
  const sheets = files.map((file) => readFileSync(`ui/kit/${file}`, "utf8")).join("")
  const named = rendered.flatMap(({ html }) => [...html.matchAll(/\sclass="([^"]+)"/g)])
  const classes = new Set(named.flatMap(([, names = ""]) => names.split(" ")))
  expect(classes.size).toBeGreaterThan(20)
  const isRuled = (name: string) => new RegExp(`\\.${name}(?![\\w-])`).test(sheets)
  expect([...classes].filter((name) => !isRuled(name))).toEqual([])
})

describe("forms", () => {
  const html = (name: string) =>
    rendered.find((page) => page.name === `en ${name}`)?.html ?? `no page ${name}`

  it("post with the csrf value and the auth request, without any script", () => {
    const invites = [
      "invite",
      "inviteWrong",
      "linkPassword",
      "reset",
      "resetWrong",
      "verify_email",
      "forgot",
    ]
    const others = ["loginName", "password", "passwordChange", "account", "logout", "setup"]
    for (const name of [...invites, ...others]) {
      expect(html(name)).toContain(`action="/ui/login/here" method="post"`)
      expect(html(name)).toContain(`name="csrf" value="csrf-value"`)
      expect(html(name)).toContain(`name="authRequest" value="request-1"`)
      expect(html(name)).toContain(`type="submit"`)
    }
  })

  it("name the fields so that password managers understand them", () => {
    expect(html("loginName")).toMatch(/autoComplete="username[^>]*name="loginName"/i)
    expect(html("password")).toMatch(/name="loginName"[^>]*ada@example\.org/)
    expect(html("password")).toMatch(/autoComplete="current-password"/i)
    expect(html("setup")).toMatch(/autoComplete="new-password"/i)
    expect(html("passwordChange")).toMatch(/name="loginName"[^>]*ada@example\.org/)
    expect(html("passwordChange").match(/autoComplete="new-password"/gi)).toHaveLength(2)
    expect(html("linkPassword")).toMatch(/name="loginName"[^>]*ada@example\.org/)
    expect(html("linkPassword").match(/autoComplete="new-password"/gi)).toHaveLength(2)
  })

  it("announce an error beside its field", () => {
    expect(html("password")).toMatch(/aria-invalid="true"/)
    expect(html("password")).toMatch(/class="field-error"[^>]*role="alert"/)
  })

  it("say what the application will learn before anything is typed", () => {
    expect(html("loginName")).toContain("will receive: your user ID and your name.")
    expect(html("loginName")).toContain("It keeps this access when you are not signed in.")
  })

  it("keep a set-up code that was right when another field was wrong", () => {
    const rules = { minLength: 15, hasUppercase: false, hasLowercase: false }
    const base = {
      ...login.translator(["en"]),
      assets,
      form,
      seenUrl: "http://localhost",
      rules: { ...rules, hasNumber: false, hasSymbol: false },
    }
    const again = { token: "code-1" }
    const kept = login.renderPage(createElement(login.SetupPage, { ...base, values: again }))
    expect(kept).toContain(`<input type="hidden" name="token" value="code-1"/>`)
    const wrong = { ...base, values: again, errors: { token: "Wrong." } }
    const asked = login.renderPage(createElement(login.SetupPage, wrong))
    expect(asked).not.toContain("code-1")
    expect(asked).toContain("Wrong.")
  })
})

describe("the question whether an application may in", () => {
  const application = { name: "Wiki", learns: ["identity", "manage"] as const }
  const base = { ...login.translator(["en"]), assets, form, account, changeHref: "/o" }

  it("is not the small print of its page, and its weightiest part least of all", () => {
    const projects = [{ id: "1", name: "Payroll", organization: "Globex" }]
    const asked = { ...base, session: "1", application, projects, apis: [] }
    const html = login.renderPage(createElement(login.ConsentPage, asked))
    expect(html).toContain(`<div class="learns learns-question">`)
    expect(html).toMatch(
      /<p class="learns-most">It can manage this Latchkey instance on your behalf/,
    )
    expect(html).toContain(
      `<p class="learns-most">It can access “Payroll” of Globex on your behalf.`,
    )
  })

  it("names each API with what its scopes allow; a scope without a name as it is", () => {
    const scopes = [
      { scope: "pay:read", name: "Read payslips", description: "Of all years" },
      { scope: "pay:<b>", name: "", description: "" },
    ]
    const apis = [{ id: "2", name: "Payslips", organization: "Initech", scopes }]
    const asked = { ...base, session: "1", application, projects: [], apis }
    const html = login.renderPage(createElement(login.ConsentPage, asked))
    expect(html).toContain("It can access “Payslips” of Initech:")
    expect(html).toMatch(/<li[^>]*>Read payslips<p class="quiet">Of all years<\/p><\/li>/)
    expect(html).toMatch(/<li[^>]*><code>pay:&lt;b&gt;<\/code><\/li>/)
  })
})
