import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { revocation } from "../../src/domain/grant/index.ts"
import { setPublicUrl } from "../../src/domain/instance/index.ts"
import { activateWebKey, createWebKey, deleteWebKey } from "../../src/domain/key/commands.ts"
import * as key from "../../src/domain/key/index.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

const day = 86_400_000
const grantTypes = ["authorization_code", "refresh_token"] as const

let provider: Provider
let client: NewClient
let jwtClient: NewClient
let native: NewClient
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient({ grantTypes })
  jwtClient = await provider.addClient({ grantTypes, tokenType: "jwt" })
  native = await provider.addClient({ grantTypes, appType: "native", authMethod: "none" })
})
afterAll(() => provider.close())

const credentialsOf = (of: NewClient) => (of.secret ? `${of.id}:${of.secret}` : undefined)
const clientIdField = (of: NewClient): Record<string, string> =>
  of.secret ? {} : { client_id: of.id }

const signIn = async (of: NewClient) => {
  const path = authorizePath(of.id, { scope: "openid offline_access" })
  const { code = "" } = responseOf(await browserOf(provider).signIn(path))
  const { answer } = await sendTokenRequest(
    provider,
    codeFields(code, clientIdField(of)),
    credentialsOf(of),
  )
  return { access: String(answer.access_token), refresh: String(answer.refresh_token) }
}

const refresh = (token: string, of: NewClient) => {
  const fields = { grant_type: "refresh_token", refresh_token: token, ...clientIdField(of) }
  return sendTokenRequest(provider, fields, credentialsOf(of))
}

const post = (fields: Record<string, string>, basic?: string) => {
  const headers: Record<string, string> = basic
    ? { authorization: `Basic ${Buffer.from(basic).toString("base64")}` }
    : {}
  const body = new URLSearchParams(fields)
  return provider.send("/oauth/v2/revoke", { method: "POST", body, headers })
}
const revoke = (token: string, of = client, fields = {}) =>
  post({ token, ...clientIdField(of), ...fields }, credentialsOf(of))

const statusOf = async (token: string) => {
  const headers = { authorization: `Bearer ${token}` }
  return (await provider.send("/oidc/v1/userinfo", { headers })).status
}

describe("an access token that its client revokes (spec §3)", () => {
  test.each([
    ["opaque", () => client],
    ["a JWT", () => jwtClient],
    ["of a client without a secret", () => native],
  ] as const)("%s, is invalid from then on; others are not", async (_, of) => {
    const { access, refresh: token } = await signIn(of())
    const other = await refresh(token, of())
    expect(await statusOf(access)).toBe(200)
    const { status } = await revoke(access, of())
    expect(status).toBe(200)
    expect(await statusOf(access)).toBe(401)
    expect(await statusOf(String(other.answer.access_token))).toBe(200)
    expect((await refresh(String(other.answer.refresh_token), of())).status).toBe(200)
  })

  test("stays revoked when a clock was ahead meanwhile and is corrected", async () => {
    const { access } = await signIn(client)
    await revoke(access)
    provider.clock.advance(day)
    const now = provider.clock.now()
    const limits = { now, auditedBefore: 0, position: Number.MAX_SAFE_INTEGER }
    // The newest event stays, and so does its stream.
    await signIn(client)
    await provider.store.prune({ ...limits, stopped: () => false })
    provider.clock.advance(-day)
    expect(await statusOf(access)).toBe(401)
    provider.clock.advance(day)
  })

  test("is recorded once, and only until it would have expired", async () => {
    const { access } = await signIn(client)
    await revoke(access)
    const position = provider.store.log.durable()
    expect((await revoke(access)).status).toBe(200)
    expect(provider.store.log.durable()).toBe(position)
    const [event] = (await provider.store.log.read(position - 1, 1)) ?? []
    const expires = provider.clock.now() + 12 * 3_600_000
    expect(event).toMatchObject({ type: "oidc_session.access_token.revoked", data: { expires } })
    const state = provider.store.state(provider.cx(), revocation, event?.id ?? "")
    expect(revocation.expires?.(state)).toBe(expires + 60_000)
  })
})

describe("a refresh token that its client revokes (spec §3)", () => {
  test("ends together with its access tokens", async () => {
    const { access, refresh: token } = await signIn(client)
    const next = await refresh(token, client)
    const newest = String(next.answer.refresh_token)
    expect((await revoke(newest)).status).toBe(200)
    expect((await refresh(newest, client)).answer.error).toBe("invalid_grant")
    expect(await statusOf(access)).toBe(401)
    expect(await statusOf(String(next.answer.access_token))).toBe(401)
  })

  test("does so also when it was already replaced, because it is the same family", async () => {
    const { refresh: token } = await signIn(client)
    const next = await refresh(token, client)
    await revoke(token)
    expect(await statusOf(String(next.answer.access_token))).toBe(401)
  })

  test("keeps other sign-ins of the same user", async () => {
    const one = await signIn(client)
    const two = await signIn(client)
    await revoke(one.refresh)
    expect(await statusOf(two.access)).toBe(200)
    expect((await refresh(two.refresh, client)).status).toBe(200)
  })
})

