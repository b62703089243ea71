import { createHash, createPublicKey } from "node:crypto"
import { addAppKey } from "../../../src/domain/app/credential/app-key.ts"
import { algorithms, verifyJwt } from "../../../src/domain/key/index.ts"
import { webKey } from "../../../src/domain/key/model.ts"
import { differenceOf, findingsOf } from "../../../src/domain/refusal/finding.ts"
import { parseRequestObject } from "../../../src/oauth/authorize/request/request-object.ts"
import { parseAssertion, verifyAssertion } from "../../../src/oauth/client/assertion.ts"
import { decodeUnverified, findingsInJwt } from "../../../src/oauth/client/jwt.ts"
import { verifyProof } from "../../../src/oauth/client/proof.ts"
import { OAuthError } from "../../../src/oauth/error.ts"
import { parseMembers } from "../../../src/oauth/registration/json-member.ts"
import { parseMetadata } from "../../../src/oauth/registration/metadata.ts"
import { readToken } from "../../../src/oauth/token/statement.ts"
import { findRedirectUriError } from "../../../src/protocol/redirect-uri.ts"
import type { Cx } from "../../../src/store/index.ts"
import { issuer, openProvider, type Provider } from "../../oauth/provider.ts"
import { edKey, publicPem, signJwt } from "../engine/keys.ts"
import { fuzzTarget, requireEqual, requireProperty } from "../engine/target.ts"

type Context = { readonly cx: Cx; readonly provider: Provider; readonly valid: readonly string[] }

const close = ({ provider }: Context) => provider.close()

async function openContext(valid: (cx: Cx) => readonly string[] | Promise<readonly string[]>) {
  const provider = await openProvider()
  const cx = provider.cx()
  return { provider, cx, valid: await valid(cx) }
}

const tokens = [
  "none",
  "HS256",
  "RS256",
  "ES256",
  "EdDSA",
  "at+jwt",
  "JWT",
  "dpop+jwt",
  "kid",
  "alg",
  "typ",
  "crit",
  "jwk",
  "jku",
  "x5c",
  "b64",
  "zip",
  "iss",
  "sub",
  "aud",
  "exp",
  "nbf",
  "iat",
  "jti",
  "act",
  "cnf",
  "jkt",
  issuer,
  ".",
  "..",
  "=",
  "fuzz",
]

const key = edKey("fuzz")
const jwk = createPublicKey(key).export({ format: "jwk" })
const publicKey = { kty: "OKP", crv: "Ed25519", x: jwk.x ?? "" }

/** No altered token is accepted: it must be one of the issued ones. */
const requireIssued = (input: Buffer, { valid }: Context) =>
  requireProperty(valid.includes(input.toString("latin1")), onlyIssued)

const onlyIssued = "only a token that was made is accepted"

/** Error details are computed later from the same input; that must not fail either. */
async function withErrorDetails<T>(parse: () => Promise<T>): Promise<T> {
  try {
    return await parse()
  } catch (error) {
    if (error instanceof OAuthError) findingsOf(error.finding).map(differenceOf)
    throw error
  }
}

/** Access tokens: JWTs and opaque ones. */
export const accessToken = fuzzTarget<unknown, Context>({
  name: "access-token",
  open: () =>
    openContext(async (cx) => {
      await cx.store.transact(cx, (tx) =>
        tx.append(webKey, "fuzz", [
          {
            type: "web_key.added",
            data: { kind: { kind: "ed25519" }, algorithm: "EdDSA", publicKey },
            private: { sealed: "" },
          },
        ]),
      )
      const now = Math.floor(cx.clock.now() / 1000)
      const times = { iat: now, nbf: now, exp: now + 3600 }
      const claims = { iss: issuer, sub: "1", aud: ["2"], client_id: "3", jti: "4-5", ...times }
      const header = { kid: "fuzz", typ: "at+jwt" }
      const act = { sub: "6", act: { sub: "7" } }
      const packed = [1, "5", "4", "1", "3", ["2"], ["openid"], now, now + 3600]
      return [
        signJwt(key, header, { ...claims, scope: "openid profile" }),
        signJwt(key, header, { ...claims, scope: "", cnf: { jkt: "8" }, act }),
        cx.secrets.seal("token", JSON.stringify(packed), `access_token/${cx.instance}`),
      ]
    }),
  close,
  seeds: ({ valid }) => [
    ...valid,
    signJwt(key, { kid: "fuzz", typ: "JWT" }, { iss: issuer, exp: 9e9 }),
    signJwt(key, { kid: "fuzz", typ: "at+jwt" }, { iss: "https://other.example", exp: 9e9 }),
    signJwt(edKey("other"), { kid: "fuzz", typ: "at+jwt" }, { iss: issuer, exp: 9e9 }),
  ],
  tokens,
  parse: (input, { cx }) => {
    const text = input.toString("latin1")
    const unproven = decodeUnverified(text)
    const claims = verifyJwt(cx, text, { typ: "at+jwt", algorithms })
    const read = readToken(cx, text)
    return { read, isSigned: claims !== undefined, names: unproven && Object.keys(unproven) }
  },
  check: (result, input, context) => {
    const isRead = typeof result === "object" && result !== null && Reflect.get(result, "read")
    requireProperty(
      Boolean(isRead) === context.valid.includes(input.toString("latin1")),
      onlyIssued,
    )
  },
})

