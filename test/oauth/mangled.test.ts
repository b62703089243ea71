import { SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { sealResponse } from "../../src/oauth/custom-login/sealed-response.ts"
import {
  addLoginPageCaller,
  addServiceCaller,
  type CallAs,
  callAs,
} from "../support/operation-caller.ts"
import { listSpellings } from "../support/token-spellings.ts"
import {
  addKeyClient,
  addServiceAccount,
  assertionType,
  encodeBasic,
  signAssertion,
} from "./clients.ts"
import { exchangeGrant, typeOf } from "./exchange.ts"
import { authorize, type Browser, openSignedIn, post, tokensOf, userinfo } from "./must.ts"
import { createProof, newProofKey } from "./proof.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  redirectUri,
  responseOf,
  sendTokenRequest,
  type VisitedPage,
} from "./provider.ts"
import { addMachine, jwtBearer, type Machine, personalTokenOf } from "./service-account.ts"

let provider: Provider
let web: NewClient
let jwt: NewClient
let tv: NewClient
let wiki: NewClient
let browser: Browser
let machine: Machine
let keyed: Awaited<ReturnType<typeof addKeyClient>>
let serviceAccount: Awaited<ReturnType<typeof addServiceAccount>>
let gateway: NewClient
let page: CallAs
let anybody: CallAs
let sessionId = ""
beforeAll(async () => {
  provider = await openProvider()
  const grantTypes = ["authorization_code", "refresh_token"] as const
  web = await provider.addClient({ grantTypes: [...grantTypes] })
  jwt = await provider.addClient({ tokenType: "jwt" })
  tv = await provider.addClient({
    appType: "native",
    authMethod: "none",
    grantTypes: ["authorization_code", "device_code"],
  })
  browser = await openSignedIn(provider, web)
  wiki = await provider.addClient({
    redirectUris: ["https://wiki.example.com/.latchkey/callback"],
  })
  machine = await addMachine(provider)
  keyed = await addKeyClient(provider)
  serviceAccount = await addServiceAccount(provider)
  page = await addLoginPageCaller(provider)
  anybody = callAs(provider, await addServiceCaller(provider, { name: "anybody", roles: [] }))
  gateway = await provider.addClient({ grantTypes: ["authorization_code", "token_exchange"] })
})
afterAll(() => provider.close())

/** How to create a value, and whether its endpoint accepts it. */
type SecretKind = {
  readonly make: () => Promise<string>
  readonly isTaken: (text: string) => Promise<boolean>
}

const basic = () => `${web.id}:${web.secret}`
const isGood = async (answer: Promise<{ readonly status: number }>) => (await answer).status === 200

const deviceCode = "urn:ietf:params:oauth:grant-type:device_code"

/** The parameters of the redirect to the client. */
const redirectFields = (end: VisitedPage) => (end.path.startsWith("https:") ? responseOf(end) : {})

let shown = ""
const normalizeCode = (userCode: string) => userCode.toUpperCase().replace(/[-.]/g, "")

const isBearer = (text: string) => isGood(userinfo(provider, text))

