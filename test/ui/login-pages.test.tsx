import { createElement, type ReactElement } from "react"
import { describe, expect, it } from "vitest"
import { pageLanguages } from "../../src/kernel/text/language.ts"
import { problems } from "../../ui/login/error-page.tsx"
import * as login from "../../ui/login/index.ts"

const assets = { css: "/ui/assets/kit.css", pageJs: "/ui/assets/page.js", icon: "/mark.svg" }
const form = { action: "/ui/login/here", csrf: "csrf-value", authRequest: "request-1" }
const hostile = `"><script>alert(1)</script>`
const account = { displayName: hostile, loginName: "ada@example.org" }
const application = { name: hostile, learns: ["identity", "name", "offline"] as const }
const rules = {
  minLength: 10,
  hasUppercase: true,
  hasLowercase: true,
  hasNumber: false,
  hasSymbol: true,
}
const linked = { userId: hostile, code: hostile, organization: hostile, request: hostile }

function pages(language: string): Record<string, ReactElement> {
  const base = { ...login.translator([language]), assets }
  const known = [{ ...account, session: "1", signedIn: false }]
  const setup = { publicUrl: hostile, organization: hostile }
  return {
    loginName: createElement(login.LoginNamePage, { ...base, form, application, error: hostile }),
    password: createElement(login.PasswordPage, {
      ...base,
      form,
      account,
      application,
      changeHref: "/ui/login",
      forgotHref: "/forgot",
      error: hostile,
    }),
    passwordChange: createElement(login.PasswordChangePage, {
      ...base,
      form,
      proof: hostile,
      account,
      changeHref: "/ui/login",
      rules,
      errors: { repeat: hostile },
    }),
    ...Object.fromEntries(
      (["invite", "reset", "verify_email", "verify_phone"] as const).flatMap((kind) => [
        [kind, createElement(login.LinkPage, { ...base, kind, form, linked, onwardHref: "/in" })],
        [
          `${kind}Wrong`,
          createElement(login.LinkPage, {
            ...{ ...base, kind, form, linked },
            ...{ problem: "wrong", onwardHref: "/in" },
          }),
        ],
      ]),
    ),
    linkPassword: createElement(login.LinkPasswordPage, {
      ...{ ...base, form, linked, account, rules },
      ...{ title: hostile, lead: hostile, submit: hostile },
      errors: { password: hostile },
    }),
    forgot: createElement(login.ForgotPage, {
      ...{ ...base, form },
      ...{ loginName: hostile, error: hostile, backHref: "/in" },
    }),
    forgotSent: createElement(login.ForgotSentPage, { ...base, backHref: "/in" }),
    resetDone: createElement(login.DonePage, { ...base, kind: "reset", signInHref: "/in" }),
    verified: createElement(login.DonePage, { ...base, kind: "verify_email", signInHref: "/in" }),
    account: createElement(login.AccountPage, { ...base, form, accounts: known, otherHref: "/o" }),
    consent: createElement(login.ConsentPage, {
      ...base,
      form,
      account,
      session: "1",
      changeHref: "/o",
      application: { ...application, isInDevelopment: true },
      projects: [{ id: "1", name: hostile, organization: hostile }],
      userCode: hostile,
    }),
    barred: createElement(login.BarredPage, {
      ...base,
      form,
      account,
      changeHref: "/o",
      application: hostile,
      bar: "roles",
    }),
    signedIn: createElement(login.SignedInPage, { ...base, account, logoutHref: "/out" }),
    signedOut: createElement(login.SignedOutPage, { ...base, signInHref: "/in" }),
    signingOut: createElement(login.SigningOutPage, {
      ...base,
      frames: [`/out?${hostile}`],
      continueHref: "/ui/login/signedout",
    }),
    logout: createElement(login.LogoutPage, {
      ...base,
      form,
      accounts: [account],
      application: hostile,
      cancelHref: "/",
    }),
    ...Object.fromEntries(
      problems.map((problem) => [
        `error.${problem}`,
        createElement(login.ErrorPage, { ...base, problem, requestId: hostile, detail: hostile }),
      ]),
    ),
    formPost: createElement(login.FormPostPage, {
      ...base,
      action: "https://app.example.org/callback",
      fields: { code: hostile },
      application: hostile,
    }),
    setup: createElement(login.SetupPage, { ...base, form, values: setup, error: hostile }),
    tested: createElement(login.TestPage, {
      ...base,
      application: hostile,
      backHref: "/ui/console/",
      result: { account, roles: [hostile], told: { id_token: { name: hostile }, userinfo: {} } },
    }),
    testRefused: createElement(login.TestPage, {
      ...base,
      application: hostile,
      backHref: "/ui/console/",
      refusal: { error: hostile, description: hostile, requestId: "1" },
    }),
    setupLink: createElement(login.SetupLinkPage, base),
    host: createElement(login.HostPage, {
      ...base,
      received: hostile,
      expected: "https://id.example.org",
      upstream: "127.0.0.1:8080",
      trustedProxy: false,
    }),
  }
}

const rendered = pageLanguages.flatMap((language) =>
  Object.entries(pages(language)).map(([name, page]) => ({
    name: `${language} ${name}`,
    language,
    html: login.renderPage(page),
  })),
)

describe("every login page", () => {
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
      expect(ids).toContain(id)
  })
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
    expect(html("loginName")).toContain("will learn which account is yours and your name.")
    expect(html("loginName")).toContain("It stays connected when you are away.")
  })

  it("keep a set-up code that was right when another field was wrong", () => {
    const base = { ...login.translator(["en"]), assets, form }
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
    const asked = { ...base, session: "1", application, projects }
    const html = login.renderPage(createElement(login.ConsentPage, asked))
    expect(html).toContain(`<div class="learns learns-question">`)
    expect(html).toMatch(/<p class="learns-most">It may manage this Latchkey in your name/)
    expect(html).toContain(`<p class="learns-most">It may use “Payroll” of Globex in your name.`)
  })
})
