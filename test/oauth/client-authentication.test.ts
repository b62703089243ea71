import { createPublicKey, generateKeyPairSync } from "node:crypto"
import { SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { reactivateApplication } from "../../src/domain/app/commands.ts"
import { removeAppKey } from "../../src/domain/app/credential/app-key.ts"
import * as app from "../../src/domain/app/index.ts"
import { activateOrganization, createOrganization } from "../../src/domain/org/commands.ts"
import * as org from "../../src/domain/org/index.ts"
import * as project from "../../src/domain/project/index.ts"
import { removeMachineSecret } from "../../src/domain/service-account/machine-secret.ts"
import { reactivateUser, releaseLoginName, unlockUser } from "../../src/domain/user/commands.ts"
import { deactivateUser, lockUser, removeUser, updateUser } from "../../src/domain/user/index.ts"
import {
  authenticateClient,
  type ClientAuthMethod,
  clientAuthMethods,
  introspectionMethods,
} from "../../src/oauth/client/authentication.ts"
import {
  addApi,
  addKeyClient,
  addKeyTo,
  addServiceAccount,
  assertionType,
  type ClientKey,
  encodeBasic,
  signAssertion,
} from "./clients.ts"
import { issuer, openProvider, type Provider, sendTokenRequest } from "./provider.ts"

let provider: Provider
const known = {
  basic: { id: "", secret: "", appId: "" },
  post: { id: "", secret: "", appId: "" },
  strictBasic: { id: "", secret: "", appId: "" },
  strictPost: { id: "", secret: "", appId: "" },
  none: { id: "", secret: "", appId: "" },
  api: { id: "", secret: "", appId: "" },
}
let keyed: Awaited<ReturnType<typeof addKeyClient>>
let keyedApi: Awaited<ReturnType<typeof addKeyTo>>
let robot: Awaited<ReturnType<typeof addServiceAccount>>
beforeAll(async () => {
  provider = await openProvider()
  known.basic = await provider.addClient()
  known.post = await provider.addClient({ authMethod: "post" })
  const requestRules = { pushed: false, signed: false, authMethod: true }
  known.strictBasic = await provider.addClient({ requestRules })
  known.strictPost = await provider.addClient({ authMethod: "post", requestRules })
  known.none = await provider.addClient({ authMethod: "none" })
  known.api = await addApi(provider, "basic")
  keyed = await addKeyClient(provider)
  keyedApi = await addKeyTo(provider, (await addApi(provider, "private_key_jwt")).appId)
  robot = await addServiceAccount(provider)
})
afterAll(() => provider.close())

type Fields = Readonly<Record<string, string>>

const authorizationOf = (basic: string | undefined) =>
  basic === undefined ? null : `Basic ${Buffer.from(basic).toString("base64")}`

/** The authentication method that succeeded, or the error. */
const methodFor = async (fields: Fields, basic?: string, accepts?: readonly ClientAuthMethod[]) => {
  const credentials = {
    parameters: new Map(Object.entries(fields)),
    authorization: authorizationOf(basic),
  }
  return authenticateClient(provider.cx(), credentials, accepts).then(
    ({ clientId, method }) => `${clientId} by ${method}`,
    ({ error, status }) => `${error} ${status}`,
  )
}

const refused = "invalid_client 401"

type Credentials = { readonly id: string; readonly secret?: string } & Partial<ClientKey>

/** A client tries each method with its credentials; without a key it uses another client's. */
const attempts: Readonly<
  Record<ClientAuthMethod, (client: Credentials, accepts?: readonly ClientAuthMethod[]) => unknown>
> = {
  client_secret_basic: ({ id, secret = "x" }, accepts) =>
    methodFor({}, encodeBasic(id, secret), accepts),
  client_secret_post: ({ id, secret = "x" }, accepts) =>
    methodFor({ client_id: id, client_secret: secret }, undefined, accepts),
  none: ({ id }, accepts) => methodFor({ client_id: id }, undefined, accepts),
  private_key_jwt: async (client, accepts) => {
    return methodFor(await signAssertion(provider, { ...keyed, ...client }), undefined, accepts)
  },
}

const rows: readonly (readonly [string, () => Credentials, readonly ClientAuthMethod[]])[] = [
  ["an application with basic", () => known.basic, ["client_secret_basic", "client_secret_post"]],
  ["an application with post", () => known.post, ["client_secret_basic", "client_secret_post"]],
  ["an application that insists on basic", () => known.strictBasic, ["client_secret_basic"]],
  ["an application that insists on post", () => known.strictPost, ["client_secret_post"]],
  ["a public application", () => known.none, ["none"]],
  ["an application with a key", () => keyed, ["private_key_jwt"]],
  ["an API with basic", () => known.api, ["client_secret_basic", "client_secret_post"]],
  ["an API with a key", () => keyedApi, ["private_key_jwt"]],
  [
    "a service account",
    () => robot,
    ["client_secret_basic", "client_secret_post", "private_key_jwt"],
  ],
]

describe.each(rows)("%s authenticates", (_, clientOf, works) => {
  const everywhere = {
    "where all methods are accepted": clientAuthMethods,
    "at introspection (interface §5.2)": introspectionMethods,
  }
  for (const [where, accepts] of Object.entries(everywhere)) {
    test.each(clientAuthMethods)(`${where} by %s, or not`, async (method) => {
      const client = clientOf()
      const good = works.includes(method) && accepts.some((each) => each === method)
      const expected = good ? `${client.id} by ${method}` : refused
      expect(await attempts[method](client, accepts)).toBe(expected)
    })
  }
})

describe("a service account as a client", () => {
  test("can also use its ID, which its key file contains", async () => {
    const { userId, secret } = robot
    expect(await methodFor({}, encodeBasic(userId, secret))).toBe(
      `${userId} by client_secret_basic`,
    )
    const fields = await signAssertion(provider, { ...robot, id: userId })
    expect(await methodFor(fields)).toBe(`${userId} by private_key_jwt`)
  })

  test("keeps its secret and gets a new client ID when it is renamed", async () => {
    const other = await addServiceAccount(provider)
    await updateUser(provider.cx(), other.userId, { userName: "renamed" })
    expect(await methodFor({}, encodeBasic(other.id, other.secret))).toBe(refused)
    expect(await methodFor({}, encodeBasic("renamed", other.secret))).toContain("renamed by")
    expect(await methodFor({}, encodeBasic("Renamed", other.secret))).toBe(refused)
  })
})

describe("tokens of a service account (RFC 7009 §2.1)", () => {
  test("remain its own when it is renamed, and another takes its name", async () => {
    const [first, second] = [await addServiceAccount(provider), await addServiceAccount(provider)]
    const credentials = { grant_type: "client_credentials", scope: "openid" }
    const { answer } = await sendTokenRequest(
      provider,
      credentials,
      encodeBasic(first.id, first.secret),
    )
    const revoke = (as: string) =>
      provider.send("/oauth/v2/revoke", {
        method: "POST",
        headers: { authorization: `Basic ${Buffer.from(as).toString("base64")}` },
        body: new URLSearchParams({ token: String(answer.access_token) }),
      })
    await updateUser(provider.cx(), first.userId, { userName: "moved" })
    await releaseLoginName(provider.cx(), first.userId, first.id)
    await updateUser(provider.cx(), second.userId, { userName: first.id })
    expect((await revoke(encodeBasic(first.id, second.secret))).status).toBe(400)
    expect((await revoke(encodeBasic("moved", first.secret))).status).toBe(200)
    const authorization = `Bearer ${answer.access_token}`
    expect((await provider.send("/oidc/v1/userinfo", { headers: { authorization } })).status).toBe(
      401,
    )
  })
})

describe("a secret", () => {
  const wrong: Readonly<Record<string, () => Promise<string>>> = {
    "is empty": () => methodFor({}, encodeBasic(known.basic.id, "")),
    "is another client's": () => methodFor({}, encodeBasic(known.basic.id, known.post.secret)),
    "is a service account's": () => methodFor({}, encodeBasic(known.basic.id, robot.secret)),
    "is longer": () => methodFor({}, encodeBasic(known.basic.id, `${known.basic.secret}A`)),
    "is shorter": () => methodFor({}, encodeBasic(known.basic.id, known.basic.secret.slice(1))),
    "is not in its case": () =>
      methodFor({}, encodeBasic(known.basic.id, swapCase(known.basic.secret))),
    "is that of nobody": () => methodFor({}, encodeBasic("nobody", known.basic.secret)),
    "is that of an application by its own id": () =>
      methodFor({}, encodeBasic(known.basic.appId, known.basic.secret)),
    "is not encoded": () => methodFor({}, `${robot.id}:${robot.secret}`),
  }
  test.each(Object.entries(wrong))("is rejected if it %s", async (_, attempt) => {
    expect(await attempt()).toBe(refused)
  })

  test("can't be a user's password", async () => {
    await provider.addPerson("petra")
    expect(await methodFor({}, encodeBasic("petra", robot.secret))).toBe(refused)
  })

  test("always fails with the same error (RFC 6749 §5.2)", async () => {
    const grant_type = "client_credentials"
    const answers = await Promise.all([
      sendTokenRequest(provider, { grant_type }, encodeBasic("nobody", "x")),
      sendTokenRequest(provider, { grant_type }, encodeBasic(robot.id, "x")),
      sendTokenRequest(provider, { grant_type }, encodeBasic(known.none.id, "x")),
    ])
    const [first, ...others] = answers.map(({ status, answer, headers }) => ({
      status,
      answer: { ...answer, request_id: "each has its own" },
      challenge: headers.get("www-authenticate"),
    }))
    expect(first).toMatchObject({ status: 401, answer: { error: "invalid_client" } })
    expect(first?.challenge).toMatch(/^Basic\b/)
    for (const other of others) expect(other).toEqual(first)
  })

  test("costs the same work for existing and unknown clients", async () => {
    let hashed = 0
    const { secrets } = provider
    const counted = {
      ...secrets,
      hash: (...all: Parameters<typeof secrets.hash>) => {
        hashed++
        return secrets.hash(...all)
      },
      matches: (...all: Parameters<typeof secrets.matches>) => {
        hashed++
        return secrets.matches(...all)
      },
    }
    const cx = provider.cx({ secrets: counted })
    for (const id of ["nobody", known.basic.id, known.none.id, keyed.id, robot.id]) {
      hashed = 0
      const authorization = authorizationOf(encodeBasic(id, "wrong"))
      const attempt = authenticateClient(cx, { parameters: new Map(), authorization })
      await expect(attempt, id).rejects.toMatchObject({ error: "invalid_client" })
      expect(hashed, id).toBe(1)
    }
  })

  test("is not found by fifty concurrent guesses", async () => {
    const guesses = Array.from({ length: 50 }, (_, at) =>
      methodFor({}, encodeBasic(known.basic.id, `${known.basic.secret.slice(0, at)}`)),
    )
    expect(new Set(await Promise.all(guesses))).toEqual(new Set([refused]))
  })
})

const swapCase = (text: string) =>
  text.replace(/[a-z]/i, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )

const seconds = () => Math.floor(provider.clock.now() / 1000)
const validAssertion = (changes?: Parameters<typeof signAssertion>[2]) =>
  signAssertion(provider, keyed, changes)

describe("a client's assertion (RFC 7523 §2.2, OpenID Connect Core §9)", () => {
  const bad: Readonly<Record<string, () => Promise<Fields>>> = {
    "another audience": () => validAssertion({ claims: { aud: "https://other.example" } }),
    "the issuer with a path": () => validAssertion({ claims: { aud: `${issuer}/x` } }),
    "the issuer with two slashes": () => validAssertion({ claims: { aud: `${issuer}//` } }),
    "no audience": () => validAssertion({ claims: { aud: undefined } }),
    "the audience of a page": () =>
      validAssertion({ claims: { aud: `${issuer}/oidc/v1/userinfo` } }),
    "no expiry": () => validAssertion({ claims: { exp: undefined } }),
    "an expiry in the past": () => validAssertion({ claims: { exp: seconds() - 2 } }),
    "more than an hour to live": () =>
      validAssertion({ claims: { jti: "long", iat: undefined, exp: seconds() + 3610 } }),
    "an age over an hour": () => validAssertion({ claims: { jti: "old", iat: seconds() - 3610 } }),
    "no id, and an age over five minutes": () =>
      validAssertion({ claims: { iat: seconds() - 310 } }),
    "no id, and over five minutes to live": () =>
      validAssertion({ claims: { iat: undefined, exp: seconds() + 310 } }),
    "a time of issue to come": () => validAssertion({ claims: { iat: seconds() + 61 } }),
    "a time of issue 11 seconds ahead": () => validAssertion({ claims: { iat: seconds() + 11 } }),
    "a time before which it is nothing": () => validAssertion({ claims: { nbf: seconds() + 61 } }),
    "an expiry five seconds ago": () => validAssertion({ claims: { exp: seconds() - 5 } }),
    "another subject": () => validAssertion({ claims: { sub: known.basic.id } }),
    "another issuer": () => validAssertion({ claims: { iss: known.basic.id } }),
    "no issuer": () => validAssertion({ claims: { iss: undefined } }),
    "the ids of another client": () =>
      validAssertion({ claims: { iss: keyedApi.id, sub: keyedApi.id } }),
    "the key of another client": () =>
      validAssertion({ header: { kid: keyedApi.keyId }, key: keyedApi.key }),
    "the key id of another client": () => validAssertion({ header: { kid: keyedApi.keyId } }),
    "an unknown key": () => validAssertion({ header: { kid: "1" } }),
    "an empty key id": () => validAssertion({ header: { kid: "" } }),
    "an odd key id": () => validAssertion({ header: { kid: "__proto__" } }),
    "a foreign signature": () =>
      validAssertion({ key: generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey }),
    "a header that must be understood": () => validAssertion({ header: { crit: ["x"], x: 1 } }),
    // RFC 8725 §2.1: the public key as an HMAC secret.
    "a symmetric signature": async () => {
      const pem = createPublicKey(keyed.key).export({ type: "spki", format: "pem" })
      const claims = { iss: keyed.id, sub: keyed.id, aud: issuer, exp: seconds() + 60 }
      const assertion = await new SignJWT(claims)
        .setProtectedHeader({ alg: "HS256", kid: keyed.keyId })
        .sign(new TextEncoder().encode(String(pem)))
      return { client_assertion_type: assertionType, client_assertion: assertion }
    },
    "no signature": async () => {
      const [, body = ""] = (await validAssertion()).client_assertion.split(".")
      const header = { alg: "none", kid: keyed.keyId }
      const head = Buffer.from(JSON.stringify(header)).toString("base64url")
      return { client_assertion_type: assertionType, client_assertion: `${head}.${body}.` }
    },
    nonsense: async () => ({
      client_assertion_type: assertionType,
      client_assertion: "nonsense",
    }),
    "a time of issue that is no number": () => validAssertion({ claims: { iat: "now" } }),
    "an id that is no text": () => validAssertion({ claims: { jti: 5 } }),
    "another type": async () => ({
      ...(await validAssertion()),
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:saml2-bearer",
    }),
    "another client_id beside it": async () => ({
      ...(await validAssertion()),
      client_id: known.basic.id,
    }),
  }
  test.each(Object.entries(bad))("is rejected with %s", async (_, fields) => {
    expect(await methodFor(await fields())).toBe(refused)
  })

  const fine: Readonly<Record<string, () => Promise<Fields>>> = {
    "the token endpoint as audience": () =>
      validAssertion({ claims: { aud: `${issuer}/oauth/v2/token` } }),
    "the introspection endpoint as audience": () =>
      validAssertion({ claims: { aud: `${issuer}/oauth/v2/introspect` } }),
    "the issuer with a slash": () => validAssertion({ claims: { aud: `${issuer}/` } }),
    "several audiences": () => validAssertion({ claims: { aud: ["other", issuer] } }),
    "no key id, of its only key (OpenID Connect Core §10.1)": () =>
      validAssertion({ header: { kid: undefined } }),
    // FAPI 2.0 Security Profile §5.3.2.1.
    "a clock that is ten seconds ahead": () => {
      const ahead = seconds() + 10
      return validAssertion({ claims: { jti: "ahead", iat: ahead, nbf: ahead, exp: ahead + 3600 } })
    },
    "no time of issue": () => validAssertion({ claims: { iat: undefined } }),
    "an hour to live": () => validAssertion({ claims: { exp: seconds() + 3600 } }),
    "an id, and almost an hour of age": () =>
      validAssertion({ claims: { jti: "aged", iat: seconds() - 3590 } }),
    "an id, no time of issue, and an hour to live": () =>
      validAssertion({ claims: { jti: "lasting", iat: undefined, exp: seconds() + 3600 } }),
    "the algorithm PS256": () => validAssertion({ header: { alg: "PS256" } }),
    "its client_id beside it": async () => ({ ...(await validAssertion()), client_id: keyed.id }),
  }
  test.each(Object.entries(fine))("is accepted with %s", async (_, fields) => {
    expect(await methodFor(await fields())).toBe(`${keyed.id} by private_key_jwt`)
  })

  test("is accepted once if it has a jti, at any endpoint", async () => {
    const fields = await validAssertion({ claims: { jti: "once" } })
    const all = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        methodFor(fields, undefined, at % 2 ? introspectionMethods : clientAuthMethods),
      ),
    )
    expect(all.sort()).toEqual([`${keyed.id} by private_key_jwt`, ...Array(9).fill(refused)].sort())
  })

  test("is not consumed by an invalid signature, or by a deactivated client", async () => {
    const other = await addKeyClient(provider)
    const claims = { jti: "kept", iss: other.id, sub: other.id }
    const forged = await signAssertion(provider, other, { claims, key: keyed.key })
    expect(await methodFor(forged)).toBe(refused)
    const fields = await signAssertion(provider, other, { claims })
    await app.deactivateApplication(provider.cx(), other.appId)
    expect(await methodFor(fields)).toBe(refused)
    await reactivateApplication(provider.cx(), other.appId)
    expect(await methodFor(fields)).toContain("by private_key_jwt")
  })

  test("is valid until its key expires or is removed", async () => {
    const other = await addKeyClient(provider)
    const until = provider.clock.now() + 60_000
    const short = await addKeyTo(provider, other.appId, until)
    expect(await methodFor(await signAssertion(provider, short))).toContain("by private_key_jwt")
    const unnamed = () => signAssertion(provider, other, { header: { kid: undefined } })
    expect(await methodFor(await unnamed())).toBe(refused)
    provider.clock.advance(60_000)
    expect(await methodFor(await unnamed())).toContain("by private_key_jwt")
    expect(await methodFor(await signAssertion(provider, short))).toBe(refused)
    expect(await methodFor(await signAssertion(provider, other))).toContain("by private_key_jwt")
    await removeAppKey(provider.cx(), other.appId, other.keyId)
    expect(await methodFor(await signAssertion(provider, other))).toBe(refused)
  })

  test("is rejected for an application with another method", async () => {
    const key = await addKeyTo(provider, known.basic.appId)
    expect(await methodFor(await signAssertion(provider, key))).toBe(refused)
  })
})

