import { exportJWK, generateKeyPair, SignJWT } from "jose"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import {
  deactivateApplication,
  expireApplications,
  findClient,
  recordUse,
} from "../../src/domain/app/index.ts"
import { addMember } from "../../src/domain/member/index.ts"
import { createProject, deactivateProject } from "../../src/domain/project/index.ts"
import { createLimits } from "../../src/kernel/limit.ts"
import { assertionType } from "./clients.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  openProvider,
  type Provider,
  redirectUri,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"
import {
  enableRegistration,
  managementOf,
  nativeMetadata,
  type RegistrationResponse,
  registerPath,
  sendMetadata,
} from "./registration.ts"
import { addMachine, personalTokenOf } from "./service-account.ts"

let provider: Provider
beforeEach(async () => {
  provider = await openProvider()
})
afterEach(() => provider.close())

const web = { redirect_uris: [redirectUri], client_name: "Web Tool" } as const
const register = (metadata: object, token?: string) =>
  sendMetadata(provider, metadata, { ...(token !== undefined && { token }) })
const fetchDiscovery = async () =>
  (await provider.send("/.well-known/openid-configuration")).json() as Promise<RegistrationResponse>

describe("registration (RFC 7591)", () => {
  test("does not exist until an instance enables it, and discovery says so", async () => {
    for (const method of ["POST", "GET", "PUT", "DELETE", "OPTIONS"]) {
      expect((await provider.send(registerPath, { method })).status, method).toBe(404)
    }
    expect(await fetchDiscovery()).not.toHaveProperty("registration_endpoint")
    await enableRegistration(provider)
    expect((await fetchDiscovery()).registration_endpoint).toBe(issuer + registerPath)
    await enableRegistration(provider, { mode: "off" })
    expect(await fetchDiscovery()).not.toHaveProperty("registration_endpoint")
    expect((await register(web)).status).toBe(404)
  })

  test("returns all registered metadata, and its management URI and token", async () => {
    await enableRegistration(provider)
    const { status, headers, answer } = await register({
      ...web,
      post_logout_redirect_uris: ["https://app.example.com/bye"],
      backchannel_logout_uri: "https://app.example.com/out",
      frontchannel_logout_uri: "https://app.example.com/front",
      id_token_signed_response_alg: "ES256",
      contacts: ["a@example.com"],
      something_of_others: { deep: [1] },
    })
    expect([status, headers.get("cache-control")]).toEqual([201, "no-store"])
    expect(answer).toEqual({
      client_id: expect.any(String),
      client_id_issued_at: Math.floor(provider.clock.now() / 1000),
      client_secret: expect.any(String),
      client_secret_expires_at: 0,
      registration_access_token: expect.stringMatching(/^[\w-]{43}$/),
      registration_client_uri: `${issuer}${registerPath}?client_id=${answer.client_id}`,
      client_name: "Web Tool",
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: "client_secret_basic",
      grant_types: ["authorization_code"],
      response_types: ["code"],
      application_type: "web",
      subject_type: "public",
      post_logout_redirect_uris: ["https://app.example.com/bye"],
      backchannel_logout_uri: "https://app.example.com/out",
      backchannel_logout_session_required: true,
      frontchannel_logout_uri: "https://app.example.com/front",
      frontchannel_logout_session_required: false,
      id_token_signed_response_alg: "ES256",
    })
  })

  test.each([
    [
      "on a device",
      nativeMetadata,
      { application_type: "native", token_endpoint_auth_method: "none" },
    ],
    [
      "with a scheme of its own",
      { redirect_uris: ["com.example.tool:/back"], token_endpoint_auth_method: "none" },
      { application_type: "native" },
    ],
    [
      "by the implicit flow",
      { ...web, response_types: ["token id_token", "id_token"] },
      { grant_types: ["implicit"], response_types: ["id_token", "id_token token"] },
    ],
    [
      "on a television",
      { client_name: "TV", grant_types: ["urn:ietf:params:oauth:grant-type:device_code"] },
      { redirect_uris: [], response_types: [] },
    ],
    [
      "that asks for more than there is",
      { ...web, grant_types: ["authorization_code", "client_credentials", "password"] },
      { grant_types: ["authorization_code"] },
    ],
    ["that says nothing as null", { ...web, jwks: null, client_name: null }, {}],
  ])("accepts one %s", async (_, metadata, registered) => {
    await enableRegistration(provider)
    const { status, answer } = await register(metadata)
    expect([status, answer]).toEqual([201, expect.objectContaining(registered)])
  })

  const badUris = [
    ["a script", "javascript:alert(1)"],
    ["data", "data:text/html,x"],
    ["a fragment", "https://app.example.com/#part"],
    ["no scheme", "app.example.com/callback"],
    ["plain http", "http://app.example.com/callback"],
    ["a private network", "http://10.0.0.1/callback"],
    ["a wildcard", "https://*.example.com/callback"],
    ["a line break", "https://app.example.com/\r\nx"],
    ["other letters", "https://äpp.example.com/"],
    ["a user name", "https://app.example.com@evil.example/callback"],
    ["an empty user name", "https://@evil.example/callback"],
    ["a backslash", "https://evil.example\\.app.example.com/callback"],
    ["a backslash in its path", "https://app.example.com/\\evil.example"],
    ["a user name in a scheme of its own", "com.example.tool://app@evil.example/back"],
    ["nothing", ""],
  ] as const
  test.each(badUris)("rejects a redirect URI with %s", async (_, uri) => {
    await enableRegistration(provider)
    const { status, answer } = await register({ ...web, redirect_uris: [redirectUri, uri] })
    expect([status, answer.error]).toEqual([400, "invalid_redirect_uri"])
    expect(answer.error_description).toMatch(/^redirect_uris must /)
  })

  test.each([
    ["no redirect URI", { client_name: "x" }, "invalid_redirect_uri"],
    ["text for a list", { redirect_uris: redirectUri }, "invalid_redirect_uri"],
    ["a number in a list", { redirect_uris: [5] }, "invalid_redirect_uri"],
    ["an unknown method", { ...web, token_endpoint_auth_method: "tls_client_auth" }, ""],
    ["the method of a prototype", { ...web, token_endpoint_auth_method: "constructor" }, ""],
    ["no grant that there is", { ...web, grant_types: ["password"] }, ""],
    ["hybrid responses alone", { ...web, response_types: ["code id_token"] }, ""],
    [
      "responses without their grant",
      { ...web, grant_types: ["authorization_code"], response_types: ["id_token"] },
      "",
    ],
    [
      "http with the implicit flow",
      {
        ...nativeMetadata,
        grant_types: ["implicit"],
        response_types: ["id_token"],
        application_type: "web",
      },
      "invalid_redirect_uri",
    ],
    ["unsigned id_tokens", { ...web, id_token_signed_response_alg: "none" }, ""],
    ["pairwise subjects", { ...web, subject_type: "pairwise" }, ""],
    ["a sector", { ...web, sector_identifier_uri: "https://a.example/s" }, ""],
    ["an address of keys", { ...web, jwks_uri: "http://169.254.169.254/keys" }, ""],
    ["keys that it has none of", { ...web, token_endpoint_auth_method: "private_key_jwt" }, ""],
    ["a name that turns around", { ...web, client_name: "Bank‮gpj" }, ""],
    ["a name of control", { ...web, client_name: "a\u0000b" }, ""],
    ["a name as long as a book", { ...web, client_name: "x".repeat(201) }, ""],
    ["a name that is no text", { ...web, client_name: { en: "x" } }, ""],
    ["a statement", { ...web, software_statement: "e30.e30." }, "unapproved_software_statement"],
    ["a front channel elsewhere", { ...web, frontchannel_logout_uri: "https://b.example/" }, ""],
    ["a back channel by script", { ...web, backchannel_logout_uri: "javascript:1" }, ""],
    ["a back channel that others read", { ...web, backchannel_logout_uri: "http://a.example" }, ""],
    ["a way out by http", { ...web, post_logout_redirect_uris: ["http://a.example/bye"] }, ""],
    ["a way out of its own scheme", { ...web, post_logout_redirect_uris: ["myapp:/bye"] }, ""],
    ["a list", [], ""],
    ["more than is read", { ...web, more: "x".repeat(20_000) }, ""],
  ])("rejects %s", async (_, metadata, error) => {
    await enableRegistration(provider)
    const { status, answer } = await register(metadata)
    expect([400, 413]).toContain(status)
    expect(answer.error).toBe(error || "invalid_client_metadata")
  })

  test.each([
    ["another type", "text/plain", "{}"],
    ["no JSON", "application/json", "{"],
    ["a bottomless list", "application/json", `${"[".repeat(8000)}${"]".repeat(8000)}`],
  ])("refuses %s", async (_, type, body) => {
    await enableRegistration(provider)
    const headers = { "content-type": type }
    const response = await provider.send(registerPath, { method: "POST", headers, body })
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({ error: "invalid_client_metadata" }),
    ])
  })

  test("deletes the oldest unused client at the limit, and stops if all are used", async () => {
    await enableRegistration(provider, { applicationsMax: 2 })
    const isThere = ({ answer }: { answer: RegistrationResponse }) =>
      findClient(provider.cx(), String(answer.client_id)) !== undefined
    const first = await register(nativeMetadata)
    provider.clock.advance(1000)
    const second = await register(nativeMetadata)
    await recordUse(provider.cx(), String(first.answer.client_id))
    const third = await register(nativeMetadata)
    expect([third.status, ...[first, second, third].map(isThere)]).toEqual([201, true, false, true])
    await recordUse(provider.cx(), String(third.answer.client_id))
    expect((await register(nativeMetadata)).status).toBe(503)
    expect([first, third].map(isThere)).toEqual([true, true])
    await sendMetadata(provider, undefined, { method: "DELETE", ...managementOf(first.answer) })
    expect((await register(nativeMetadata)).status).toBe(201)
  })

  test("is limited by address", async () => {
    await enableRegistration(provider)
    const limits = createLimits(provider.clock, 1)
    const allowance = limits({ address: "203.0.113.7" })
    const answers: number[] = []
    for (let count = 0; count < 31; count++) {
      const response = await provider.send(
        registerPath,
        {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(nativeMetadata),
        },
        { allowance },
      )
      answers.push(response.status)
    }
    expect([answers[29], answers[30]]).toEqual([201, 429])
  })

  test("is rejected while its project is deactivated", async () => {
    await enableRegistration(provider)
    await deactivateProject(provider.cx(), provider.projectId)
    expect((await register(nativeMetadata)).status).toBe(503)
  })
})

