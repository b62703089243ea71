import { garbage, names, similarUris, texts } from "./malformed-values.ts"
import { listSpellings } from "./token-spellings.ts"

/** A request as it arrives: a path with its query, headers, and a body. */
export type HostileRequest = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

type Client = {
  readonly id: string
  /** Empty for public clients. */
  readonly secret: string
  readonly redirectUri: string
}

/** The material of requests: values that are valid in one place, and hostile in any other. */
export type Material = {
  readonly paths: readonly string[]
  readonly clients: readonly Client[]
  readonly redirectUris: readonly string[]
  /** Codes, tokens and request IDs, by the field where they belong; they are sent in any field. */
  readonly kinds: Readonly<Record<string, readonly string[]>>
  readonly tokens: readonly string[]
  readonly cookies: readonly string[]
}

export type Choose = {
  readonly of: <T>(from: readonly T[]) => T
  /** True once in `times` calls on average. */
  readonly onceIn: (times: number) => boolean
}

/** A seeded generator: every run makes the same choices, so failures can be reproduced. */
export function chooser(seed: number): Choose {
  let state = seed >>> 0
  const below = (count: number) => {
    state = (state + 0x6d2b79f5) >>> 0
    const mixed = Math.imul(state ^ (state >>> 15), state | 1)
    const stirred = mixed ^ (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61))
    return Math.floor((((stirred ^ (stirred >>> 14)) >>> 0) / 2 ** 32) * count)
  }
  return {
    of: (from) => {
      const chosen = from[below(from.length)]
      if (chosen === undefined) throw new Error("nothing to choose from")
      return chosen
    },
    onceIn: (times) => below(times) === 0,
  }
}

type Field = readonly [name: string, value: string]

type Draft = {
  readonly method: string
  readonly path: string
  readonly query: readonly Field[]
  readonly body: readonly Field[]
  readonly headers: Readonly<Record<string, string>>
}

/** One hostile request: a valid one for some endpoint, mutated in a few ways. */
export function createHostileRequest(choose: Choose, material: Material): HostileRequest {
  let draft = choose.of(templates)(choose, material)
  const times = choose.of([0, 1, 1, 1, 2, 2, 3, 5])
  for (let count = 0; count < times; count++) draft = choose.of(mutations)(choose, material, draft)
  return serializeDraft(choose, draft)
}

const form = "application/x-www-form-urlencoded"

type Template = (choose: Choose, material: Material) => Draft

const emptyDraft = { query: [], body: [], headers: {} } as const

/** A value that belongs in a field; sometimes another value of a similar form. */
const valueFor = (choose: Choose, { kinds, tokens }: Material, field: string): string =>
  choose.of(choose.onceIn(4) ? tokens : (kinds[field] ?? tokens))

const fieldOf = (choose: Choose, material: Material, field: string): Field => [
  field,
  valueFor(choose, material, field),
]

/** A client with one of the authentication methods. */
function authenticate(choose: Choose, material: Material, { id, secret }: Client) {
  const encoded = Buffer.from(`${id}:${choose.of([secret, secret, "wrong"])}`).toString("base64")
  const assertion: readonly Field[] = [
    ["client_assertion", valueFor(choose, material, "assertion")],
    ["client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"],
  ]
  const none: readonly Field[] = []
  const bare = { headers: {}, fields: [["client_id", id] as const] }
  if (secret === "" && !choose.onceIn(4)) return bare
  return choose.of([
    { headers: { authorization: `Basic ${encoded}` }, fields: none },
    { headers: { authorization: `Basic ${encoded}` }, fields: none },
    { headers: {}, fields: [["client_id", id] as const, ["client_secret", secret] as const] },
    bare,
    { headers: {}, fields: assertion },
  ])
}

/** An authorization request, by its client or by anyone. */
const authorizationFields = (
  choose: Choose,
  material: Material,
  { redirectUri }: Client,
): readonly Field[] => [
  ["redirect_uri", choose.onceIn(6) ? choose.of(material.redirectUris) : redirectUri],
  ["response_type", choose.of(["code", "code", "id_token", "id_token token", "token id_token"])],
  ["scope", choose.of(["openid", "openid profile email", "openid offline_access", "openid x"])],
  ["state", "s"],
  ["nonce", "n"],
  ["code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"],
  ["code_challenge_method", "S256"],
]