describe("a request uses one method only (RFC 6749 §2.3):", () => {
  const both: Readonly<Record<string, () => Promise<string>>> = {
    "header and body": () =>
      methodFor({ client_secret: "x" }, encodeBasic(known.basic.id, known.basic.secret)),
    "header and assertion": async () =>
      methodFor(await validAssertion(), encodeBasic(known.basic.id, known.basic.secret)),
    "secret and assertion": async () =>
      methodFor({
        ...(await validAssertion()),
        client_id: known.basic.id,
        client_secret: known.basic.secret,
      }),
    "header and another client_id": () =>
      methodFor({ client_id: known.post.id }, encodeBasic(known.basic.id, known.basic.secret)),
    "an assertion without its type": async () =>
      methodFor({ client_assertion: (await validAssertion()).client_assertion }),
    "a type without an assertion": () => methodFor({ client_assertion_type: assertionType }),
  }
  test.each(Object.entries(both))("%s is rejected", async (_, attempt) => {
    expect(await attempt()).toBe("invalid_request 400")
  })

  test("a client can repeat its ID beside the header", async () => {
    const { id, secret } = known.basic
    expect(await methodFor({ client_id: id }, encodeBasic(id, secret))).toContain(id)
  })

  test.each(["Bearer abc", "Basic", "Basic !", "Basic YQ==", "Digest x"])(
    "%s is not a way to authenticate",
    async (authorization) => {
      const attempt = authenticateClient(provider.cx(), { parameters: new Map(), authorization })
      await expect(attempt).rejects.toMatchObject({ error: "invalid_client", status: 401 })
    },
  )
})

