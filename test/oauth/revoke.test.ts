import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { revocation } from "../../src/domain/grant/index.ts"
import { setPublicUrl } from "../../src/domain/instance/index.ts"
import { activateWebKey, createWebKey, deleteWebKey } from "../../src/domain/key/commands.ts"
import * as key from "../../src/domain/key/index.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
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

const asOf = (of: NewClient) => (of.secret ? `${of.id}:${of.secret}` : undefined)
const named = (of: NewClient): Record<string, string> => (of.secret ? {} : { client_id: of.id })

const begin = async (of: NewClient) => {
  const path = authorizePath(of.id, { scope: "openid offline_access" })
  const { code = "" } = answerOf(await browserOf(provider).signIn(path))
  const { answer } = await askToken(provider, codeFields(code, named(of)), asOf(of))
  return { access: String(answer.access_token), refresh: String(answer.refresh_token) }
}

const refresh = (token: string, of: NewClient) => {
  const fields = { grant_type: "refresh_token", refresh_token: token, ...named(of) }
  return askToken(provider, fields, asOf(of))
}

const post = (fields: Record<string, string>, basic?: string) => {
  const headers: Record<string, string> = basic
    ? { authorization: `Basic ${Buffer.from(basic).toString("base64")}` }
    : {}
  const body = new URLSearchParams(fields)
  return provider.send("/oauth/v2/revoke", { method: "POST", body, headers })
}
const revoke = (token: string, of = client, fields = {}) =>
  post({ token, ...named(of), ...fields }, asOf(of))

const statusOf = async (token: string) => {
  const headers = { authorization: `Bearer ${token}` }
  return (await provider.send("/oidc/v1/userinfo", { headers })).status
}

