import { join } from "node:path"
import { deflateRawSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  authorizePath,
  browserOf,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  password,
  redirectUri,
  signedOutUri,
} from "../oauth/provider.ts"
import { addServiceProvider, spId } from "../saml/service-provider.ts"
import { textsBelow } from "../support/tidy-source.ts"

let provider: Provider
let client: NewClient
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient({ grantTypes: ["authorization_code", "device_code"] })
})
afterAll(() => provider.close())

const directives = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
]

/** The headers of every page. */
const strict = {
  "cache-control": "no-store",
  "content-security-policy": directives.join("; "),
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "x-robots-tag": "noindex",
}

/** Chromium applies form-action to redirects of the application, whose targets are unknown here. */
const postingElsewhere = {
  ...strict,
  "content-security-policy": directives.filter((each) => !each.startsWith("form")).join("; "),
}

const headersOf = ({ headers }: Response) =>
  Object.fromEntries(Object.keys(strict).map((name) => [name, headers.get(name)]))

type Changes = Readonly<Record<string, string>>
const path = (changes: Changes = {}) => authorizePath(client.id, changes)
const credentials = { loginName: "olga", password }

/** The page after submitting the given forms. */
async function submitForms(at: string, ...forms: readonly Changes[]): Promise<Response> {
  const browser = browserOf(provider)
  let page = await browser.go(at)
  for (const form of forms) page = await browser.post(page, form)
  return page.response
}

const named = { loginName: "olga" }
const pages: Readonly<Record<string, () => Promise<Response>>> = {
  "the login name": () => submitForms(path()),
  "a password": () => submitForms(path(), named),
  "a wrong password": () => submitForms(path(), named, { ...credentials, password: "wrong" }),
  "a consent": () => submitForms(path({ prompt: "consent" }), named, credentials),
  "a registration": () => submitForms("/ui/login/register"),
  "a forgotten password": () => submitForms("/ui/login/password/forgot"),
  "a link by mail": () => submitForms("/ui/login/link/open"),
  "a device": () => submitForms("/device"),
  "an error": () => submitForms("/ui/login/loginname?authRequest=1"),
  "an unknown application": () => submitForms("/oauth/v2/authorize?client_id=1"),
  "signed in": () => submitForms("/ui/login", named, credentials),
  "signed out": () => submitForms("/ui/login/signedout"),
  "the choice of an account": async () => {
    const browser = browserOf(provider)
    await browser.signIn(path())
    return (await browser.go(path({ prompt: "select_account" }))).response
  },
  "what continues to the application": () => submitForms(path(), named, credentials),
  "what continues with a refusal": () =>
    submitForms(path({ prompt: "consent" }), named, credentials, { answer: "cancel" }),
  "a finished sign-in": async () => {
    const browser = browserOf(provider)
    const page = await browser.go(path())
    await browser.post(await browser.post(page, named), credentials)
    return (await browser.go(page.path)).response
  },
  "the question before a sign-out": async () => {
    const browser = browserOf(provider)
    await browser.signIn(path())
    return (await browser.go("/oidc/v1/end_session")).response
  },
  "what continues after a sign-out": async () => {
    const browser = browserOf(provider)
    await browser.signIn(path())
    const left = { client_id: client.id, post_logout_redirect_uri: signedOutUri }
    const asked = await browser.go(`/oidc/v1/end_session?${new URLSearchParams(left)}`)
    const { response, path: end } = await browser.post(asked, {})
    expect(end).toBe(signedOutUri)
    return response
  },
}

/** The only pages whose forms post to another site. */
const exceptions: typeof pages = {
  "an answer by form_post": () =>
    submitForms(path({ response_mode: "form_post" }), named, credentials),
  "an answer by the POST binding of SAML": async () => {
    await addServiceProvider(provider)
    return submitForms(`/saml/v2/SSO?${samlRequest()}`, named, credentials)
  },
}

/** A request of the SAML redirect binding. */
function samlRequest(): URLSearchParams {
  const xml =
    '<samlp:AuthnRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_1" ' +
    `Version="2.0" IssueInstant="${new Date(provider.clock.now()).toISOString()}">` +
    '<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">' +
    `${spId}</saml:Issuer></samlp:AuthnRequest>`
  return new URLSearchParams({ SAMLRequest: deflateRawSync(xml).toString("base64") })
}

describe("the headers of every page", () => {
  test.each(Object.entries(pages))("are strict on %s", async (_, open) => {
    expect(headersOf(await open())).toEqual(strict)
  })

  test.each(Object.entries(exceptions))("omit form-action on %s", async (_, open) => {
    expect(headersOf(await open())).toEqual(postingElsewhere)
  })

  test("are relaxed in these files only", () => {
    // login/page.ts renders every page, and builds its policy from these two options.
    const uses = (option: RegExp) =>
      [...textsBelow(join(import.meta.dirname, "../.."), ["src"], (path) => path.endsWith(".ts"))]
        .filter(([path, text]) => path !== "src/login/page.ts" && option.test(text))
        .map(([path]) => path)
    expect(uses(/postsElsewhere:/)).toEqual([
      "src/login/screen/external/saml.ts",
      "src/oauth/authorize/response.ts",
      "src/oauth/authorize/unapproved-redirect.ts",
    ])
    expect(uses(/content-security-policy/i)).toEqual([
      "src/api/respond.ts",
      "src/console/routes.ts",
      "src/server/openapi.ts",
    ])
  })

  test("contain no application, wherever its response goes", async () => {
    const policy = (await submitForms(path())).headers.get("content-security-policy")
    expect(policy).not.toContain(new URL(redirectUri).host)
    expect(policy).not.toContain(new URL(issuer).host)
  })
})