const clientAuthorizationFields = (choose: Choose, material: Material): readonly Field[] => {
  const client = choose.of(material.clients)
  return [["client_id", client.id], ...authorizationFields(choose, material, client)]
}

const formDraft = (
  path: string,
  body: readonly Field[],
  headers: Readonly<Record<string, string>> = {},
): Draft => ({
  method: "POST",
  path,
  query: [],
  body,
  headers: { "content-type": form, ...headers },
})

type FieldsOf = (choose: Choose, material: Material, client: Client) => readonly Field[]

const clientEndpointTemplate =
  (path: string, fieldsOf: FieldsOf): Template =>
  (choose, material) => {
    const client = choose.of(material.clients)
    const { headers, fields } = authenticate(choose, material, client)
    return formDraft(path, [...fieldsOf(choose, material, client), ...fields], headers)
  }

const browserHeaders = (
  choose: Choose,
  { cookies }: Material,
): Readonly<Record<string, string>> => ({
  accept: "text/html",
  ...(cookies.length > 0 && choose.onceIn(2) ? { cookie: choose.of(cookies) } : {}),
})

const tokenFields = (choose: Choose, material: Material): readonly Field[] => {
  const one = (field: string) => valueFor(choose, material, field)
  const [{ redirectUri } = { redirectUri: "" }] = material.clients
  const exchange = "urn:ietf:params:oauth:grant-type:token-exchange"
  const tokenType = "urn:ietf:params:oauth:token-type:access_token"
  return choose.of<readonly Field[]>([
    [
      ["grant_type", "authorization_code"],
      ["code", one("code")],
      ["redirect_uri", choose.onceIn(4) ? choose.of(material.redirectUris) : redirectUri],
      ["code_verifier", "v".repeat(43)],
    ],
    [
      ["grant_type", "refresh_token"],
      ["refresh_token", one("refresh_token")],
    ],
    [
      ["grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"],
      ["assertion", one("assertion")],
      ["scope", "openid"],
    ],
    [
      ["grant_type", "client_credentials"],
      ["scope", "openid"],
    ],
    [
      ["grant_type", "urn:ietf:params:oauth:grant-type:device_code"],
      ["device_code", one("device_code")],
    ],
    [
      ["grant_type", exchange],
      ["subject_token", one("subject_token")],
      ["subject_token_type", tokenType],
      ["actor_token", one("actor_token")],
      ["actor_token_type", tokenType],
    ],
  ])
}

const templates: readonly Template[] = [
  (choose, material) => ({
    ...emptyDraft,
    method: "GET",
    path: "/oauth/v2/authorize",
    query: clientAuthorizationFields(choose, material),
    headers: browserHeaders(choose, material),
  }),
  (choose, material) =>
    formDraft("/oauth/v2/authorize", clientAuthorizationFields(choose, material)),
  (choose, material) => ({
    ...emptyDraft,
    method: "GET",
    path: "/oauth/v2/authorize",
    query: [
      ["client_id", choose.of(material.clients).id],
      [choose.of(["request_uri", "request"]), valueFor(choose, material, "request_uri")],
    ],
    headers: browserHeaders(choose, material),
  }),
  // More often than others, because most of its inputs are single-use.
  clientEndpointTemplate("/oauth/v2/token", tokenFields),
  clientEndpointTemplate("/oauth/v2/token", tokenFields),
  clientEndpointTemplate("/oauth/v2/token", tokenFields),
  clientEndpointTemplate("/oauth/v2/token", tokenFields),
  clientEndpointTemplate("/oauth/v2/par", authorizationFields),
  clientEndpointTemplate("/oauth/v2/introspect", (choose, material) => [
    ["token", valueFor(choose, material, "token")],
  ]),
  clientEndpointTemplate("/oauth/v2/revoke", (choose, material) => [
    ["token", valueFor(choose, material, "token")],
  ]),
  clientEndpointTemplate("/oauth/v2/device_authorization", () => [["scope", "openid"]]),
  (choose, material) => {
    const token = valueFor(choose, material, "token")
    const authorization = `${choose.of(["Bearer", "bearer", "DPoP"])} ${token}`
    const method = choose.of(["GET", "POST"])
    return { ...emptyDraft, method, path: "/oidc/v1/userinfo", headers: { authorization } }
  },
  (choose, material) =>
    formDraft("/oidc/v1/userinfo", [["access_token", valueFor(choose, material, "token")]]),
  (choose, material) => ({
    ...emptyDraft,
    method: choose.of(["GET", "POST"]),
    path: choose.of(["/oidc/v1/endsession", "/oidc/v1/end_session"]),
    query: [
      ["id_token_hint", valueFor(choose, material, "id_token_hint")],
      ["client_id", choose.of(material.clients).id],
      ["post_logout_redirect_uri", choose.of(material.redirectUris)],
      ["state", "s"],
    ],
    headers: { "content-type": form, ...browserHeaders(choose, material) },
  }),
  // All other paths: login and device pages, documents, callbacks.
  (choose, material) => ({
    ...emptyDraft,
    method: choose.of(["GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"]),
    path: choose.of(material.paths),
    query: [fieldOf(choose, material, choose.of(["id", "authRequest", "user_code", "answer"]))],
    body: [
      ["loginName", choose.of(["nobody", "__proto__", "a@b"])],
      fieldOf(choose, material, "csrf"),
      fieldOf(choose, material, "authRequest"),
    ],
    headers: { "content-type": form, ...browserHeaders(choose, material) },
  }),
]