describe("an access token that its client revokes (spec §3)", () => {
  test.each([
    ["opaque", () => client],
    ["a JWT", () => jwtClient],
    ["of a client without a secret", () => native],
  ] as const)("%s, is worth nothing from then on, and alone", async (_, of) => {
    const { access, refresh: token } = await begin(of())
    const other = await refresh(token, of())
    expect(await statusOf(access)).toBe(200)
    const { status } = await revoke(access, of())
    expect(status).toBe(200)
    expect(await statusOf(access)).toBe(401)
    expect(await statusOf(String(other.answer.access_token))).toBe(200)
    expect((await refresh(String(other.answer.refresh_token), of())).status).toBe(200)
  })

  test("stays so when a clock was ahead meanwhile and is set right", async () => {
    const { access } = await begin(client)
    await revoke(access)
    provider.clock.advance(day)
    const now = provider.clock.now()
    const limits = { now, auditedBefore: 0, position: Number.MAX_SAFE_INTEGER }
    // The newest event stays, and so does its stream.
    await begin(client)
    await provider.store.prune({ ...limits, stopped: () => false })
    provider.clock.advance(-day)
    expect(await statusOf(access)).toBe(401)
    provider.clock.advance(day)
  })

  test("is noted once, and only until it would have expired", async () => {
    const { access } = await begin(client)
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
  test("ends with all access tokens that belong to it", async () => {
    const { access, refresh: token } = await begin(client)
    const next = await refresh(token, client)
    const newest = String(next.answer.refresh_token)
    expect((await revoke(newest)).status).toBe(200)
    expect((await refresh(newest, client)).answer.error).toBe("invalid_grant")
    expect(await statusOf(access)).toBe(401)
    expect(await statusOf(String(next.answer.access_token))).toBe(401)
  })

  test("does so also when it was replaced already: it is the same family", async () => {
    const { refresh: token } = await begin(client)
    const next = await refresh(token, client)
    await revoke(token)
    expect(await statusOf(String(next.answer.access_token))).toBe(401)
  })

  test("leaves other sign-ins of the same person alone", async () => {
    const one = await begin(client)
    const two = await begin(client)
    await revoke(one.refresh)
    expect(await statusOf(two.access)).toBe(200)
    expect((await refresh(two.refresh, client)).status).toBe(200)
  })
})

describe("the revocation endpoint (RFC 7009)", () => {
  test("answers 200 for what nobody knows, or what is worth nothing already (§2.2)", async () => {
    const { access, refresh: token } = await begin(client)
    for (const unknown of ["nonsense", "a.b.c", `${access}A`, access.slice(1), `${token}=`]) {
      const answer = await revoke(unknown)
      expect([answer.status, await answer.text()]).toEqual([200, ""])
      expect(answer.headers.get("cache-control")).toBe("no-store")
    }
    expect(await statusOf(access)).toBe(200)
    await revoke(token)
    expect((await revoke(token)).status).toBe(200)
    expect((await revoke(access)).status).toBe(200)
    const late = await begin(client)
    provider.clock.advance(12 * 3_600_000)
    const position = provider.store.log.durable()
    expect((await revoke(late.access)).status).toBe(200)
    expect(provider.store.log.durable()).toBe(position)
  })

  test.each(["access_token", "refresh_token", "id_token", "nonsense"])(
    "takes token_type_hint=%s for a hint only (§2.1)",
    async (token_type_hint) => {
      const { access } = await begin(client)
      expect((await revoke(access, client, { token_type_hint })).status).toBe(200)
      expect(await statusOf(access)).toBe(401)
      const { access: other, refresh: token } = await begin(client)
      expect((await revoke(token, client, { token_type_hint })).status).toBe(200)
      expect(await statusOf(other)).toBe(401)
    },
  )

  test("refuses the token of another client, and leaves it be (§2.1)", async () => {
    const { access, refresh: token } = await begin(client)
    for (const theirs of [access, token]) {
      const answer = await revoke(theirs, jwtClient)
      expect([answer.status, (await answer.json()).error]).toEqual([400, "invalid_grant"])
    }
    expect(await statusOf(access)).toBe(200)
    expect((await refresh(token, client)).status).toBe(200)
  })

  test("refuses a client that does not prove who it is (§2.1)", async () => {
    const { access } = await begin(client)
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

  test("takes the secret in the body too", async () => {
    const { access } = await begin(client)
    const fields = { token: access, client_id: client.id, client_secret: client.secret }
    expect((await post(fields)).status).toBe(200)
    expect(await statusOf(access)).toBe(401)
  })

  test("wants a token, a form and POST", async () => {
    const none = await post({}, asOf(client))
    expect([none.status, (await none.json()).error]).toEqual([400, "invalid_request"])
    const headers = { "content-type": "application/json" }
    const init = { method: "POST", body: "{}", headers }
    expect((await provider.send("/oauth/v2/revoke", init)).status).toBe(400)
    const get = await provider.send("/oauth/v2/revoke?token=x")
    expect([get.status, get.headers.get("allow")]).toEqual([405, "POST"])
  })

  test("lets scripts of other origins ask, as single-page applications must", async () => {
    const { access } = await begin(native)
    expect((await revoke(access, native)).headers.get("access-control-allow-origin")).toBe("*")
    const asked = await provider.send("/oauth/v2/revoke", { method: "OPTIONS" })
    expect(asked.status).toBe(204)
  })
})

describe("what was read of a token is kept, but not what became of it", () => {
  test("a JWT is worth nothing once its key is removed", async () => {
    const { access } = await begin(jwtClient)
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

  test("a JWT names the issuer of its time: where that is another now, it is nothing", async () => {
    const apart = await openProvider()
    const of = await apart.addClient({ tokenType: "jwt" })
    const { code = "" } = answerOf(await browserOf(apart).signIn(authorizePath(of.id)))
    const { answer } = await askToken(apart, codeFields(code), asOf(of))
    const headers = { authorization: `Bearer ${answer.access_token}` }
    const status = async () => (await apart.send("/oidc/v1/userinfo", { headers })).status
    expect(await status()).toBe(200)
    await setPublicUrl(apart.cx(), "i1", "https://moved.example.com")
    expect(await status()).toBe(401)
    await apart.close()
  })

  test("many tokens at once are each their own", async () => {
    const { refresh: token } = await begin(client)
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
