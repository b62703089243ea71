import { SignJWT } from "jose"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { createProject } from "../../src/domain/project/index.ts"
import { searchRefusals } from "../../src/domain/refusal/refusal.ts"
import { addKeyClient, addKeyTo, type ClientKey, signAssertion } from "./clients.ts"
import { credentialsOf, openExchange, typeOf, userIdType } from "./exchange.ts"
import { createProof, newProofKey, type ProofKey } from "./proof.ts"
import {
  authorizePath,
  challenge,
  codeFields,
  issuer,
  type NewClient,
  responseOf,
  sendTokenRequest,
  signedOutUri,
} from "./provider.ts"

let exchange: Awaited<ReturnType<typeof openExchange>>
let signedIn: Awaited<ReturnType<typeof exchange.signIn>>
let keyed: NewClient & ClientKey
let tv: NewClient
let webKey: ClientKey
let proofKey: ProofKey
beforeAll(async () => {
  exchange = await openExchange()
  keyed = await addKeyClient(exchange.provider)
  tv = await exchange.provider.addClient({ grantTypes: ["device_code"], authMethod: "none" })
  webKey = await addKeyTo(exchange.provider, exchange.web.appId)
  proofKey = await newProofKey()
})
beforeEach(async () => {
  signedIn = await exchange.signIn()
})
afterAll(() => exchange.provider.close())

const page = { offset: 0, limit: 1, asc: false }
const scope = { all: true, orgs: [], projects: [], grants: [] }

/** The administrator's explanation of the last rejected request. */
const last = () =>
  searchRefusals({ ...exchange.provider.cx(), scope }, { requestId: "", appId: "", page }).rows[0]

const seconds = () => Math.floor(exchange.provider.clock.now() / 1000)

const post = (path: string, fields: Record<string, string>, headers = {}) =>
  exchange.provider.send(path, { method: "POST", body: new URLSearchParams(fields), headers })

const basic = (client: NewClient) => ({
  authorization: `Basic ${Buffer.from(credentialsOf(client)).toString("base64")}`,
})

/** A row: the action, and the expected findings. */
type Row = readonly [act: () => unknown, ...found: readonly Readonly<Record<string, unknown>>[]]

function expectFindings(rows: Readonly<Record<string, Row>>) {
  test.each(Object.entries(rows))("%s", async (_, [act, ...found]) => {
    await act()
    expect(last()?.findings).toMatchObject(found)
    expect(last()?.findings).toHaveLength(found.length)
    const known = JSON.stringify(last())
    for (const secret of Object.values(signedIn)) {
      if (typeof secret === "string") expect(known).not.toContain(secret)
    }
  })
}

const signOut = (fields: Record<string, string>) =>
  signedIn.browser.go(`/oidc/v1/end_session?${new URLSearchParams(fields)}`)

describe("an id_token_hint", () => {
  test("identifies the request, because clients send nothing else", async () => {
    const post_logout_redirect_uri = `${signedOutUri}/`
    await signOut({ id_token_hint: signedIn.id, post_logout_redirect_uri })
    expect(last()).toMatchObject({
      clientId: exchange.web.id,
      application: { id: exchange.web.appId },
      findings: [
        {
          subject: "post_logout_redirect_uri",
          received: post_logout_redirect_uri,
          expected: [signedOutUri],
          likelyCauseKey: "address.slash",
        },
      ],
    })
  })

  const signed = (iss: string) =>
    new SignJWT({ iss, azp: exchange.web.id }).setProtectedHeader({ alg: "RS256" }).sign(webKey.key)
  const subject = "id_token_hint"
  expectFindings({
    "of another client": [
      () => signOut({ id_token_hint: signedIn.id, client_id: exchange.gateway.id }),
      { subject, likelyCauseKey: "hint.other_client" },
    ],
    "of another server": [
      async () => signOut({ id_token_hint: await signed("https://id.example.org") }),
      { subject: `iss of ${subject}`, received: "https://id.example.org", expected: [issuer] },
    ],
    "that somebody else signed": [
      async () => signOut({ id_token_hint: await signed(issuer) }),
      { subject, likelyCauseKey: "hint.changed" },
    ],
    "that is none": [
      () => signedIn.browser.go(authorizePath(exchange.web.id, { id_token_hint: signedIn.access })),
      { subject, likelyCauseKey: "assertion.no_jwt" },
    ],
  })
})

