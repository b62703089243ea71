import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto"
import { exportJWK, SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { removeAppKey } from "../../src/domain/app/credential/app-key.ts"
import { addAppKey } from "../../src/domain/app/index.ts"
import { addKeyTo, type ClientKey, signAssertion } from "./clients.ts"
import {
  authorizePath,
  browserOf,
  challenge,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  redirectUri,
  responseOf,
} from "./provider.ts"

let provider: Provider
let web: NewClient & ClientKey
let other: NewClient & ClientKey
beforeAll(async () => {
  provider = await openProvider()
  const add = async () => {
    const client = await provider.addClient()
    return { ...client, ...(await addKeyTo(provider, client.appId)) }
  }
  web = await add()
  other = await add()
})
afterAll(() => provider.close())

type Claims = Readonly<Record<string, unknown>>
type Changes = { readonly claims?: Claims; readonly header?: Claims; readonly key?: KeyObject }

const seconds = () => Math.floor(provider.clock.now() / 1000)

const claimsOf = (client: ClientKey): Claims => ({
  iss: client.id,
  aud: issuer,
  exp: seconds() + 300,
  client_id: client.id,
  redirect_uri: redirectUri,
  response_type: "code",
  scope: "openid profile",
  state: "inside",
  nonce: "n-1",
  code_challenge: challenge,
  code_challenge_method: "S256",
})

/** A request object; claims set to undefined are omitted. */
async function objectOf(client: ClientKey, { claims, header, key }: Changes = {}) {
  const all = JSON.parse(JSON.stringify({ ...claimsOf(client), ...claims }))
  const protectedHeader = { alg: "RS256", kid: client.keyId, typ: "oauth-authz-req+jwt", ...header }
  return new SignJWT(all)
    .setProtectedHeader(JSON.parse(JSON.stringify(protectedHeader)))
    .sign(key ?? client.key, { crit: { x: true } })
}

const pathOf = (request: string, more: Record<string, string> = {}) =>
  `/oauth/v2/authorize?${new URLSearchParams({ client_id: web.id, request, ...more })}`

const errorAt = (location: string | null) =>
  location?.startsWith(redirectUri) ? responseOf({ path: location } as never).error : undefined

/** The error of a request whose plain parameters contain the redirect URI. */
async function refusal(request: string) {
  const beside = { redirect_uri: redirectUri, response_type: "code", scope: "openid" }
  return errorAt((await provider.send(pathOf(request, beside))).headers.get("location"))
}

describe("a request object (RFC 9101, OpenID Connect Core §6.1)", () => {
  const good: Readonly<Record<string, Changes>> = {
    "with its own type": {},
    "with the type JWT": { header: { typ: "JWT" } },
    "without a type": { header: { typ: undefined } },
    "for the issuer with a slash": { claims: { aud: `${issuer}/` } },
    "for several audiences": { claims: { aud: ["https://else.example", issuer] } },
    "that lasts an hour": { claims: { exp: 0 } },
    "with members that nobody knows": { claims: { jti: "1", iat: 5, unknown: "x" } },
    "signed with PS256": { header: { alg: "PS256" } },
  }
  test.each(Object.entries(good))("is accepted: %s", async (_, changes) => {
    const lasting = changes.claims?.exp === 0 ? { claims: { exp: seconds() + 3600 } } : changes
    const end = await browserOf(provider).signIn(pathOf(await objectOf(web, lasting)))
    expect(responseOf(end)).toMatchObject({ state: "inside", iss: issuer })
    expect(responseOf(end)).toHaveProperty("code")
  })

  test("FAPI 2.0 §5.3.2.1: is accepted from a clock ten seconds ahead", async () => {
    const ahead = seconds() + 10
    const claims = { iat: ahead, nbf: ahead, exp: ahead + 3600 }
    const end = await browserOf(provider).signIn(pathOf(await objectOf(web, { claims })))
    expect(responseOf(end)).toHaveProperty("code")
  })

  test("contains all parameters: others are ignored", async () => {
    const outside = { redirect_uri: "https://evil.example/", state: "outside", prompt: "login" }
    const request = await objectOf(web, { claims: { prompt: "none", max_age: 10 } })
    const response = await provider.send(pathOf(request, { ...outside, response_mode: "fragment" }))
    const location = response.headers.get("location") ?? ""
    expect(location.startsWith(`${redirectUri}?error=login_required`)).toBe(true)
    expect(location).toContain("state=inside")
  })

  test("is not completed by other parameters", async () => {
    const request = await objectOf(web, { claims: { scope: undefined } })
    const path = pathOf(request, { scope: "openid" })
    expect(errorAt((await provider.send(path)).headers.get("location"))).toBe("invalid_scope")
    const challenged = { code_challenge: challenge, code_challenge_method: "S256" }
    const nowhere = await objectOf(web, { claims: { redirect_uri: undefined } })
    const answer = await provider.send(
      pathOf(nowhere, { ...challenged, redirect_uri: redirectUri }),
    )
    expect([answer.status, answer.headers.has("location")]).toEqual([400, false])
  })

  test("accepts numbers, the claims object and several resources", async () => {
    const id = `urn:core:iam:org:project:id:${provider.projectId}:aud`
    const typed = { max_age: 0, claims: { id_token: { email: null } }, resource: [id, id] }
    const path = pathOf(await objectOf(web, { claims: typed }))
    expect((await provider.send(path)).headers.get("location")).toMatch(/^\/ui\/login/)
  })

  test("names its key if the client has several, which is optional with one", async () => {
    const unnamed = () => objectOf(web, { header: { kid: undefined } })
    expect(await refusal(await unnamed())).toBeUndefined()
    const second = await addKeyTo(provider, web.appId)
    expect(await refusal(await unnamed())).toBe("invalid_request_object")
    await removeAppKey(provider.cx(), web.appId, second.keyId)
    expect(await refusal(await unnamed())).toBeUndefined()
  })

  test("can be pushed", async () => {
    const body = new URLSearchParams({ request: await objectOf(web), client_id: web.id })
    const authorization = `Basic ${Buffer.from(`${web.id}:${web.secret}`).toString("base64")}`
    const init = { method: "POST", body, headers: { authorization } }
    const answer = await (await provider.send("/oauth/v2/par", init)).json()
    const query = new URLSearchParams({ client_id: web.id, request_uri: answer.request_uri })
    const end = await browserOf(provider).signIn(`/oauth/v2/authorize?${query}`)
    expect(responseOf(end).state).toBe("inside")
    // Another client's object is rejected, even when pushed.
    body.set("request", await objectOf(other))
    const foreign = await (await provider.send("/oauth/v2/par", { ...init, body })).json()
    expect(foreign.error).toBe("invalid_request_object")
  })
})

describe("an application whose requests must be signed (RFC 9101 §10.5)", () => {
  test("can't use unsigned requests, in any form", async () => {
    const requestRules = { pushed: false, signed: true }
    const made = await provider.addClient({ requestRules })
    const strict = { ...made, ...(await addKeyTo(provider, made.appId)) }
    const plain = await provider.send(authorizePath(strict.id))
    expect(errorAt(plain.headers.get("location"))).toBe("invalid_request")
    const empty = await provider.send(`${authorizePath(strict.id)}&request=`)
    expect(errorAt(empty.headers.get("location"))).toBe("invalid_request")

    const authorization = `Basic ${Buffer.from(`${strict.id}:${strict.secret}`).toString("base64")}`
    const push = async (body: URLSearchParams) => {
      const init = { method: "POST", body, headers: { authorization } }
      return (await provider.send("/oauth/v2/par", init)).json()
    }
    const unsigned = await push(new URL(authorizePath(strict.id), issuer).searchParams)
    expect(unsigned.error).toBe("invalid_request")

    const request = await objectOf(strict)
    const { request_uri } = await push(new URLSearchParams({ request }))
    for (const way of [{ request }, { request_uri }]) {
      const query = new URLSearchParams({ client_id: strict.id, ...way })
      const { headers } = await provider.send(`/oauth/v2/authorize?${query}`)
      expect(headers.get("location")).toMatch(/^\/ui\/login/)
    }
  })
})

describe("a request object is rejected", () => {
  const bad: Readonly<Record<string, () => Changes>> = {
    "for another audience": () => ({ claims: { aud: "https://else.example" } }),
    "for no audience": () => ({ claims: { aud: undefined } }),
    "from another issuer": () => ({ claims: { iss: other.id } }),
    "from nobody": () => ({ claims: { iss: undefined } }),
    "that has expired": () => ({ claims: { exp: seconds() - 2 } }),
    "that never expires": () => ({ claims: { exp: undefined } }),
    "that expires after more than an hour": () => ({ claims: { exp: seconds() + 3602 } }),
    "that is not yet valid": () => ({ claims: { nbf: seconds() + 61 } }),
    "that was issued in the future": () => ({ claims: { iat: seconds() + 11 } }),
    "without client_id inside": () => ({ claims: { client_id: undefined } }),
    "with another client_id inside": () => ({ claims: { client_id: other.id } }),
    "with another response_type inside": () => ({ claims: { response_type: "id_token" } }),
    "without response_type inside": () => ({ claims: { response_type: undefined } }),
    "with another inside": () => ({ claims: { request: "x.y.z" } }),
    "with a request_uri inside": () => ({ claims: { request_uri: "https://x.example" } }),
    "with a list for a text": () => ({ claims: { scope: ["openid"] } }),
    "with null for a text": () => ({ claims: { state: null } }),
    "with an object for a text": () => ({ claims: { redirect_uri: { a: 1 } } }),
    "of the type of an access token": () => ({ header: { typ: "at+jwt" } }),
    "of the type of a proof": () => ({ header: { typ: "dpop+jwt" } }),
    "of a type that is no text": () => ({ header: { typ: 1 } }),
    "with a kid that is no text": () => ({ header: { kid: 5 } }),
    "with the kid of another client": () => ({ header: { kid: other.keyId } }),
    "with what must be understood": () => ({ header: { crit: ["x"], x: 1 } }),
    "signed by another client": () => ({ key: other.key }),
    "signed by another client, with its kid": () => ({
      key: other.key,
      header: { kid: other.keyId },
    }),
    "that names the client as its subject": () => ({ claims: { sub: web.id } }),
  }
  test.each(Object.entries(bad))("%s", async (_, changes) => {
    expect(await refusal(await objectOf(web, changes()))).toBe("invalid_request_object")
  })

  test("with an embedded key in the header", async () => {
    const own = generateKeyPairSync("rsa", { modulusLength: 2048 })
    const jwk = await exportJWK(own.publicKey)
    for (const header of [{ jwk }, { jku: "https://evil.example/keys" }, { x5u: "https://e.co" }]) {
      const request = await objectOf(web, { key: own.privateKey, header })
      expect(await refusal(request)).toBe("invalid_request_object")
    }
  })

  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")

  test("that is not signed (RFC 9101 §7)", async () => {
    for (const alg of ["none", "None", "NONE", "", 0, null]) {
      const head = encoded({ alg, kid: web.keyId })
      expect(await refusal(`${head}.${encoded(claimsOf(web))}.`)).toBe("invalid_request_object")
    }
  })

  test("that is signed with the secret, or with the public key as an HMAC secret", async () => {
    const publicPem = createPublicKey(web.key).export({ format: "pem", type: "spki" })
    for (const secret of [web.secret, publicPem]) {
      const text = `${encoded({ alg: "HS256", kid: web.keyId })}.${encoded(claimsOf(web))}`
      const mac = createHmac("sha256", secret).update(text).digest("base64url")
      expect(await refusal(`${text}.${mac}`)).toBe("invalid_request_object")
    }
  })

  test("that is not a JWT, or encrypted", async () => {
    for (const text of ["x", "a.b.c", "..", "a.b.c.d.e", `${await objectOf(web)}.x`, "\u0000"]) {
      expect(await refusal(text), text).toBe("invalid_request_object")
    }
  })

  test("in every other spelling of its signature", async () => {
    const request = await objectOf(web)
    const [head = "", body = "", signature = ""] = request.split(".")
    const others = [
      `${request}=`,
      `${request}A`,
      request.slice(0, -1),
      `${head}=.${body}.${signature}`,
    ]
    for (const text of others) expect(await refusal(text)).toBe("invalid_request_object")
  })

  test("when its key has expired or was removed", async () => {
    const shortLived = await addKeyTo(provider, web.appId, provider.clock.now() + 1000)
    const signed = () => objectOf({ ...shortLived, id: web.id })
    expect(await refusal(await signed())).toBeUndefined()
    provider.clock.advance(1000)
    expect(await refusal(await signed())).toBe("invalid_request_object")
    const spare = await addKeyTo(provider, web.appId)
    const request = await objectOf({ ...spare, id: web.id })
    await removeAppKey(provider.cx(), web.appId, spare.keyId)
    expect(await refusal(request)).toBe("invalid_request_object")
  })

  test("that is a client assertion, and vice versa", async () => {
    const { client_assertion } = await signAssertion(provider, web)
    expect(await refusal(client_assertion)).toBe("invalid_request_object")
    const client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    const keyed = await provider.addClient({ authMethod: "private_key_jwt" })
    const key = await addKeyTo(provider, keyed.appId)
    const body = new URLSearchParams({
      grant_type: "authorization_code",
      code: "x",
      redirect_uri: redirectUri,
      client_assertion_type,
      client_assertion: await objectOf(key),
    })
    const response = await provider.send("/oauth/v2/token", { method: "POST", body })
    expect(await response.json()).toHaveProperty("error", "invalid_client")
  })

  test("with a request_uri beside it, or twice", async () => {
    const request = await objectOf(web)
    const uri = { request_uri: "urn:ietf:params:oauth:request_uri:x", redirect_uri: redirectUri }
    const both = await provider.send(pathOf(request, uri))
    expect(errorAt(both.headers.get("location"))).toBe("invalid_request")
    const twice = await provider.send(`${pathOf(request)}&request=${request}`)
    expect([twice.status, twice.headers.has("location")]).toEqual([400, false])
  })

  test("on our own page if no redirect URI is given outside", async () => {
    const request = await objectOf(web, { key: other.key })
    const response = await provider.send(pathOf(request))
    expect([response.status, response.headers.has("location")]).toEqual([400, false])
    const unregistered = { redirect_uri: "https://evil.example/" }
    const evil = await provider.send(pathOf(request, unregistered))
    expect([evil.status, evil.headers.has("location")]).toEqual([400, false])
  })

  test("if it is empty, in which case the plain parameters apply", async () => {
    const response = await provider.send(`${authorizePath(web.id)}&request=&request_uri=`)
    expect(response.headers.get("location")).toMatch(/^\/ui\/login/)
  })
})

test("a key of another application with the same key ID is not accepted", async () => {
  const pair = generateKeyPairSync("rsa", { modulusLength: 2048 })
  const publicKey = String(pair.publicKey.export({ format: "pem", type: "spki" }))
  const { keyId } = web
  const expires = provider.clock.now() + 60_000
  await addAppKey(provider.cx(), other.appId, { keyId, publicKey, expires })
  const request = await objectOf(web, { key: pair.privateKey })
  expect(await refusal(request)).toBe("invalid_request_object")
})
