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

/** What every page has, whatever is on it. */
const strict = {
  "cache-control": "no-store",
  "content-security-policy": directives.join("; "),
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "x-robots-tag": "noindex",
}

/** Chromium would apply it to what the application redirects to, which nobody here knows. */
const postingElsewhere = {
  ...strict,
  "content-security-policy": directives.filter((each) => !each.startsWith("form")).join("; "),
}

const headersOf = ({ headers }: Response) =>
  Object.fromEntries(Object.keys(strict).map((name) => [name, headers.get(name)]))

type Changes = Readonly<Record<string, string>>
const path = (changes: Changes = {}) => authorizePath(client.id, changes)
const given = { loginName: "olga", password }

/** The page that the last of some forms leads to. */
async function reached(at: string, ...forms: readonly Changes[]): Promise<Response> {
  const browser = browserOf(provider)
  let page = await browser.go(at)
  for (const form of forms) page = await browser.post(page, form)
  return page.response
}

const named = { loginName: "olga" }
const pages: Readonly<Record<string, () => Promise<Response>>> = {
  "the login name": () => reached(path()),
  "a password": () => reached(path(), named),
  "a wrong password": () => reached(path(), named, { ...given, password: "wrong" }),
  "a consent": () => reached(path({ prompt: "consent" }), named, given),
  "a registration": () => reached("/ui/login/register"),
  "a forgotten password": () => reached("/ui/login/password/forgot"),
  "a link by mail": () => reached("/ui/login/link/open"),
  "a device": () => reached("/device"),
  "an error": () => reached("/ui/login/loginname?authRequest=1"),
  "an unknown application": () => reached("/oauth/v2/authorize?client_id=1"),
  "signed in": () => reached("/ui/login", named, given),
  "signed out": () => reached("/ui/login/signedout"),
  "the choice of an account": async () => {
    const browser = browserOf(provider)
    await browser.signIn(path())
    return (await browser.go(path({ prompt: "select_account" }))).response
  },
  "what continues to the application": () => reached(path(), named, given),
  "what continues with a refusal": () =>
    reached(path({ prompt: "consent" }), named, given, { answer: "cancel" }),
  "a finished sign-in": async () => {
    const browser = browserOf(provider)
    const page = await browser.go(path())
    await browser.post(await browser.post(page, named), given)
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
  "an answer by form_post": () => reached(path({ response_mode: "form_post" }), named, given),
  "an answer by the POST binding of SAML": async () => {
    await addServiceProvider(provider)
    return reached(`/saml/v2/SSO?${samlRequest()}`, named, given)
  },
}

/** A request as the redirect binding of SAML brings it. */
function samlRequest(): URLSearchParams {
  const xml =
    '<samlp:AuthnRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_1" ' +
    `Version="2.0" IssueInstant="${new Date(provider.clock.now()).toISOString()}">` +
    '<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">' +
    `${spId}</saml:Issuer></samlp:AuthnRequest>`
  return new URLSearchParams({ SAMLRequest: deflateRawSync(xml).toString("base64") })
}

describe("the headers of every page", () => {
  test.each(Object.entries(pages))("are strict: %s", async (_, open) => {
    expect(headersOf(await open())).toEqual(strict)
  })

  test.each(Object.entries(exceptions))("leave form-action out: %s", async (_, open) => {
    expect(headersOf(await open())).toEqual(postingElsewhere)
  })

  test("are loosened by these files alone", () => {
    // Every page is shown by login/page.ts, which makes its policy of these two options.
    const uses = (option: RegExp) =>
      [...textsBelow(join(import.meta.dirname, "../.."), ["src"], (path) => path.endsWith(".ts"))]
        .filter(([path, text]) => path !== "src/login/page.ts" && option.test(text))
        .map(([path]) => path)
    expect(uses(/postsElsewhere:/)).toEqual([
      "src/login/screen/external/saml.ts",
      "src/oauth/authorize/answer.ts",
      "src/oauth/authorize/stranger.ts",
    ])
    expect(uses(/content-security-policy/i)).toEqual([
      "src/api/respond.ts",
      "src/console/routes.ts",
      "src/server/openapi.ts",
    ])
  })

  test("name no application, wherever its answers go", async () => {
    const policy = (await reached(path())).headers.get("content-security-policy")
    expect(policy).not.toContain(new URL(redirectUri).host)
    expect(policy).not.toContain(new URL(issuer).host)
  })
})