describe("a request object", () => {
  type Signed = { readonly key?: ClientKey; readonly kid?: string }
  const ask = async (claims: object, { key = webKey, kid = key.keyId }: Signed = {}) => {
    const alg = "RS256"
    const all = {
      iss: exchange.web.id,
      aud: issuer,
      exp: seconds() + 60,
      client_id: exchange.web.id,
      ...claims,
    }
    const request = await new SignJWT(all).setProtectedHeader({ alg, kid }).sign(key.key)
    return signedIn.browser.go(authorizePath(exchange.web.id, { request }))
  }
  expectFindings({
    "for another audience": [
      () => ask({ aud: issuer.replace("https", "http") }),
      { subject: "aud", expected: [issuer], likelyCauseKey: "address.scheme" },
    ],
    "that is over": [() => ask({ exp: seconds() - 5 }), { subject: "exp", received: "5 s ago" }],
    "that is not good yet": [
      () => ask({ nbf: seconds() + 50 }),
      { subject: "nbf", received: "50 s ahead", likelyCauseKey: "assertion.clock" },
    ],
    "of another client": [() => ask({ client_id: exchange.gateway.id }), { subject: "client_id" }],
    "of another issuer": [() => ask({ iss: "me" }), { subject: "iss", received: "me" }],
    "with an unknown key": [
      () => ask({}, { kid: "another" }),
      { subject: "kid", received: "another", likelyCauseKey: "assertion.app_key" },
    ],
    "that is signed with another key": [
      () => ask({}, { key: { ...keyed, keyId: webKey.keyId } }),
      { subject: "request", likelyCauseKey: "object.other" },
    ],
    "that nobody signed": [
      () =>
        signedIn.browser.go(
          authorizePath(exchange.web.id, { request: "eyJhbGciOiJub25lIn0.e30." }),
        ),
      { subject: "alg", received: "none", likelyCauseKey: "object.unsigned" },
    ],
  })
})

describe("a pushed request", () => {
  const fields = () =>
    Object.fromEntries(new URL(authorizePath(exchange.web.id), issuer).searchParams)
  const pushed = async () => {
    const answer: { request_uri: string } = await (
      await post("/oauth/v2/par", fields(), basic(exchange.web))
    ).json()
    return answer.request_uri
  }
  const come = (request_uri: string, { id }: NewClient = exchange.web) =>
    signedIn.browser.go(
      `/oauth/v2/authorize?${new URLSearchParams({ client_id: id, request_uri })}`,
    )
  const subject = "request_uri"
  expectFindings({
    "that was used": [
      async () => {
        const uri = await pushed()
        await come(uri)
        await come(uri)
      },
      { subject, likelyCauseKey: "pushed.used" },
    ],
    "that is too old": [
      async () => {
        const uri = await pushed()
        exchange.provider.clock.advance(60_000)
        await come(uri)
      },
      { subject, likelyCauseKey: "pushed.old" },
    ],
    "of another client": [
      async () => come(await pushed(), exchange.gateway),
      { subject, likelyCauseKey: "pushed.other_client" },
    ],
    "that was cut off": [
      async () => come((await pushed()).slice(0, -2)),
      { subject, likelyCauseKey: "pushed.not_ours" },
    ],
  })
})

describe("a client's own assertion", () => {
  const ask = async (claims: object, header = {}) =>
    post("/oauth/v2/token", {
      ...codeFields("x"),
      ...(await signAssertion(exchange.provider, keyed, { claims: { ...claims }, header })),
    })
  const proof = { subject: "client authentication", likelyCauseKey: "proof.assertion" }
  expectFindings({
    "for another audience": [
      () => ask({ aud: issuer.replace("https", "http") }),
      proof,
      { subject: "aud", expected: [issuer], likelyCauseKey: "address.scheme" },
    ],
    "of another subject": [() => ask({ sub: "me" }), proof, { subject: "sub", received: "me" }],
    "that is over": [
      () => ask({ iat: undefined, exp: seconds() - 9 }),
      proof,
      { subject: "exp", received: "9 s ago" },
    ],
    "with an unknown key": [
      () => ask({}, { kid: "another" }),
      proof,
      { subject: "kid", received: "another", likelyCauseKey: "assertion.app_key" },
    ],
  })
})

describe("a DPoP proof", () => {
  const ask = async (dpop: string) => post("/oauth/v2/token", codeFields("x"), { dpop })
  const made = (claims: object, typ = "dpop+jwt") =>
    new SignJWT({
      jti: `${Math.random()}`,
      htm: "POST",
      htu: `${issuer}/oauth/v2/token`,
      iat: seconds(),
      ...claims,
    })
      .setProtectedHeader({ typ, alg: "ES256", jwk: proofKey.jwk })
      .sign(proofKey.privateKey)
  expectFindings({
    "for the address behind a proxy": [
      async () => ask(await made({ htu: "http://id.example.com/oauth/v2/token" })),
      { subject: "htu", expected: [`${issuer}/oauth/v2/token`], likelyCauseKey: "address.scheme" },
    ],
    "for another method": [
      async () => ask(await made({ htm: "GET" })),
      { subject: "htm", received: "GET", expected: ["POST"] },
    ],
    "of another type": [async () => ask(await made({}, "jwt")), { subject: "typ" }],
    "of a wrong clock": [
      async () => ask(await made({ iat: seconds() - 600 })),
      { subject: "iat", received: "600 s old", likelyCauseKey: "assertion.clock" },
    ],
    "that was used before": [
      async () => {
        const proof = await createProof(exchange.provider, proofKey)
        await ask(proof)
        await ask(proof)
      },
      { subject: "DPoP", likelyCauseKey: "dpop.other" },
    ],
  })
})

