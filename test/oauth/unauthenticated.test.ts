import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { findClient } from "../../src/domain/app/index.ts"
import { type Refusal, searchRefusals } from "../../src/domain/refusal/refusal.ts"
import { generateMachineSecret } from "../../src/domain/service-account/machine-secret.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { user } from "../../src/domain/user-model/model.ts"
import { oauthRoutes } from "../../src/oauth/index.ts"
import { isActive } from "../../src/oauth/token/active.ts"
import { serveAreas } from "../http/answering.ts"
import { measureCpu } from "../support/cpu-time.ts"
import { assertionType } from "./clients.ts"
import {
  authorizePath,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  redirectUri,
} from "./provider.ts"
import { addMachine, jwtBearer } from "./service-account.ts"

let provider: Provider
let client: NewClient
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient()
})
afterAll(() => provider.close())

const post = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  provider.send(path, { method: "POST", body: new URLSearchParams(fields), headers })

const part = (json: string) => Buffer.from(json).toString("base64url")
/** An unsigned JWT. */
const jwtOf = (header: string, claims: string) => `${part(header)}.${part(claims)}.${part("x")}`

describe("unusable JSON", () => {
  const deep = `${"[".repeat(9000)}${"]".repeat(9000)}`
  const values = [
    { what: "a list in a list, thousands deep", value: deep },
    { what: "an object that has no text", value: '{"toString":1,"valueOf":2}' },
  ]

  /** Requests of an unauthenticated caller, with one value in place of a string or number. */
  const requests: Readonly<Record<string, (value: string) => Promise<Response>>> = {
    "the kid of an access token": (value) =>
      provider.send("/oidc/v1/userinfo", {
        headers: {
          authorization: `Bearer ${jwtOf(`{"typ":"at+jwt","alg":"ES256","kid":${value}}`, "{}")}`,
        },
      }),
    "the kid of an id_token_hint": (value) => {
      const hint = jwtOf(`{"typ":"JWT","alg":"RS256","kid":${value}}`, "{}")
      const query = new URLSearchParams({ id_token_hint: hint })
      return provider.send(`/oidc/v1/endsession?${query}`)
    },
    ...Object.fromEntries(
      ["iss", "sub", "aud", "exp", "iat", "kid"].map((name) => [
        `the ${name} of an assertion`,
        (value: string) => {
          const claims = `{"iss":"1","sub":"1","${name}":${value}}`
          const assertion = jwtOf(`{"alg":"RS256"}`, claims)
          return post("/oauth/v2/token", { grant_type: jwtBearer, scope: "openid", assertion })
        },
      ]),
    ),
    "the exp of a client assertion": (value) =>
      post("/oauth/v2/token", {
        grant_type: "client_credentials",
        client_assertion_type: assertionType,
        client_assertion: jwtOf(`{"alg":"RS256"}`, `{"iss":"1","sub":"1","exp":${value}}`),
      }),
    "the key of a DPoP proof": (value) => {
      const key = `{"kty":"EC","crv":"P-256","x":${value},"y":"x"}`
      const dpop = jwtOf(`{"typ":"dpop+jwt","alg":"ES256","jwk":${key}}`, "{}")
      return post("/oauth/v2/token", { grant_type: "client_credentials" }, { dpop })
    },
    "the curve of a DPoP proof's key": (value) => {
      const key = `{"kty":"EC","crv":${value},"x":"x","y":"x"}`
      const dpop = jwtOf(`{"typ":"dpop+jwt","alg":"ES256","jwk":${key}}`, "{}")
      return post("/oauth/v2/token", { grant_type: "client_credentials" }, { dpop })
    },
    "the kid of a request object": (value) => {
      const request = jwtOf(`{"alg":"RS256","kid":${value}}`, "{}")
      return provider.send(authorizePath(client.id, { request }))
    },
    "a claim that is asked for": (value) => {
      const claims = `{"id_token":{"sub":{"value":${value}},"acr":{"values":[${value}]}}}`
      return post("/oauth/v2/authorize", Object.fromEntries(queryOf({ claims })))
    },
  }
  const queryOf = (changes: Record<string, string>) =>
    new URL(authorizePath(client.id, changes), "https://id.example.com").searchParams

  const rows = Object.keys(requests).flatMap((where) => values.map((each) => ({ where, ...each })))
  test.each(rows)(
    "$what as $where is rejected without an internal error",
    async ({ where, value }) => {
      const response = await requests[where]?.(value)
      expect(response?.status).toBeGreaterThanOrEqual(300)
      expect(response?.status).toBeLessThan(500)
    },
  )
})