/** RFC 7523: client assertions, and the claims that are read before verification. */
export const clientAssertion = fuzzTarget<unknown, Context>({
  name: "client-assertion",
  open: () =>
    openContext((cx) => {
      const now = Math.floor(cx.clock.now() / 1000)
      const claims = { iss: "3", sub: "3", aud: issuer, iat: now, exp: now + 60 }
      return [
        signJwt(key, { kid: "fuzz" }, { ...claims, jti: "1" }),
        signJwt(key, {}, { ...claims, aud: [`${issuer}/oauth/v2/token`], jti: "2" }),
      ]
    }),
  close,
  seeds: ({ valid }) => [
    ...valid,
    signJwt(key, {}, { iss: "3", sub: "4", aud: issuer, exp: 9e9, jti: [1] }),
    signJwt(key, { kid: 1, crit: ["exp"] }, { iss: { a: 1 }, aud: null }),
  ],
  tokens,
  parse: async (input, { cx }) => {
    const text = input.toString()
    const named = parseAssertion(text)
    const registered = { publicKey: publicPem(key), expires: Number.MAX_SAFE_INTEGER }
    const checked = await verifyAssertion(cx, text, { key: registered, as: "client" })
    const unproven = decodeUnverified(text)
    findingsInJwt(text, { subject: "assertion", compare: () => [] })
    return { named, checked: named && checked, claims: unproven && Object.keys(unproven) }
  },
  check: (result, input, context) => {
    const checked = typeof result === "object" && result !== null && Reflect.get(result, "checked")
    requireProperty(
      Boolean(checked) === context.valid.includes(input.toString("latin1")),
      onlyIssued,
    )
  },
})

const proofHeader = { typ: "dpop+jwt", jwk: publicKey }

/** The store remembers used proofs: each run gets one without any. */
const withoutReplayMemory = (cx: Cx): Cx => {
  const get = (store: Cx["store"], name: string | symbol) => {
    const value: unknown = Reflect.get(store, name, store)
    return typeof value === "function" ? value.bind(store) : value
  }
  return { ...cx, store: new Proxy(cx.store, { get }) }
}

/** RFC 9449: DPoP proofs, which contain their key. */
export const dpopProof = fuzzTarget<unknown, Context>({
  name: "dpop-proof",
  open: () =>
    openContext((cx) => {
      const iat = Math.floor(cx.clock.now() / 1000)
      const claims = { jti: "1", htm: "POST", htu: `${issuer}/oauth/v2/token`, iat }
      const ath = createHash("sha256").update("token").digest("base64url")
      return [
        signJwt(key, proofHeader, { ...claims, ath }),
        signJwt(key, proofHeader, { ...claims, ath, htu: `${issuer}/oauth/v2/token?a#b` }),
      ]
    }),
  close,
  seeds: ({ valid }) => [
    ...valid,
    signJwt(key, { typ: "dpop+jwt", jwk: { kty: "oct", k: "AAAA" } }, { jti: "1" }),
    signJwt(key, { typ: "dpop+jwt", jwk: { ...publicKey, d: "AAAA" } }, { jti: "2" }),
  ],
  tokens: [...tokens, "kty", "crv", "x", "n", "htm", "htu", "ath", "POST"],
  parse: (input, { cx }) =>
    withErrorDetails(() =>
      verifyProof(withoutReplayMemory(cx), {
        headers: { get: () => input.toString("latin1") } as unknown as Headers,
        method: "POST",
        path: "/oauth/v2/token",
        accessToken: "token",
      }),
    ),
  check: (_, input, context) => requireIssued(input, context),
})