describe("an access token at userinfo", () => {
  const show = (token: string, scheme = "Bearer") =>
    exchange.provider.send("/oidc/v1/userinfo", {
      headers: { authorization: `${scheme} ${token}` },
    })
  const subject = "access token"
  expectFindings({
    "that was cut off": [
      () => show(signedIn.access.slice(0, -2)),
      { subject, received: "", likelyCauseKey: "token.not_ours" },
    ],
    "that was revoked": [
      async () => {
        await post("/oauth/v2/revoke", { token: signedIn.access }, basic(exchange.web))
        await show(signedIn.access)
      },
      { subject, likelyCauseKey: "token.revoked" },
    ],
    "whose session has ended": [
      async () => {
        await signOut({ id_token_hint: signedIn.id })
        await show(signedIn.access)
      },
      { subject, likelyCauseKey: "token.ended" },
    ],
    "that is bound to no key": [
      () => show(signedIn.access, "DPoP"),
      { subject, likelyCauseKey: "token.unbound" },
    ],
  })

  test("identifies the client of the request", async () => {
    await show(signedIn.access, "DPoP")
    expect(last()).toMatchObject({
      clientId: exchange.web.id,
      application: { id: exchange.web.appId },
    })
  })
})

describe("a code", () => {
  const redeem = async (
    changes: Record<string, string>,
    { id, secret }: NewClient = exchange.web,
  ) => {
    const { code = "" } = responseOf(await signedIn.browser.go(authorizePath(exchange.web.id)))
    return sendTokenRequest(exchange.provider, codeFields(code, changes), `${id}:${secret}`)
  }
  expectFindings({
    "of another client": [
      async () => redeem({}, await exchange.provider.addClient()),
      { subject: "code", received: "", likelyCauseKey: "code.other_client" },
    ],
    "without its verifier": [
      () => redeem({ code_verifier: "" }),
      { subject: "code_verifier", received: "", likelyCauseKey: "verifier.missing" },
    ],
    "with the challenge as verifier": [
      () => redeem({ code_verifier: challenge }),
      {
        subject: "SHA-256 of code_verifier",
        expected: [challenge],
        likelyCauseKey: "verifier.challenge",
      },
    ],
  })
})

describe("a refresh token", () => {
  const subject = "refresh_token"
  const granted = async () =>
    (await exchange.signIn("olga", exchange.web, "openid offline_access")).refresh
  const refresh = (token: string, client = exchange.web) =>
    sendTokenRequest(
      exchange.provider,
      { grant_type: subject, refresh_token: token },
      credentialsOf(client),
    )
  expectFindings({
    "that was cut off": [
      async () => refresh((await granted()).slice(0, -2)),
      { subject, received: "", likelyCauseKey: "refresh.not_ours" },
    ],
    "of another client": [
      async () => {
        const other = await exchange.provider.addClient({ grantTypes: ["refresh_token"] })
        await refresh(await granted(), other)
      },
      { subject, received: "", likelyCauseKey: "refresh.other_client" },
    ],
    "that was replaced twice": [
      async () => {
        const first = await granted()
        const { answer } = await refresh(first)
        await refresh(String(answer.refresh_token))
        await refresh(first)
      },
      { subject, received: "", likelyCauseKey: "refresh.ended" },
    ],
    "that nobody used for too long": [
      async () => {
        const token = await granted()
        exchange.provider.clock.advance(365 * 86_400_000)
        await refresh(token)
      },
      { subject, received: "", likelyCauseKey: "refresh.expired" },
    ],
  })

  test("for more scope than granted", async () => {
    const fields = { grant_type: subject, refresh_token: await granted(), scope: "openid email" }
    await sendTokenRequest(exchange.provider, fields, credentialsOf(exchange.web))
    expect(last()?.findings).toMatchObject([
      { subject: "scope", received: "openid email", expected: ["openid", "offline_access"] },
    ])
  })
})