describe("the explanation of a rejection to an application's owner", () => {
  const everything = { all: true, orgs: [], projects: [], grants: [] }
  const page = { offset: 0, limit: 1, asc: false }
  const last = () =>
    searchRefusals({ ...provider.cx(), scope: everything }, { requestId: "", appId: "", page })
      .rows[0]
  const forged = ({ userId, keyId }: { userId: string; keyId: string }) =>
    jwtOf(`{"alg":"RS256","kid":"${keyId}"}`, `{"iss":"${userId}","sub":"${userId}"}`)

  test("contains no keys of other organizations' service accounts", async () => {
    const robot = await addMachine(provider)
    const asked = async (keyId: string) => {
      const assertion = forged({ userId: robot.userId, keyId })
      const fields = { grant_type: jwtBearer, scope: "openid", assertion, client_id: client.id }
      await post("/oauth/v2/token", fields)
      const { clientId, findings } = last() ?? {}
      expect(clientId).toBe(client.id)
      return findings
    }
    expect(await asked(robot.keyId)).toEqual(await asked("1"))
  })

  test("is visible to instance administrators if the request has no client", async () => {
    const robot = await addMachine(provider)
    const assertion = forged({ userId: robot.userId, keyId: "1" })
    await post("/oauth/v2/token", { grant_type: jwtBearer, scope: "openid", assertion })
    expect(last()).toMatchObject({ clientId: "", application: undefined })
    expect(last()?.findings.map(({ subject }) => subject)).toContain("kid")
  })
})

test("an unauthenticated client's name is not logged", async () => {
  const forged = `${"A".repeat(80)}\n2026-01-01 [ERR] latchkey: forged \u001b[2J\r\u2028\u202e`
  const noted: Refusal[] = []
  const routes = oauthRoutes({
    show: () => Promise.resolve(new Response("page")),
    onRejected: (refusal) => noted.push(refusal),
  })
  const oauth = serveAreas([routes])
  for (const path of ["/oauth/v2/token", "/oauth/v2/par"]) {
    const url = new URL(path, issuer)
    const body = new URLSearchParams({ grant_type: "refresh_token", client_id: forged })
    await oauth(new Request(url, { method: "POST", body }), provider.cx(), url)
  }
  expect(noted).toHaveLength(2)
  for (const { clientId } of noted) expect(clientId).toMatch(/^A{80}[^\p{C}\p{Zl}\p{Zp}]*$/u)
})

test("a user's token is not accepted for another whose ID contains theirs", async () => {
  const cx = provider.cx()
  const { orgId } = provider.setup
  const machine = { kind: "machine", name: "Robot", accessTokenType: "bearer", orgId } as const
  await createUser(cx, "a/b", { ...machine, userName: "a-b" })
  await createUser(cx, "b", { ...machine, userName: "b" })
  await generateMachineSecret(cx, "a/b")
  const state = cx.store.state(cx, user, "a/b")
  const id = "secret" in state ? (state.secret?.id ?? "") : ""
  expect(isActive(cx, { grantId: `secret/${id}`, userId: "a/b" })).toBe(true)
  expect(isActive(cx, { grantId: `secret/${id}/a`, userId: "b" })).toBe(false)
})

test("an overlong client ID is neither looked up nor cached", async () => {
  const cx = provider.cx()
  const looked = vi.spyOn(cx.store.log, "holder")
  expect(findClient(cx, "7".repeat(60_000))).toBeUndefined()
  await post("/oauth/v2/token", { grant_type: "refresh_token", client_id: "8".repeat(60_000) })
  const keys = looked.mock.calls.map(([, , key]) => key.length)
  looked.mockRestore()
  expect(keys.filter((length) => length > 200)).toEqual([])
})

test("plain http is plain http in any spelling", async () => {
  const spelled = ["HTTP://app.example.com/cb", "hTTp://app.example.com/cb"]
  const shouting = await provider.addClient({ redirectUris: [...spelled, redirectUri] })
  for (const redirect_uri of spelled) {
    const response = await provider.send(authorizePath(shouting.id, { redirect_uri }))
    expect([response.status, response.headers.get("location")]).toEqual([400, null])
  }
})

describe("too many parameters", () => {
  const headers = { "content-type": "application/x-www-form-urlencoded" }
  const sent = async (body: string) => {
    const response = await provider.send("/oauth/v2/token", { method: "POST", headers, body })
    return response.json()
  }
  const many = (count: number) => Array.from({ length: count }, (_, at) => `p${at}=`).join("&")

  test("are rejected before authentication", async () => {
    expect((await sent(many(500))).error_description).toBe("grant_type is required")
    expect(await sent(many(501))).toMatchObject({
      error: "invalid_request",
      error_description: "there are too many parameters",
    })
    const [, computedMs] = await measureCpu(async () => {
      for (let times = 0; times < 20; times++) await sent(many(6000))
    })
    // Each name was looked up among all of them, which took half a second per request.
    expect(computedMs).toBeLessThan(2000)
  })

  test("are truncated in the explanation of the rejection", async () => {
    const scope = { all: true, orgs: [], projects: [], grants: [] }
    const page = { offset: 0, limit: 1, asc: false }
    const searched = { requestId: "", appId: "", page }
    const subjectOf = async (name: string) => {
      await sent(`${many(400)}&${name}&${name}`)
      const [last] = searchRefusals({ ...provider.cx(), scope }, searched).rows
      return last?.findings.map(({ subject }) => subject)
    }
    expect(await subjectOf("aB3".repeat(20))).toEqual(["aB3a… (60 characters)"])
    expect(await subjectOf("n".repeat(2000))).toEqual(["n".repeat(500)])
  })
})