type Mutation = (choose: Choose, material: Material, draft: Draft) => Draft

const part = (json: string) => Buffer.from(json).toString("base64url")
const encode = (value: object) => part(JSON.stringify(value))

/** A JWT with a deeply nested value in place of a string. */
function createDeepJwt(choose: Choose, client: string): string {
  const depth = choose.of([2000, 5000])
  const [open, end] = choose.of([
    ["[", "]"],
    ['{"a":', "}"],
  ])
  const value = `${open.repeat(depth)}1${end.repeat(depth)}`
  const [header, claims] = choose.of([
    [`{"alg":"RS256","kid":${value}}`, "{}"],
    [`{"alg":"ES256","typ":"at+jwt","kid":${value}}`, "{}"],
    [`{"alg":"ES256","typ":"dpop+jwt","jwk":{"kty":"EC","crv":"P-256","x":${value}}}`, "{}"],
    ['{"alg":"RS256","typ":"JWT"}', `{"iss":"${client}","sub":${value}}`],
    ['{"alg":"RS256"}', `{"iss":"${client}","sub":"${client}","aud":${value},"exp":${value}}`],
    ['{"alg":"RS256"}', value],
  ])
  return `${part(header)}.${part(claims)}.AAAA`
}

/** JWTs with desirable claims, unsigned or self-signed. */
function forgeJwt(choose: Choose, { clients, tokens }: Material): string {
  const client = choose.of(clients).id
  const jwt = tokens.filter((token) => token.split(".").length === 3)
  const [, body, signature] = (jwt.length > 0 ? choose.of(jwt) : "a.b.c").split(".")
  const header = choose.of([
    { alg: "none", typ: "JWT" },
    { alg: "None", typ: "at+jwt" },
    { alg: "nOnE" },
    { alg: "HS256", typ: "JWT", kid: "1" },
    { alg: "ES256", typ: "at+jwt", jwk: { kty: "EC", crv: "P-256", x: "AA", y: "AA" } },
    { alg: "RS256", jku: "https://evil.example/keys", kid: "../../dev/null" },
    { alg: "RS256", x5u: "https://evil.example/cert", crit: ["exp"] },
    { alg: "EdDSA", typ: "dpop+jwt", jwk: { kty: "OKP", crv: "Ed25519", x: "AA", d: "AA" } },
    { alg: ["RS256"], kid: { a: 1 } },
    { alg: 5, kid: null },
  ])
  const claims = choose.of([
    { iss: client, sub: client, aud: "https://id.example.com", exp: 9_999_999_999, iat: 1 },
    { iss: "https://id.example.com", sub: "1", aud: client, exp: 1e308 },
    { iss: [client], sub: {}, aud: 5, exp: "never", jti: [1] },
  ])
  return choose.of([
    createDeepJwt(choose, client),
    `${encode(header)}.${encode(claims)}.`,
    `${encode(header)}.${encode(claims)}.AAAA`,
    `${encode(header)}.${body}.${signature}`,
    `${encode(header)}.${encode([claims])}.${signature}`,
    `${encode(header)}..${signature}`,
    `${encode(header)}.${encode(claims)}.${"A".repeat(342)}`,
    "e30.e30.e30",
    ".".repeat(50),
  ])
}