describe("an exchange", () => {
  const actor = () => ({ actor_token: signedIn.access, actor_token_type: typeOf("access_token") })
  expectFindings({
    "of a token that was cut off": [
      () => exchange.exchange(signedIn.access.slice(0, -2)),
      { subject: "subject_token", received: "", likelyCauseKey: "token.not_ours" },
    ],
    "of a token of an unknown type": [
      () => exchange.exchange(signedIn.access, { subject_token_type: "jwt" }),
      { subject: "subject_token_type", received: "jwt", likelyCauseKey: "value.unknown" },
    ],
    "of a token that is named as another type": [
      () => exchange.exchange(signedIn.access, { subject_token_type: typeOf("id_token") }),
      { subject: "subject_token", likelyCauseKey: "token.not_ours" },
    ],
    "by somebody who may not act": [
      () => exchange.exchange("somebody", { subject_token_type: userIdType, ...actor() }),
      { subject: "actor_token", likelyCauseKey: "actor.may_not" },
    ],
    "for an unknown resource": [
      () => exchange.exchange(signedIn.access, { resource: "https://api.example.com" }),
      { subject: "resource", received: "https://api.example.com" },
    ],
    "for an audience that the token is not for": [
      () => exchange.exchange(signedIn.access, { audience: "nobody" }),
      { subject: "audience", received: "nobody", likelyCauseKey: "resource.closed" },
    ],
    "for a project that was not granted": [
      async () => {
        const id = exchange.provider.cx().ids.next()
        const { orgId } = exchange.provider.setup
        await createProject(exchange.provider.cx(), id, { orgId, name: "Not granted" })
        const resource = `urn:core:iam:org:project:id:${id}:aud`
        await exchange.exchange(signedIn.access, { resource })
      },
      { subject: "resource", likelyCauseKey: "resource.closed" },
    ],
    "of a token that has come through ten": [
      async () => {
        let token = signedIn.access
        for (let depth = 0; depth < 10; depth++) {
          token = String((await exchange.exchanged(token)).access_token)
        }
        await exchange.exchange(token)
      },
      { subject: "subject_token", likelyCauseKey: "token.exchanged" },
    ],
  })

  test("of a token for another audience shows both sides", async () => {
    const cx = exchange.provider.cx()
    const project = cx.ids.next()
    await createProject(cx, project, { orgId: exchange.provider.setup.orgId, name: "Elsewhere" })
    const stranger = await exchange.provider.addClient({ grantTypes: ["token_exchange"] }, project)
    await exchange.exchange(signedIn.access, {}, stranger)
    expect(last()?.findings).toMatchObject([
      {
        subject: "aud of subject_token",
        received: `${exchange.web.id} ${exchange.provider.projectId}`,
        expected: [stranger.id, project],
        likelyCauseKey: "token.audience",
      },
    ])
  })
})

describe("other errors of a request", () => {
  const device = async () => {
    const asked = await post("/oauth/v2/device_authorization", { client_id: tv.id })
    const { device_code: code }: { device_code: string } = await asked.json()
    return code
  }
  const poll = (device_code: string) =>
    sendTokenRequest(exchange.provider, {
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      client_id: tv.id,
      device_code,
    })
  expectFindings({
    "a grant type that nobody knows": [
      () => sendTokenRequest(exchange.provider, { grant_type: "password" }),
      { subject: "grant_type", received: "password", likelyCauseKey: "value.unknown" },
    ],
    "JSON where a form belongs": [
      () =>
        exchange.provider.send("/oauth/v2/token", {
          method: "POST",
          body: JSON.stringify(codeFields("x")),
          headers: { "content-type": "application/json" },
        }),
      {
        subject: "content-type",
        received: "application/json",
        expected: ["application/x-www-form-urlencoded"],
        likelyCauseKey: "form.type",
      },
    ],
    "a prompt that is none": [
      () => signedIn.browser.go(authorizePath(exchange.web.id, { prompt: "dance" })),
      { subject: "prompt", received: "dance", likelyCauseKey: "value.unknown" },
    ],
    "a response mode that is none": [
      () => signedIn.browser.go(authorizePath(exchange.web.id, { response_mode: "jwt" })),
      { subject: "response_mode", received: "jwt", expected: ["query", "fragment", "form_post"] },
    ],
    "revoking what another client was given": [
      () => post("/oauth/v2/revoke", { token: signedIn.access }, basic(exchange.gateway)),
      { subject: "token", likelyCauseKey: "refresh.other_client" },
    ],
    "a device code that was cut off": [
      async () => poll((await device()).slice(0, -2)),
      { subject: "device_code", likelyCauseKey: "code.not_ours" },
    ],
    "a device code that has expired": [
      async () => {
        const code = await device()
        exchange.provider.clock.advance(300_000)
        await poll(code)
      },
      { subject: "device_code", likelyCauseKey: "device.old" },
    ],
  })
})
