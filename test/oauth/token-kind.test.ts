import { execFileSync } from "node:child_process"
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { activateWebKey, createWebKey } from "../../src/domain/key/commands.ts"
import { getSigner, publicKeys, publishedSeconds } from "../../src/domain/key/index.ts"

import { kindOf } from "../../src/oauth/token/claims/kind.ts"
import { needs } from "../support/prerequisite.ts"
import { exchangeGrant, typeOf } from "./exchange.ts"
import { type Browser, claimsOf, openSignedIn, userinfo } from "./must.ts"
import {
  authorizePath,
  codeFields,
  findApiCaller,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"
import { addMachine } from "./service-account.ts"

const api = "urn:core:iam:org:project:id:core:aud"
const spring = { accessTokenJwtType: "JWT", accessTokenAlgorithm: "RS256" } as const

let provider: Provider
let clients: Readonly<Record<"at+jwt" | "JWT", NewClient>>
let browser: Browser
beforeAll(async () => {
  provider = await openProvider()
  const grants = { grantTypes: ["authorization_code", "token_exchange"] } as const
  clients = {
    "at+jwt": await provider.addClient({ ...grants, tokenType: "jwt" }),
    JWT: await provider.addClient({ ...grants, tokenType: "jwt", tokens: spring }),
  }
  browser = await openSignedIn(provider, clients.JWT)
})
afterAll(() => provider.close())

type Typ = keyof typeof clients
type Kind = "access_token" | "id_token"

async function tokenOf(typ: Typ, kind: Kind): Promise<string> {
  const client = clients[typ]
  const page = await browser.go(authorizePath(client.id, { scope: `openid ${api}` }))
  const { code = "" } = responseOf(await browser.post(page, { answer: "allow" }))
  const { answer } = await sendTokenRequest(provider, codeFields(code), basicOf(client))
  return String(answer[kind])
}

const basicOf = ({ id, secret }: NewClient) => `${id}:${secret}`

const postForm = async (path: string, client: NewClient, fields: Record<string, string>) => {
  const headers = { authorization: `Basic ${Buffer.from(basicOf(client)).toString("base64")}` }
  const body = new URLSearchParams(fields)
  return provider.send(path, { method: "POST", body, headers })
}

const exchangeAs = (type: string) => async (token: string, typ: Typ) => {
  const subject = { subject_token: token, subject_token_type: typeOf(type) }
  const fields = { grant_type: exchangeGrant, ...subject }
  return (await sendTokenRequest(provider, fields, basicOf(clients[typ]))).status === 200
}

type Endpoint = {
  readonly name: string
  readonly accepts: Kind
  readonly isAccepted: (token: string, typ: Typ) => Promise<boolean>
}

const endpoints: readonly Endpoint[] = [
  {
    name: "userinfo",
    accepts: "access_token",
    isAccepted: async (token) => (await userinfo(provider, token)).status === 200,
  },
  {
    name: "the management interface",
    accepts: "access_token",
    isAccepted: (token) =>
      findApiCaller(provider, token).then(
        () => true,
        () => false,
      ),
  },
  {
    name: "introspection",
    accepts: "access_token",
    isAccepted: async (token, typ) =>
      (await (await postForm("/oauth/v2/introspect", clients[typ], { token })).json()).active,
  },
  {
    name: "revocation",
    accepts: "access_token",
    isAccepted: async (token, typ) => {
      const own = await tokenOf(typ, "access_token")
      await postForm("/oauth/v2/revoke", clients[typ], { token })
      // A token that was not accepted is not revoked.
      const { status } = await userinfo(provider, token)
      expect((await userinfo(provider, own)).status).toBe(200)
      return claimsOf(token).scope !== undefined && status === 401
    },
  },
  {
    name: "token exchange as an access_token",
    accepts: "access_token",
    isAccepted: exchangeAs("access_token"),
  },
  {
    name: "token exchange as a jwt",
    accepts: "access_token",
    isAccepted: exchangeAs("jwt"),
  },
  {
    name: "token exchange as an id_token",
    accepts: "id_token",
    isAccepted: exchangeAs("id_token"),
  },
  {
    name: "id_token_hint of an authorization request",
    accepts: "id_token",
    isAccepted: async (token, typ) => {
      const hint = { id_token_hint: token, prompt: "none" }
      const { path } = await browser.go(authorizePath(clients[typ].id, hint))
      return new URL(path).searchParams.has("code")
    },
  },
]

const kinds: readonly Kind[] = ["access_token", "id_token"]
const rows = endpoints.flatMap((endpoint) =>
  (["at+jwt", "JWT"] as const).flatMap((typ) =>
    kinds.map((kind) => ({ ...endpoint, typ, kind, expected: kind === endpoint.accepts })),
  ),
)

describe("each endpoint accepts one kind of JWT", () => {
  test.each(rows)("$name: $kind with $typ: $expected", async (row) => {
    const token = await tokenOf(row.typ, row.kind)
    expect(await row.isAccepted(token, row.typ)).toBe(row.expected)
  })

  test.each(["at+jwt", "JWT"] as const)("sign-out: id_token_hint with %s", async (typ) => {
    const at = async (kind: Kind) => {
      const hint = await tokenOf(typ, kind)
      const headers = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" }
      const path = `/oidc/v1/end_session?id_token_hint=${hint}`
      return (await provider.send(path, { headers })).status
    }
    expect(await at("access_token")).toBe(400)
    expect(await at("id_token")).not.toBe(400)
  })
})

describe("the kind of a JWT", () => {
  const claim = "urn:core:iam:token:kind"
  test.each([
    ["at+jwt", {}, "access_token"],
    ["JWT", {}, "id_token"],
    ["JWT", { [claim]: "access_token" }, "access_token"],
    ["JWT", { [claim]: "id_token" }, undefined],
    ["JWT", { [claim]: true }, undefined],
    ["logout+jwt", { [claim]: "access_token" }, undefined],
    ["target+jwt", {}, undefined],
    [undefined, {}, undefined],
  ])("%s with %o is %s", (typ, claims, kind) => expect(kindOf(typ, claims)).toBe(kind))

  test("a JWT with the claim but without the rest of an access token is not one", async () => {
    const exp = Math.floor(provider.clock.now() / 1000) + 60
    const claims = { iss: issuer, sub: provider.setup.ownerId, exp, [claim]: "access_token" }
    const jwt = await getSigner(provider.cx(), "RS256").sign(claims, "JWT")
    expect((await userinfo(provider, jwt)).status).toBe(401)
  })
})

const jwks = () => createLocalJWKSet({ keys: publicKeys(provider.cx()).map((k) => ({ ...k })) })

describe("resource servers", () => {
  test("one that accepts only typ JWT and RS256, as Spring does, accepts our tokens", async () => {
    const token = await tokenOf("JWT", "access_token")
    const currentDate = new Date(provider.clock.now())
    const options = { typ: "JWT", algorithms: ["RS256"], issuer, currentDate }
    const { payload } = await jwtVerify(token, jwks(), options)
    expect(payload.sub).toBe(provider.setup.ownerId)
    const other = await tokenOf("at+jwt", "access_token")
    await expect(jwtVerify(other, jwks(), options)).rejects.toThrow()
    expect(decodeProtectedHeader(other)).toMatchObject({ typ: "at+jwt", alg: "ES256" })
  })

  test.runIf(needs("pyjwt"))('PyJWT with algorithms=["RS256"]', async () => {
    const program = `
import json, sys, jwt
given = json.load(sys.stdin)
keys = jwt.PyJWKSet.from_dict(given["jwks"])
kid = jwt.get_unverified_header(given["token"])["kid"]
key = next(k for k in keys.keys if k.key_id == kid)
options = {"verify_exp": False, "verify_iat": False, "verify_nbf": False}
print(jwt.decode(given["token"], key.key, algorithms=["RS256"], audience=given["aud"],
  issuer=given["iss"], options=options)["sub"])`
    const input = JSON.stringify({
      token: await tokenOf("JWT", "access_token"),
      jwks: { keys: publicKeys(provider.cx()) },
      aud: clients.JWT.id,
      iss: issuer,
    })
    const printed = execFileSync("/usr/bin/python3", ["-c", program], { input }).toString()
    expect(printed.trim()).toBe(provider.setup.ownerId)
  })

  test("a service account has its own token format", async () => {
    const format = { jwtType: "JWT", jwtAlgorithm: "RS256" } as const
    const machine = await addMachine(provider, "jwt", format)
    const { answer } = await sendTokenRequest(provider, await machine.fields({}, `openid ${api}`))
    const token = String(answer.access_token)
    expect(decodeProtectedHeader(token)).toMatchObject({ typ: "JWT", alg: "RS256" })
    expect(await findApiCaller(provider, token)).toMatchObject({ userId: machine.userId })
    const plain = await addMachine(provider, "jwt")
    const { answer: other } = await sendTokenRequest(provider, await plain.fields({}, "openid"))
    expect(decodeProtectedHeader(String(other.access_token))).toMatchObject({
      typ: "at+jwt",
      alg: "ES256",
    })
    await expect(addMachine(provider, "jwt", { jwtAlgorithm: "RS512" })).rejects.toMatchObject({
      id: "web_key.none_active",
    })
  })

  test("tokens signed before a key rotation stay valid, new ones have the new key", async () => {
    const before = await tokenOf("JWT", "access_token")
    const { id } = await createWebKey(provider.cx(), { kind: "rsa", bits: 2048, hash: 256 })
    provider.clock.advance(publishedSeconds * 1000)
    await activateWebKey(provider.cx(), id)
    const after = await tokenOf("JWT", "access_token")
    expect(decodeProtectedHeader(after).kid).toBe(id)
    expect((await userinfo(provider, before)).status).toBe(200)
    expect((await userinfo(provider, after)).status).toBe(200)
  })
})