describe("the revocation endpoint (RFC 7009)", () => {
  test("returns 200 for unknown or invalid tokens (§2.2)", async () => {
    const { access, refresh: token } = await signIn(client)
    for (const unknown of ["nonsense", "a.b.c", `${access}A`, access.slice(1), `${token}=`]) {
      const answer = await revoke(unknown)
      expect([answer.status, await answer.text()]).toEqual([200, ""])
      expect(answer.headers.get("cache-control")).toBe("no-store")
    }
    expect(await statusOf(access)).toBe(200)
    await revoke(token)
    expect((await revoke(token)).status).toBe(200)
    expect((await revoke(access)).status).toBe(200)
    const late = await signIn(client)
    provider.clock.advance(12 * 3_600_000)
    const position = provider.store.log.durable()
    expect((await revoke(late.access)).status).toBe(200)
    expect(provider.store.log.durable()).toBe(position)
  })

  test.each(["access_token", "refresh_token", "id_token", "nonsense"])(
    "treats token_type_hint=%s as a hint only (§2.1)",
    async (token_type_hint) => {
      const { access } = await signIn(client)
      expect((await revoke(access, client, { token_type_hint })).status).toBe(200)
      expect(await statusOf(access)).toBe(401)
      const { access: other, refresh: token } = await signIn(client)
      expect((await revoke(token, client, { token_type_hint })).status).toBe(200)
      expect(await statusOf(other)).toBe(401)
    },
  )

  test("rejects the token of another client, and keeps it valid (§2.1)", async () => {
    const { access, refresh: token } = await signIn(client)
    for (const theirs of [access, token]) {
      const answer = await revoke(theirs, jwtClient)
      expect([answer.status, (await answer.json()).error]).toEqual([400, "invalid_grant"])
    }
    expect(await statusOf(access)).toBe(200)
    expect((await refresh(token, client)).status).toBe(200)
  })

  test("rejects an unauthenticated client (§2.1)", async () => {
    const { access } = await signIn(client)
    const wrong = [
      await post({ token: access }),
      await post({ token: access, client_id: client.id }),
      await post({ token: access }, `${client.id}:wrong`),
      await post({ token: access, client_id: native.id, client_secret: "x" }),
    ]
    for (const answer of wrong) {
      expect([answer.status, (await answer.json()).error]).toEqual([401, "invalid_client"])
    }
    expect(await statusOf(access)).toBe(200)
  })

  test("accepts the secret in the body as well", async () => {
    const { access } = await signIn(client)
    const fields = { token: access, client_id: client.id, client_secret: client.secret }
    expect((await post(fields)).status).toBe(200)
    expect(await statusOf(access)).toBe(401)
  })

  test("requires a token, a form and POST", async () => {
    const none = await post({}, credentialsOf(client))
    expect([none.status, (await none.json()).error]).toEqual([400, "invalid_request"])
    const headers = { "content-type": "application/json" }
    const init = { method: "POST", body: "{}", headers }
    expect((await provider.send("/oauth/v2/revoke", init)).status).toBe(400)
    const get = await provider.send("/oauth/v2/revoke?token=x")
    expect([get.status, get.headers.get("allow")]).toEqual([405, "POST"])
  })

  test("allows scripts of other origins, which single-page applications need", async () => {
    const { access } = await signIn(native)
    expect((await revoke(access, native)).headers.get("access-control-allow-origin")).toBe("*")
    const asked = await provider.send("/oauth/v2/revoke", { method: "OPTIONS" })
    expect(asked.status).toBe(204)
  })
})

describe("the parsed token is cached, but not its state", () => {
  test("a JWT is invalid once its key is removed", async () => {
    const { access } = await signIn(jwtClient)
    expect(await statusOf(access)).toBe(200)
    const cx = provider.cx()
    const old = key.listWebKeys(cx).find(({ algorithm }) => algorithm === "ES256")
    const fresh = await createWebKey(cx, { kind: "ecdsa", curve: "P-256" })
    provider.clock.advance(3_600_000)
    await activateWebKey(cx, fresh.id)
    expect(await statusOf(access)).toBe(200)
    await deleteWebKey(cx, old?.id ?? "")
    expect(await statusOf(access)).toBe(401)
  })

  test("a JWT contains the issuer, and is invalid once the issuer changes", async () => {
    const apart = await openProvider()
    const of = await apart.addClient({ tokenType: "jwt" })
    const { code = "" } = responseOf(await browserOf(apart).signIn(authorizePath(of.id)))
    const { answer } = await sendTokenRequest(apart, codeFields(code), credentialsOf(of))
    const headers = { authorization: `Bearer ${answer.access_token}` }
    const status = async () => (await apart.send("/oidc/v1/userinfo", { headers })).status
    expect(await status()).toBe(200)
    await setPublicUrl(apart.cx(), "i1", "https://moved.example.com")
    expect(await status()).toBe(401)
    await apart.close()
  })

  test("many concurrent tokens are distinct", async () => {
    const { refresh: token } = await signIn(client)
    let newest = token
    const all: string[] = []
    for (let each = 0; each < 20; each++) {
      const { answer } = await refresh(newest, client)
      newest = String(answer.refresh_token)
      all.push(String(answer.access_token))
    }
    await revoke(all[7] ?? "")
    const statuses = await Promise.all(all.map(statusOf))
    expect(statuses).toEqual(all.map((_, at) => (at === 7 ? 401 : 200)))
  })
})
