import { decodeJwt } from "jose"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { deactivateApplication, updateApplication } from "../../src/domain/app/index.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
  signedOutUri,
} from "./provider.ts"

let provider: Provider
beforeEach(async () => {
  provider = await openProvider()
})
afterEach(() => provider.close())

type Browser = ReturnType<typeof browserOf>

const addClientWithPage = (uri: string, more: object = {}) =>
  provider.addClient({ frontChannelLogout: { uri, sessionRequired: true }, ...more })

const page = "https://app.example.com/forget"

async function signIn(browser: Browser, client: NewClient, loginName = "olga") {
  const path = authorizePath(client.id, { prompt: undefined })
  const at = await browser.go(path)
  const done = at.path.startsWith("http") ? at : await browser.signIn(path, loginName)
  const basic = `${client.id}:${client.secret}`
  const { answer } = await sendTokenRequest(
    provider,
    codeFields(responseOf(done).code ?? ""),
    basic,
  )
  return String(answer.id_token)
}

const signOut = (browser: Browser, parameters: Readonly<Record<string, string>>) =>
  browser.go(`/oidc/v1/endsession?${new URLSearchParams(parameters)}`)

const framesIn = (html: string): readonly string[] =>
  [...html.matchAll(/<iframe[^>]* src="([^"]*)"/g)].map(([, src = ""]) =>
    src.replaceAll("&amp;", "&"),
  )

const frameSources = (response: Response): string | undefined =>
  /frame-src ([^;]*)/.exec(response.headers.get("content-security-policy") ?? "")?.[1]

describe("Front-Channel Logout §3", () => {
  test("loads the application's page with issuer and session, then redirects back", async () => {
    const browser = browserOf(provider)
    const hint = await signIn(browser, await addClientWithPage(page))
    const location = `${signedOutUri}?state=s1`
    const end = await signOut(browser, {
      id_token_hint: hint,
      post_logout_redirect_uri: signedOutUri,
      state: "s1",
    })
    expect(end.response.status).toBe(200)
    const query = new URLSearchParams({ iss: issuer, sid: String(decodeJwt(hint).sid) })
    expect(framesIn(end.page)).toEqual([`${page}?${query}`])
    expect(frameSources(end.response)).toBe("https://app.example.com")
    expect(end.response.headers.get("refresh")).toBe(`5;url=${location}`)
    expect(end.page).toContain(`href="${location}"`)
    expect((await browser.go("/ui/login/signedin")).path).not.toBe("/ui/login/signedin")
  })

  test("keeps the query of the page's URI", async () => {
    const browser = browserOf(provider)
    const hint = await signIn(browser, await addClientWithPage(`${page}?app=1`))
    const end = await signOut(browser, { id_token_hint: hint })
    expect(framesIn(end.page)[0]).toMatch(/\?app=1&iss=.*&sid=\d+$/)
    expect(end.response.headers.get("refresh")).toBe("5;url=/ui/login/signedout")
  })

  test("loads a page for each application of the session, and for no other", async () => {
    await provider.addPerson("sam")
    const [one, two] = [
      await addClientWithPage(page),
      await addClientWithPage("https://two.example.com/bye", {
        redirectUris: ["https://app.example.com/callback", "https://two.example.com/cb"],
      }),
    ]
    const elsewhere = browserOf(provider)
    await signIn(elsewhere, two, "sam")
    const browser = browserOf(provider)
    await signIn(browser, one)
    const hint = await signIn(browser, await provider.addClient())
    expect(framesIn((await signOut(browser, { id_token_hint: hint })).page)).toHaveLength(1)

    await signIn(browser, one)
    const again = await signIn(browser, two)
    const end = await signOut(browser, { id_token_hint: again })
    expect(framesIn(end.page)).toHaveLength(2)
    expect(frameSources(end.response)).toBe("https://app.example.com https://two.example.com")
  })

  test("the frames can neither navigate elsewhere nor read the referrer", async () => {
    const browser = browserOf(provider)
    const hint = await signIn(browser, await addClientWithPage(page))
    const { page: html } = await signOut(browser, { id_token_hint: hint })
    const [frame = ""] = /<iframe[^>]*>/.exec(html) ?? []
    expect(frame).toContain(`sandbox="allow-scripts allow-same-origin"`)
    expect(frame).toContain(`referrerPolicy="no-referrer"`)
    expect(frame).toContain("hidden")
  })

  test("an application that was deactivated, or has removed its page, is skipped", async () => {
    const [off, changed] = [await addClientWithPage(page), await addClientWithPage(page)]
    const browser = browserOf(provider)
    await signIn(browser, off)
    const hint = await signIn(browser, changed)
    await deactivateApplication(provider.cx(), off.appId)
    await updateApplication(provider.cx(), changed.appId, {
      oidc: { frontChannelLogout: { uri: "", sessionRequired: false } },
    })
    expect((await signOut(browser, { id_token_hint: hint })).path).toBe("/ui/login/signedout")
  })

  test("a page shows no frame before the user has confirmed", async () => {
    const browser = browserOf(provider)
    const client = await addClientWithPage(page)
    await signIn(browser, client)
    const asked = await signOut(browser, { client_id: client.id })
    expect(framesIn(asked.page)).toEqual([])
    expect(framesIn((await browser.post(asked, {})).page)).toHaveLength(1)
  })

  test("discovery announces support", async () => {
    const document = await (await provider.send("/.well-known/openid-configuration")).json()
    expect(document).toMatchObject({
      frontchannel_logout_supported: true,
      frontchannel_logout_session_supported: true,
    })
  })
})