const clientOf = new WeakMap<Context, string>()

/** RFC 9101: request objects, signed with a registered key of the client. */
export const requestObject = fuzzTarget<URLSearchParams, Context>({
  name: "request-object",
  open: async () => {
    const provider = await openProvider()
    const cx = provider.cx()
    const client = await provider.addClient()
    const expires = Number.MAX_SAFE_INTEGER
    await addAppKey(cx, client.appId, { keyId: "fuzz", publicKey: publicPem(key), expires })
    const exp = Math.floor(cx.clock.now() / 1000) + 60
    const claims = { iss: client.id, aud: issuer, exp, client_id: client.id }
    const more = { response_type: "code", scope: "openid", max_age: 5, claims: { userinfo: {} } }
    const header = { kid: "fuzz", typ: "oauth-authz-req+jwt" }
    const valid = [
      signJwt(key, header, { ...claims, ...more, resource: ["https://a", "https://b"] }),
      signJwt(key, { kid: "fuzz" }, { ...claims, state: "s" }),
    ]
    const context = { provider, cx, valid }
    clientOf.set(context, client.id)
    return context
  },
  close,
  seeds: ({ valid }) => [
    ...valid,
    signJwt(key, { kid: "fuzz", alg: "none" }, {}),
    signJwt(key, { kid: "fuzz", typ: "at+jwt" }, { sub: "1" }),
  ],
  tokens: [...tokens, "oauth-authz-req+jwt", "client_id", "request", "resource", "claims"],
  parse: (input, context) =>
    withErrorDetails(() =>
      parseRequestObject(
        context.cx,
        input.toString(),
        new Map([["client_id", clientOf.get(context) ?? ""]]),
      ),
    ),
  check: (_, input, context) => requireIssued(input, context),
})

const metadata = {
  redirect_uris: ["https://app.example.com/callback"],
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  application_type: "web",
  client_name: "An application",
  token_endpoint_auth_method: "private_key_jwt",
  jwks: { keys: [{ ...publicKey, kid: "1", use: "sig" }] },
  post_logout_redirect_uris: ["https://app.example.com/bye"],
}

/** RFC 7591: the metadata of a dynamic client registration. */
export const clientMetadata = fuzzTarget<ReturnType<typeof parseMetadata> | undefined, Context>({
  name: "client-metadata",
  open: () => openContext(() => []),
  close,
  seeds: () => [
    JSON.stringify(metadata),
    JSON.stringify({ redirect_uris: ["com.example:/cb", "http://127.0.0.1/cb"] }),
    JSON.stringify({ ...metadata, application_type: "native", jwks: null, scope: "openid" }),
    JSON.stringify({ grant_types: ["implicit"], response_types: ["id_token token"] }),
  ],
  tokens: [
    ...Object.keys(metadata),
    "kty",
    "RSA",
    "EC",
    "oct",
    "P-256",
    "d",
    "k",
    "native",
    "none",
    "implicit",
    "id_token",
    "javascript:alert(1)",
    "http://localhost/cb",
    "https://a/#b",
    "tls_client_auth",
    "id_token",
  ],
  parse: (input, { cx }) => {
    const members = parseMembers(input.toString())
    return members && parseMetadata(cx, members)
  },
  check: (result) => {
    if (!result) return
    for (const uri of result.oidc.redirectUris ?? []) {
      requireEqual(findRedirectUriError(uri, false), undefined, "a redirect URI can be registered")
    }
    for (const each of result.jwks) {
      requireProperty(!("d" in each || "k" in each || "p" in each), "no private member is kept")
      createPublicKey({ key: each, format: "jwk" })
    }
    requireProperty(result.name.trim() !== "" && result.name.length <= 200, "there is a name")
  },
})