const mutateFields = (
  choose: Choose,
  draft: Draft,
  change: (fields: readonly Field[]) => readonly Field[],
): Draft =>
  (draft.body.length > 0 && choose.onceIn(2)) || draft.query.length === 0
    ? { ...draft, body: change(draft.body) }
    : { ...draft, query: change(draft.query) }

const withHeader = (draft: Draft, name: string, value: string): Draft => ({
  ...draft,
  headers: { ...draft.headers, [name]: value },
})

/** Replaces one value by the result of `value`; adds a field if there is none. */
const replaceValue =
  (value: (choose: Choose, material: Material, before: string) => string): Mutation =>
  (choose, material, draft) =>
    mutateFields(choose, draft, (fields) => {
      if (fields.length === 0) return [[choose.of(names), value(choose, material, "")]]
      const at = fields.indexOf(choose.of(fields))
      return fields.map(
        (field, other): Field =>
          other === at ? [field[0], value(choose, material, field[1])] : field,
      )
    })

const mutations: readonly Mutation[] = [
  replaceValue((choose) => choose.of(texts)),
  replaceValue((choose) => choose.of(texts)),
  replaceValue((choose, material) => choose.of(similarUris(choose.of(material.redirectUris)))),
  replaceValue((choose, material) => forgeJwt(choose, material)),
  replaceValue((choose, material) => choose.of(material.tokens)),
  replaceValue((choose, material) => {
    const [, spelling] = choose.of(listSpellings(choose.of(material.tokens)))
    return spelling
  }),
  replaceValue((choose, _, before) => before + choose.of(texts)),
  // A field that is missing, repeated, or unexpected.
  (choose, _, draft) =>
    mutateFields(choose, draft, (fields) => {
      const gone = fields.length > 0 ? choose.of(fields) : undefined
      return fields.filter((field) => field !== gone)
    }),
  (choose, _, draft) =>
    mutateFields(choose, draft, (fields) => {
      if (fields.length === 0) return fields
      const [name, value] = choose.of(fields)
      return [...fields, [name, choose.of([value, "other", ""])]]
    }),
  (choose, _, draft) =>
    mutateFields(choose, draft, (fields) => [...fields, [choose.of(names), choose.of(texts)]]),
  (choose, _, draft) =>
    mutateFields(choose, draft, (fields) => [
      ...fields,
      ...Array.from({ length: 200 }, (_each, at): Field => [`p${at}`, choose.of(["", "x"])]),
    ]),
  // The body's fields in the query, and vice versa.
  (_choose, _, draft) => ({ ...draft, query: draft.body, body: draft.query }),
  (choose, _, draft) => ({
    ...draft,
    method: choose.of(["GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"]),
  }),
  (choose, { paths }, draft) => ({ ...draft, path: choose.of(paths) }),
  (choose, _, draft) => ({ ...draft, path: respellPath(choose, draft.path) }),
  (choose, _, draft) =>
    withHeader(
      draft,
      "content-type",
      choose.of([
        "application/json",
        "text/plain",
        "multipart/form-data; boundary=x",
        "a",
        "",
        `${form}; charset=utf-16`,
        form.toUpperCase(),
        `${form},${form}`,
        `;${form}`,
      ]),
    ),
  (choose, { tokens, clients }, draft) => {
    const { id, secret } = choose.of(clients)
    const encoded = (text: string) => Buffer.from(text).toString("base64")
    const value = choose.of([
      "",
      "Basic",
      "Basic =",
      "Bearer",
      "Bearer a b",
      "Negotiate x",
      "DPoP a.b.c",
      `Basic ${encoded(`${id}:${secret}:x`)}`,
      `Basic ${encoded(":")}`,
      "Basic %3A",
      `Basic ${encoded(`${id}:%`)}`,
      `Basic ${encoded(`${id}\u0000:${secret}`)}`,
      `Bearer ${choose.of(tokens)}`,
      `BEARER  ${choose.of(tokens)}`,
      `Basic ${"A".repeat(9000)}`,
    ])
    return withHeader(draft, "authorization", value)
  },
  (choose, material, draft) =>
    withHeader(draft, "dpop", choose.of(["", "x", forgeJwt(choose, material), "a.b.c, a.b.c"])),
  (choose, { tokens }, draft) =>
    withHeader(
      draft,
      "cookie",
      choose.of([
        "__Host-latchkey=1.x",
        "__Host-latchkey=",
        "__Host-latchkey=%00",
        "=",
        ";;;",
        "a=b; a",
        `__Host-latchkey=${choose.of(tokens)}`,
        `__Host-latchkey=${"1".repeat(4000)}`,
        "__Host-latchkey=1.a; __Host-latchkey=2.b",
        "__Secure-latchkey=1",
        "latchkey=1.x",
      ]),
    ),
  (choose, _, draft) => {
    const [name, value] = choose.of([
      ...([
        ["x-forwarded-host", "evil.example"],
        ["x-forwarded-proto", "javascript"],
        ["x-forwarded-for", "a".repeat(900)],
        ["forwarded", "for=_;host=evil.example"],
        ["x-http-method-override", "DELETE"],
        ["x-original-url", "/setup"],
        ["origin", "https://evil.example"],
        ["origin", "null"],
        ["referer", "https://evil.example/?code=x"],
        ["accept-language", "../de, de;q=x, *;q=9"],
        ["accept-language", "a-".repeat(900)],
        ["accept", "text/html"],
        ["content-encoding", "gzip"],
        ["content-length", "5"],
        ["transfer-encoding", "chunked"],
        ["sec-fetch-site", "cross-site"],
        ["access-control-request-headers", "x".repeat(900)],
        ["range", "bytes=0-0,-1"],
        ["if-none-match", "*"],
        ["expect", "100-continue"],
      ] as const),
    ])
    return withHeader(draft, name, value)
  },
]

