// A certified third-party OpenID provider in its own process: npm's oidc-provider, with a page that
// signs in the user that the test sets. POST /lie makes it return false data.
import { createServer } from "node:http"
import { exportJWK, generateKeyPair, importJWK, SignJWT } from "jose"
import { Provider } from "oidc-provider"

const [port, redirectUri] = process.argv.slice(2)
const issuer = `http://localhost:${port}`

const newKey = async () => {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true })
  return { ...(await exportJWK(privateKey)), kid: `k${Date.now()}`, alg: "RS256", use: "sig" }
}

/** The provider's stored data, by kind and ID. */
const kept = new Map()

/** Like the package's memory adapter, whose data can't be inspected. */
const adapterOf = (kind) => {
  const find = async (id) => kept.get(`${kind}:${id}`)?.payload
  return {
    find,
    upsert: async (id, payload) => void kept.set(`${kind}:${id}`, { payload }),
    findByUid: async (uid) => {
      const own = [...kept].filter(([key]) => key.startsWith(`${kind}:`))
      return own.find(([, { payload }]) => payload.uid === uid)?.[1].payload
    },
    findByUserCode: async () => undefined,
    destroy: async (id) => void kept.delete(`${kind}:${id}`),
    consume: async (id) => {
      const found = await find(id)
      if (found) found.consumed = Math.floor(Date.now() / 1000)
    },
    revokeByGrantId: async () => undefined,
  }
}

/** Ages a session, as if its user had signed in earlier. */
function age(payload, seconds) {
  if (payload.kind === "Session" && payload.loginTs) payload.loginTs -= seconds
}

let person = {}
let lie = {}
let key = await newKey()
let handle = handlerOf()

function handlerOf() {
  const provider = new Provider(issuer, {
    adapter: adapterOf,
    clients: [
      ["client", "client_secret_basic"],
      ["client-post", "client_secret_post"],
    ].map(([client_id, token_endpoint_auth_method]) => ({
      client_id,
      token_endpoint_auth_method,
      client_secret: "s3cret",
      redirect_uris: redirectUri.split(" "),
    })),
    jwks: { keys: [key] },
    cookies: { keys: ["a key of this test alone"] },
    claims: {
      openid: ["sub"],
      email: ["email", "email_verified"],
      profile: ["name", "given_name", "family_name", "preferred_username"],
    },
    pkce: { required: () => true },
    conformIdTokenClaims: true,
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    findAccount: (_, accountId) => ({
      accountId,
      claims: async () => ({ ...person, sub: accountId }),
    }),
    loadExistingGrant: async (context) => {
      const grant = new context.oidc.provider.Grant({
        clientId: context.oidc.client.clientId,
        accountId: context.oidc.session.accountId,
      })
      grant.addOIDCScope("openid profile email")
      await grant.save()
      return grant
    },
  })
  const callback = provider.callback()
  return async (request, response) => {
    if (!request.url.startsWith("/interaction/")) return callback(request, response)
    const result = lie.cancel
      ? { error: "access_denied", error_description: "the person said no" }
      : { login: { accountId: person.sub } }
    await provider.interactionFinished(request, response, result)
  }
}

/** The provider's original response, as an object. */
async function readResponse(request, response) {
  const chunks = []
  const write = response.write.bind(response)
  const end = response.end.bind(response)
  response.write = (chunk) => chunks.push(Buffer.from(chunk))
  return new Promise((resolve) => {
    response.end = (chunk) => {
      if (chunk) chunks.push(Buffer.from(chunk))
      response.write = write
      response.end = end
      resolve(JSON.parse(Buffer.concat(chunks).toString()))
    }
    void handle(request, response)
  })
}

function answer(response, body) {
  const text = JSON.stringify(body)
  if (!response.headersSent) response.setHeader("content-length", Buffer.byteLength(text))
  response.end(text)
}

async function control(request, response) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const wanted = JSON.parse(Buffer.concat(chunks).toString())
  if (wanted.person) person = wanted.person
  lie = wanted.lie ?? {}
  if (wanted.ageSeconds) for (const { payload } of kept.values()) age(payload, wanted.ageSeconds)
  if (wanted.rotate) {
    key = await newKey()
    handle = handlerOf()
  }
  response.end("{}")
}

/** The ID token with other claims, signed with the published key. */
async function alterToken(idToken, claims) {
  const payload = JSON.parse(Buffer.from(idToken.split(".")[1], "base64url").toString())
  const header = { alg: "RS256", kid: key.kid }
  return new SignJWT({ ...payload, ...claims })
    .setProtectedHeader(header)
    .sign(await importJWK(key, "RS256"))
}

createServer(async (request, response) => {
  const { pathname } = new URL(request.url, issuer)
  if (pathname === "/lie") return control(request, response)
  const own = lie[pathname]
  if (own === "silent") return
  if (own === "huge") {
    response.setHeader("content-type", "application/json")
    const chunk = Buffer.alloc(1_048_576, " ")
    for (let at = 0; at < 50 && !response.destroyed; at++) {
      if (!response.write(chunk)) {
        await new Promise((done) => response.once("drain", done).once("close", done))
      }
    }
    return response.end("{}")
  }
  if (own === undefined) return handle(request, response)
  const right = await readResponse(request, response)
  if (pathname !== "/token") return answer(response, { ...right, ...own })
  answer(response, { ...right, id_token: await alterToken(right.id_token, own) })
}).listen(Number(port), () => process.stdout.write("listening\n"))