const kinds: Readonly<Record<string, SecretKind>> = {
  "a code": {
    make: async () => (await authorize(browser, web)).code ?? "",
    isTaken: (code) => isGood(sendTokenRequest(provider, codeFields(code), basic())),
  },
  "an opaque access token": {
    make: async () => String((await tokensOf(provider, browser, web)).access_token),
    isTaken: isBearer,
  },
  "a JWT access token": {
    make: async () => String((await tokensOf(provider, browser, jwt)).access_token),
    isTaken: isBearer,
  },
  "an id_token as a hint": {
    make: async () => String((await tokensOf(provider, browser, web)).id_token),
    isTaken: async (id_token_hint) =>
      "code" in (await authorize(browser, web, { id_token_hint, prompt: "none" })),
  },
  "a refresh token": {
    make: async () => {
      const offline = { scope: "openid offline_access", prompt: "consent" }
      const person = browserOf(provider)
      const asked = await person.signIn(authorizePath(web.id, offline))
      const end = await person.post(asked, { answer: "allow" })
      const { code = "" } = responseOf(end)
      return String(
        (await sendTokenRequest(provider, codeFields(code), basic())).answer.refresh_token,
      )
    },
    isTaken: (refresh_token) =>
      isGood(sendTokenRequest(provider, { grant_type: "refresh_token", refresh_token }, basic())),
  },
  "a service account's assertion": {
    make: () => machine.assertion(),
    isTaken: (assertion) =>
      isGood(sendTokenRequest(provider, { grant_type: jwtBearer, assertion, scope: "openid" })),
  },
  "a personal access token": {
    make: () => personalTokenOf(provider, machine.userId),
    isTaken: isBearer,
  },
  "a device code": {
    make: async () => {
      const body = `client_id=${tv.id}&scope=openid`
      const response = await post(provider, "/oauth/v2/device_authorization", body)
      return (await response.json()).device_code
    },
    isTaken: async (device_code) => {
      const fields = { grant_type: deviceCode, device_code, client_id: tv.id }
      const { error } = (await sendTokenRequest(provider, fields)).answer
      // The user has not decided yet; any other code doesn't exist.
      return error === "authorization_pending" || error === "slow_down"
    },
  },
  "a request_uri": {
    make: async () => {
      const body = new URL(authorizePath(tv.id), issuer).search.slice(1)
      return (await (await post(provider, "/oauth/v2/par", body)).json()).request_uri
    },
    isTaken: async (request_uri) => {
      const query = new URLSearchParams({ client_id: tv.id, request_uri })
      return "code" in redirectFields(await browser.go(`/oauth/v2/authorize?${query}`))
    },
  },
  "a request object": {
    make: async () => {
      const now = Math.floor(provider.clock.now() / 1000)
      const inside = Object.fromEntries(new URL(authorizePath(keyed.id), issuer).searchParams)
      return new SignJWT({ ...inside, iss: keyed.id, aud: issuer, exp: now + 300 })
        .setProtectedHeader({ alg: "RS256", kid: keyed.keyId, typ: "oauth-authz-req+jwt" })
        .sign(keyed.key)
    },
    isTaken: async (request) => {
      const query = new URLSearchParams({ client_id: keyed.id, request })
      return "code" in redirectFields(await browser.go(`/oauth/v2/authorize?${query}`))
    },
  },
  "a client's assertion": {
    make: async () => (await signAssertion(provider, keyed)).client_assertion,
    isTaken: async (client_assertion) => {
      const { code = "" } = await authorize(browser, keyed)
      const type = { client_assertion_type: assertionType }
      return isGood(sendTokenRequest(provider, codeFields(code, { client_assertion, ...type })))
    },
  },
  "a proof of a key": {
    make: async () => createProof(provider, await newProofKey()),
    isTaken: async (dpop) => {
      const { code = "" } = await authorize(browser, tv)
      const body = new URLSearchParams(codeFields(code, { client_id: tv.id })).toString()
      return isGood(post(provider, "/oauth/v2/token", body, { dpop }))
    },
  },
  "a code that a device shows": {
    make: async () => {
      const body = `client_id=${tv.id}&scope=openid`
      const response = await post(provider, "/oauth/v2/device_authorization", body)
      shown = (await response.json()).user_code
      return shown
    },
    isTaken: async (userCode) => {
      // RFC 8628 §6.1: lower case, dots and dashes are ignored, because users type the code.
      if (userCode !== shown && normalizeCode(userCode) === normalizeCode(shown)) return false
      const end = await browser.post(await browser.go("/device"), { userCode })
      return end.path.startsWith("/ui/login/")
    },
  },
  "a client's secret": {
    make: async () => web.secret,
    isTaken: async (secret) => {
      const { code = "" } = await authorize(browser, web)
      return isGood(
        sendTokenRequest(provider, codeFields(code), `${web.id}:${encodeURIComponent(secret)}`),
      )
    },
  },
  "a service account's secret": {
    make: async () => serviceAccount.secret,
    isTaken: (secret) => {
      const fields = { grant_type: "client_credentials", scope: "openid" }
      return isGood(sendTokenRequest(provider, fields, encodeBasic(serviceAccount.id, secret)))
    },
  },
  "an id_token that is exchanged": {
    make: async () => String((await tokensOf(provider, browser, gateway)).id_token),
    isTaken: (subject_token) => {
      const subject_token_type = typeOf("id_token")
      const fields = { grant_type: exchangeGrant, subject_token, subject_token_type }
      return isGood(sendTokenRequest(provider, fields, `${gateway.id}:${gateway.secret}`))
    },
  },
  "a session's token": {
    make: async () => {
      const begun = await page("session.v2.SessionService/CreateSession", {})
      sessionId = begun.sessionId
      return begun.sessionToken
    },
    isTaken: (sessionToken) =>
      anybody("session.v2.SessionService/GetSession", { sessionId, sessionToken }).then(
        () => true,
        () => false,
      ),
  },
  "what names a device to a login page": {
    make: async () => {
      const body = `client_id=${tv.id}&scope=openid`
      const response = await post(provider, "/oauth/v2/device_authorization", body)
      const { user_code: userCode } = await response.json()
      const found = await page("oidc.v2.OIDCService/GetDeviceAuthorizationRequest", { userCode })
      return found.deviceAuthorizationRequest.id
    },
    isTaken: async (deviceAuthorizationId) => {
      const decision = { case: "session", value: { sessionId: "1", sessionToken: "none" } }
      const decided = page("oidc.v2.OIDCService/AuthorizeOrDenyDeviceAuthorization", {
        deviceAuthorizationId,
        decision,
      })
      // An existing device is decided by a session, and this session token is invalid.
      return (await decided.catch(({ id }) => id)) === "session.token_wrong"
    },
  },
  "an answer that a page is to post": {
    make: async () => {
      const way = { responseMode: "form_post", languages: [] } as const
      const asked = { ...way, appId: web.appId, clientId: web.id, redirectUri }
      const url = sealResponse(provider.cx(), { asked, fields: { code: "1" } })
      return new URL(url).searchParams.get("answer") ?? ""
    },
    isTaken: async (answer) => {
      const query = new URLSearchParams({ answer })
      const shown = await provider.send(`/oauth/v2/authorize/callback?${query}`)
      return (await shown.text()).includes(redirectUri)
    },
  },
  "a browser's cookie": {
    make: async () => /__Host-latchkey=([^;]*)/.exec(browser.cookie())?.[1] ?? "",
    isTaken: async (value) => {
      const thief = browserOf(provider)
      thief.setCookie(`__Host-latchkey=${value}`)
      return "code" in (await authorize(thief, web, { prompt: "none" }))
    },
  },
  "a pass at a host behind a proxy": {
    make: async () => {
      const begun = await requestAsProxy("/", "")
      const end = await browser.go(begun.headers.get("location") ?? "")
      const way = begun.headers.get("set-cookie")?.split(";")[0] ?? ""
      const done = await requestAsProxy(end.path.replace("https://wiki.example.com", ""), way)
      return /=([^;]*)/.exec(done.headers.get("set-cookie") ?? "")?.[1] ?? ""
    },
    isTaken: (pass) =>
      isGood(requestAsProxy("/", `__Host-latchkey-at-${wiki.id}=${pass}`, "/check")),
  },
}

const requestAsProxy = (target: string, cookie: string, at = "") =>
  provider.send(`/forward-auth/id.example.com/${wiki.id}${at}`, {
    headers: {
      accept: "text/html",
      cookie,
      "x-forwarded-host": "wiki.example.com",
      "x-forwarded-uri": target,
    },
  })

describe.each(Object.entries(kinds))("%s", (_, { make, isTaken }) => {
  test("is rejected in every other spelling, and stays valid itself", async () => {
    const text = await make()
    const taken: string[] = []
    for (const [how, spelling] of listSpellings(text)) {
      if (await isTaken(spelling)) taken.push(how)
    }
    expect(taken).toEqual([])
    expect(await isTaken(text)).toBe(true)
  })
})