describe("deactivation rejects:", () => {
  test("an application, its project and their organization", async () => {
    const cx = provider.cx()
    const orgId = cx.ids.next()
    await createOrganization(cx, orgId, { name: "Off" })
    const projectId = cx.ids.next()
    await project.createProject(cx, projectId, { orgId, name: "Off" })
    const { appId, id, secret } = await provider.addClient({}, projectId)
    const works = () => methodFor({}, encodeBasic(id, secret))
    const switches = [
      [() => app.deactivateApplication(cx, appId), () => reactivateApplication(cx, appId)],
      [
        () => project.deactivateProject(cx, projectId),
        () => project.activateProject(cx, projectId),
      ],
      [() => org.deactivateOrganization(cx, orgId), () => activateOrganization(cx, orgId)],
    ] as const
    for (const [off, on] of switches) {
      await off()
      expect(await works()).toBe(refused)
      await on()
      expect(await works()).toContain(id)
    }
    await app.removeApplication(cx, appId)
    expect(await works()).toBe(refused)
  })

  test("a service account and its organization", async () => {
    const cx = provider.cx()
    const orgId = cx.ids.next()
    await createOrganization(cx, orgId, { name: "Off too" })
    const { userId, id, secret } = await addServiceAccount(provider, "bearer", orgId)
    const works = () => methodFor({}, encodeBasic(id, secret))
    const switches = [
      [() => deactivateUser(cx, userId), () => reactivateUser(cx, userId)],
      [() => lockUser(cx, userId), () => unlockUser(cx, userId)],
      [() => org.deactivateOrganization(cx, orgId), () => activateOrganization(cx, orgId)],
    ] as const
    for (const [off, on] of switches) {
      await off()
      expect(await works()).toBe(refused)
      await on()
      expect(await works()).toContain(id)
    }
    await removeMachineSecret(cx, userId)
    expect(await works()).toBe(refused)
    await removeUser(cx, userId)
    expect(await works()).toBe(refused)
  })
})