describe("an initial access token (RFC 7591 §3)", () => {
  const tokenOf = async (role?: string) => {
    const { userId } = await addMachine(provider)
    const target = { level: "org", id: provider.setup.orgId } as const
    const cx = provider.cx()
    if (role) {
      await cx.store.transact(cx, (tx) => addMember(tx, { userId, target, roles: [role] }))
    }
    return personalTokenOf(provider, userId)
  }

  test("is the token of a user who can create applications in the project", async () => {
    await enableRegistration(provider, { mode: "token" })
    const none = await register(nativeMetadata)
    expect([none.status, none.headers.get("www-authenticate")]).toEqual([
      401,
      'Bearer realm="registration"',
    ])
    const wrong = await register(nativeMetadata, "nonsense")
    expect([wrong.status, wrong.answer.error]).toEqual([401, "invalid_token"])
    expect(wrong.headers.get("www-authenticate")).toContain('error="invalid_token"')
    const weak = await register(nativeMetadata, await tokenOf())
    expect([weak.status, weak.answer.error]).toEqual([403, "insufficient_scope"])
    expect((await register(nativeMetadata, await tokenOf("ORG_OWNER"))).status).toBe(201)
  })

  test("that is invalid is rejected even if none is required", async () => {
    await enableRegistration(provider)
    expect((await register(nativeMetadata, "nonsense")).status).toBe(401)
  })
})

