import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { texts } from "../../ui/login/index.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
} from "../oauth/provider.ts"

let provider: Provider
let client: NewClient
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient()
})
afterAll(() => provider.close())

type Problem = "unknown_application" | "redirect_uri" | "invalid_request" | "expired"
type Row = readonly [Problem, string, () => string]

const path = (changes: Parameters<typeof authorizePath>[1]) => authorizePath(client.id, changes)
const rows: readonly Row[] = [
  ["unknown_application", "an unknown client", () => path({ client_id: "nobody" })],
  ["invalid_request", "no redirect URI", () => path({ redirect_uri: undefined })],
  ["redirect_uri", "a foreign redirect URI", () => path({ redirect_uri: "https://evil.example" })],
  ["invalid_request", "a sign-out with a false hint", () => "/oidc/v1/endsession?id_token_hint=x"],
  ["expired", "a request that is over", () => "/oauth/v2/authorize/callback?id=1"],
  ["expired", "a page of a request that is over", () => "/ui/login/password?authRequest=1"],
]

describe.each(["en", "de"] as const)("in %s, the page for", (language) => {
  const said = texts[language]

  test.each(rows)("%s (%s) explains the problem and the remedy", async (problem, _, at) => {
    const { status, page } = await loadPage(at(), language)
    expect(status).toBe(400)
    expect(page).toContain(`<html lang="${language}">`)
    for (const part of ["title", "happened", "todo"] as const) {
      expect(page).toContain(escapeText(said[`error.${problem}.${part}`]))
    }
  })

  test("a developer error shows its details separately, marked as English", async () => {
    const { page } = await loadPage(path({ redirect_uri: undefined }), language)
    expect(page).toContain(escapeText(said["error.detail"]))
    expect(page).toContain('<p lang="en">redirect_uri is required.</p>')
  })
})

test("a user error is in the user's language, without developer details", async () => {
  const { lockUser } = await import("../../src/domain/user/index.ts")
  await lockUser(provider.cx(), await provider.addPerson("lola"))
  const { page } = await browserOf(provider).signIn(path({ ui_locales: "de" }), "lola")
  expect(page).toContain(texts.de["error.not_allowed.locked"])
  expect(page).not.toContain("Du bist angemeldet")
  expect(page).not.toContain('lang="en"')
})

async function loadPage(at: string, language: string) {
  const { headers } = await provider.send("/ui/login/loginname")
  const [cookie = ""] = headers.getSetCookie()
  const response = await provider.send(at, { headers: { cookie } }, { languages: [language] })
  return { status: response.status, page: await response.text() }
}

const escapeText = (text: string) => text.replaceAll("'", "&#x27;")