/** The path in a spelling that a lax router confuses with another path. */
const respellPath = (choose: Choose, path: string): string =>
  choose.of([
    path.replace("/", "//"),
    `${path}/`,
    `${path}/..`,
    `${path}/%2e%2e/x`,
    `${path}%2f`,
    `${path}%00`,
    `${path};a=b`,
    path.toUpperCase(),
    path.replaceAll("o", "%6f"),
    `${path}?`,
    `${path}/${encodeURIComponent(choose.of(texts).toWellFormed())}`,
    "/%",
    `/.${path}`,
    `${path}#x`,
    `${path}\\`,
    `/x/..${path}`,
  ])

/** Serializes a draft, sometimes in an invalid encoding. */
function serializeDraft(
  choose: Choose,
  { method, path, query, body, headers }: Draft,
): HostileRequest {
  const bodiless = method === "GET" || method === "HEAD"
  const text = query.length === 0 ? "" : `?${encodeFields(choose, query)}`
  return {
    method,
    path: path + text,
    headers,
    body: bodiless
      ? undefined
      : choose.onceIn(20)
        ? choose.of(garbage)
        : encodeFields(choose, body),
  }
}

function encodeFields(choose: Choose, fields: readonly Field[]): string {
  const plain = fields.map(([name, value]) => [name.toWellFormed(), value.toWellFormed()])
  if (!choose.onceIn(12)) return new URLSearchParams(plain).toString()
  const pairs = plain.map(([name = "", value = ""]) => `${name}=${value.replace(/[&\s]/g, "")}`)
  return choose.of([
    pairs.join("&"),
    pairs.join(";"),
    pairs.map((pair) => encodeURIComponent(pair)).join("&"),
    `&&${pairs.join("&&")}&`,
    [...pairs.join("&")].map((each) => `%${(each.codePointAt(0) ?? 0).toString(16)}`).join(""),
  ])
}