describe("its own registration (RFC 7592)", () => {
  let answer: RegistrationResponse
  beforeEach(async () => {
    await enableRegistration(provider)
    answer = (await register({ ...web, client_uri: "https://app.example.com" })).answer
  })
  const manage = (method: string, metadata?: object, changes: object = {}) =>
    sendMetadata(provider, metadata, { method, ...managementOf(answer), ...changes })

  test("can be read, without the secret", async () => {
    const { client_secret: _, client_secret_expires_at: __, ...rest } = answer
    expect(await manage("GET")).toMatchObject({ status: 200, answer: rest })
    expect((await manage("GET")).answer).not.toHaveProperty("client_secret")
  })

  test("is replaced as a whole", async () => {
    const changed = await manage("PUT", {
      client_id: answer.client_id,
      client_secret: answer.client_secret,
      redirect_uris: ["https://other.example.com/cb"],
    })
    expect(changed).toMatchObject({
      status: 200,
      answer: { client_name: "other.example.com", redirect_uris: ["https://other.example.com/cb"] },
    })
    const wrong = await provider.send(authorizePath(String(answer.client_id)))
    expect(wrong.headers.get("location")).toBeNull()
  })

  test("issues a secret if the new method needs one, and removes it otherwise", async () => {
    const own = { ...web, client_id: answer.client_id }
    const open = await manage("PUT", { ...own, token_endpoint_auth_method: "none" })
    expect(open.answer).not.toHaveProperty("client_secret")
    const again = await manage("PUT", own)
    expect(again.answer.client_secret).toEqual(expect.any(String))
    expect(again.answer.client_secret).not.toBe(answer.client_secret)
  })

  test.each([
    ["another client id", { client_id: "5" }],
    ["no client id", {}],
    ["a secret of its own choice", { client_id: "own", client_secret: "chosen" }],
    ["a token of its own choice", { client_id: "own", registration_access_token: "chosen" }],
    ["an address of its own choice", { client_id: "own", registration_client_uri: "https://a" }],
    ["a script", { client_id: "own", redirect_uris: ["javascript:alert(1)"] }],
  ])("is not changed with %s", async (_, changes) => {
    const own = "client_id" in changes && changes.client_id === "own"
    const sent = { ...web, ...changes, ...(own && { client_id: answer.client_id }) }
    expect((await manage("PUT", sent)).status).toBe(400)
    expect((await manage("GET")).answer.redirect_uris).toEqual([redirectUri])
  })

  test("can be changed no more often than clients can register", async () => {
    const allowance = createLimits(provider.clock, 1)({ address: "203.0.113.7" })
    const { path, token } = managementOf(answer)
    const answers: number[] = []
    for (let count = 0; count < 31; count++) {
      const changed = { ...web, client_id: answer.client_id, client_name: `Tool ${count}` }
      const init = {
        method: "PUT",
        headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
        body: JSON.stringify(changed),
      }
      answers.push((await provider.send(path, init, { allowance })).status)
    }
    expect([answers[29], answers[30]]).toEqual([200, 429])
  })

  test("can be deleted, including its management URI", async () => {
    expect((await manage("DELETE")).status).toBe(204)
    expect(findClient(provider.cx(), String(answer.client_id))).toBeUndefined()
    for (const method of ["GET", "DELETE"]) expect((await manage(method)).status).toBe(401)
  })

  test("requires its own token", async () => {
    const { answer: other } = await register(nativeMetadata)
    const { secret, id } = await provider.addClient()
    const tokens = [managementOf(other).token, secret, "", "x", `${managementOf(answer).token}x`]
    for (const method of ["GET", "PUT", "DELETE"]) {
      for (const token of tokens) {
        const body = method === "PUT" ? { ...web, client_id: answer.client_id } : undefined
        const refused = await manage(method, body, { token })
        expect([refused.status, method, token]).toEqual([401, method, token])
      }
    }
    const path = `${registerPath}?client_id=${id}`
    expect((await manage("GET", undefined, { path })).status).toBe(401)
    expect((await manage("GET", undefined, { path: registerPath })).status).toBe(401)
  })

  test("is unavailable while an administrator has deactivated the application", async () => {
    const { appId = "" } = findClient(provider.cx(), String(answer.client_id)) ?? {}
    await deactivateApplication(provider.cx(), appId)
    expect((await manage("GET")).status).toBe(401)
  })
})

describe("a dynamically registered application", () => {
  const signedIn = async (metadata: object = nativeMetadata, more: Record<string, string> = {}) => {
    const { answer } = await register(metadata)
    const id = String(answer.client_id)
    const [uri = ""] = "redirect_uris" in metadata ? Object.values(answer.redirect_uris ?? {}) : []
    const path = authorizePath(id, { redirect_uri: String(uri), ...more })
    const browser = browserOf(provider)
    return { id, path, browser, at: await browser.signIn(path), redirect_uri: String(uri) }
  }

  test("asks for consent each time, and shows its origin and redirect host", async () => {
    await enableRegistration(provider)
    const { browser, path, at } = await signedIn({
      ...web,
      client_name: "<script>alert(1)</script>",
    })
    expect(at.path).toContain("/ui/login/consent")
    expect(at.page).toContain("registered itself here")
    expect(at.page).toContain("You are giving access to app.example.com")
    expect(at.page).not.toContain("<script>alert")
    expect(responseOf(await browser.post(at, { answer: "allow" })).code).toEqual(expect.any(String))
    const again = await browser.go(path)
    expect(again.path).toContain("/ui/login/consent")
    const silent = await browser.go(`${path}&prompt=none`)
    expect(silent.page).toContain("error=consent_required")
    expect((await browser.post(again, { answer: "cancel" })).page).toContain("error=access_denied")
  })

  test("on a device is shown as that, and gets tokens that APIs accept", async () => {
    await enableRegistration(provider)
    const { id, browser, at, redirect_uri } = await signedIn()
    expect(at.page).toContain("to an application on this device")
    const { code = "" } = responseOf(await browser.post(at, { answer: "allow" }))
    const { status, answer } = await sendTokenRequest(
      provider,
      codeFields(code, { client_id: id, redirect_uri }),
    )
    expect([status, String(answer.access_token).split(".").length]).toEqual([200, 3])
  })

  test("gets no other project of its organization unless the user consents", async () => {
    await enableRegistration(provider)
    const cx = provider.cx()
    const other = cx.ids.next()
    await createProject(cx, other, { orgId: provider.setup.orgId, name: "Payroll" })
    const scope = `openid urn:core:iam:org:project:id:${other}:aud`
    const { at } = await signedIn(nativeMetadata, { scope })
    expect(at.page).toContain("Payroll")
    const core = await signedIn(nativeMetadata, {
      scope: "openid urn:core:iam:org:project:id:core:aud",
    })
    expect(core.at.page).toContain("It can manage this Latchkey instance on your behalf")
  })

  test("authenticates only with the keys that it registered", async () => {
    await enableRegistration(provider)
    const { publicKey, privateKey } = await generateKeyPair("ES256")
    const jwk = await exportJWK(publicKey)
    const method = { token_endpoint_auth_method: "private_key_jwt" }
    const secret = {
      ...(await exportJWK((await generateKeyPair("ES256", { extractable: true })).privateKey)),
    }
    expect((await register({ ...web, ...method, jwks: { keys: [secret] } })).status).toBe(400)
    for (const keys of [[{ kty: "oct", k: "AAAA" }], [{}], [5], [jwk, jwk], "x"]) {
      expect((await register({ ...web, ...method, jwks: { keys } })).status).toBe(400)
    }
    const { answer } = await register({
      ...web,
      ...method,
      jwks: { keys: [{ ...jwk, kid: "mine", alg: "ES256" }] },
    })
    const id = String(answer.client_id)
    const asked = async (kid: string) => {
      const assertion = await new SignJWT({ jti: provider.cx().ids.next() })
        .setProtectedHeader({ alg: "ES256", kid })
        .setIssuer(id)
        .setSubject(id)
        .setAudience(issuer)
        .setIssuedAt(provider.clock.now() / 1000)
        .setExpirationTime(provider.clock.now() / 1000 + 60)
        .sign(privateKey)
      const fields = { client_assertion_type: assertionType, client_assertion: assertion }
      return (await sendTokenRequest(provider, { ...codeFields("x"), ...fields })).answer.error
    }
    expect(await asked("mine")).toBe("invalid_grant")
    expect(await asked("other")).toBe("invalid_client")
  })

  test("is deleted when unused for its lifetime, and kept while used", async () => {
    await enableRegistration(provider, { lifetimeSeconds: 30 * 86_400 })
    const used = await signedIn()
    const unused = await register(nativeMetadata)
    const days = 86_400_000
    provider.clock.advance(20 * days)
    const browser = browserOf(provider)
    const at = await browser.signIn(used.path)
    const { code = "" } = responseOf(await browser.post(at, { answer: "allow" }))
    const { redirect_uri } = used
    await sendTokenRequest(provider, codeFields(code, { client_id: used.id, redirect_uri }))
    provider.clock.advance(20 * days)
    await expireApplications(provider.cx())
    expect(findClient(provider.cx(), used.id)).toBeDefined()
    expect(findClient(provider.cx(), String(unused.answer.client_id))).toBeUndefined()
    provider.clock.advance(11 * days)
    await expireApplications(provider.cx())
    expect(findClient(provider.cx(), used.id)).toBeUndefined()
  })

  test("created by an administrator is never deleted automatically, needs no consent", async () => {
    const { id, appId } = await provider.addClient()
    provider.clock.advance(400 * 86_400_000)
    await expireApplications(provider.cx())
    expect(findClient(provider.cx(), id)?.appId).toBe(appId)
  })
})
