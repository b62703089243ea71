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
  introspectionMethods,
  type Method,
  methods,
} from "../../src/oauth/client/authentication.ts"
import {
  addApi,
  addKeyClient,
  addKeyTo,
  addRobot,
  asserted,
  assertionType,
  basicOf,
  type ClientKey,
} from "./clients.ts"
import { askToken, issuer, openProvider, type Provider } from "./provider.ts"

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
let robot: Awaited<ReturnType<typeof addRobot>>
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
  robot = await addRobot(provider)
})
afterAll(() => provider.close())

type Fields = Readonly<Record<string, string>>

const authorizationOf = (basic: string | undefined) =>
  basic === undefined ? null : `Basic ${Buffer.from(basic).toString("base64")}`

/** The method that a client was taken by, or the error. */
const tried = async (fields: Fields, basic?: string, accepts?: readonly Method[]) => {
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

type Shown = { readonly id: string; readonly secret?: string } & Partial<ClientKey>

/** A client tries each method with what it has; without a key it uses somebody else's. */
const attempts: Readonly<Record<Method, (client: Shown, accepts?: readonly Method[]) => unknown>> =
  {
    client_secret_basic: ({ id, secret = "x" }, accepts) => tried({}, basicOf(id, secret), accepts),
    client_secret_post: ({ id, secret = "x" }, accepts) =>
      tried({ client_id: id, client_secret: secret }, undefined, accepts),
    none: ({ id }, accepts) => tried({ client_id: id }, undefined, accepts),
    private_key_jwt: async (client, accepts) => {
      return tried(await asserted(provider, { ...keyed, ...client }), undefined, accepts)
    },
  }

const rows: readonly (readonly [string, () => Shown, readonly Method[]])[] = [
  ["an application with basic", () => known.basic, ["client_secret_basic", "client_secret_post"]],
  ["an application with post", () => known.post, ["client_secret_basic", "client_secret_post"]],
  ["an application that insists on basic", () => known.strictBasic, ["client_secret_basic"]],
  ["an application that insists on post", () => known.strictPost, ["client_secret_post"]],
  ["a public application", () => known.none, ["none"]],
  ["an application with a key", () => keyed, ["private_key_jwt"]],
  ["an API with basic", () => known.api, ["client_secret_basic", "client_secret_post"]],
  ["an API with a key", () => keyedApi, ["private_key_jwt"]],
  ["a service user", () => robot, ["client_secret_basic", "client_secret_post", "private_key_jwt"]],
]

describe.each(rows)("%s authenticates", (_, clientOf, works) => {
  const everywhere = {
    "where all methods are accepted": methods,
    "at introspection (interface §5.2)": introspectionMethods,
  }
  for (const [where, accepts] of Object.entries(everywhere)) {
    test.each(methods)(`${where} by %s, or not`, async (method) => {
      const client = clientOf()
      const good = works.includes(method) && accepts.some((each) => each === method)
      const expected = good ? `${client.id} by ${method}` : refused
      expect(await attempts[method](client, accepts)).toBe(expected)
    })
  }
})

describe("a service user as a client", () => {
  test("is also one by its id, which is all that its key file says", async () => {
    const { userId, secret } = robot
    expect(await tried({}, basicOf(userId, secret))).toBe(`${userId} by client_secret_basic`)
    const fields = await asserted(provider, { ...robot, id: userId })
    expect(await tried(fields)).toBe(`${userId} by private_key_jwt`)
  })

  test("keeps its secret and gets a new name when it is renamed", async () => {
    const other = await addRobot(provider)
    await updateUser(provider.cx(), other.userId, { userName: "renamed" })
    expect(await tried({}, basicOf(other.id, other.secret))).toBe(refused)
    expect(await tried({}, basicOf("renamed", other.secret))).toContain("renamed by")
    expect(await tried({}, basicOf("Renamed", other.secret))).toBe(refused)
  })
})

describe("what a service user was issued (RFC 7009 §2.1)", () => {
  test("stays its own when it is renamed, and another takes its name", async () => {
    const [first, second] = [await addRobot(provider), await addRobot(provider)]
    const credentials = { grant_type: "client_credentials", scope: "openid" }
    const { answer } = await askToken(provider, credentials, basicOf(first.id, first.secret))
    const revoke = (as: string) =>
      provider.send("/oauth/v2/revoke", {
        method: "POST",
        headers: { authorization: `Basic ${Buffer.from(as).toString("base64")}` },
        body: new URLSearchParams({ token: String(answer.access_token) }),
      })
    await updateUser(provider.cx(), first.userId, { userName: "moved" })
    await releaseLoginName(provider.cx(), first.userId, first.id)
    await updateUser(provider.cx(), second.userId, { userName: first.id })
    expect((await revoke(basicOf(first.id, second.secret))).status).toBe(400)
    expect((await revoke(basicOf("moved", first.secret))).status).toBe(200)
    const authorization = `Bearer ${answer.access_token}`
    expect((await provider.send("/oidc/v1/userinfo", { headers: { authorization } })).status).toBe(
      401,
    )
  })
})

describe("a secret", () => {
  const wrong: Readonly<Record<string, () => Promise<string>>> = {
    "is empty": () => tried({}, basicOf(known.basic.id, "")),
    "is another client's": () => tried({}, basicOf(known.basic.id, known.post.secret)),
    "is a service user's": () => tried({}, basicOf(known.basic.id, robot.secret)),
    "is longer": () => tried({}, basicOf(known.basic.id, `${known.basic.secret}A`)),
    "is shorter": () => tried({}, basicOf(known.basic.id, known.basic.secret.slice(1))),
    "is not in its case": () => tried({}, basicOf(known.basic.id, swapped(known.basic.secret))),
    "is that of nobody": () => tried({}, basicOf("nobody", known.basic.secret)),
    "is that of an application by its own id": () =>
      tried({}, basicOf(known.basic.appId, known.basic.secret)),
    "is not encoded": () => tried({}, `${robot.id}:${robot.secret}`),
  }
  test.each(Object.entries(wrong))("is refused that %s", async (_, attempt) => {
    expect(await attempt()).toBe(refused)
  })

  test("is not one of a person, who has a password", async () => {
    await provider.addPerson("petra")
    expect(await tried({}, basicOf("petra", robot.secret))).toBe(refused)
  })

  test("says the same, whatever is wrong (RFC 6749 §5.2)", async () => {
    const grant_type = "client_credentials"
    const answers = await Promise.all([
      askToken(provider, { grant_type }, basicOf("nobody", "x")),
      askToken(provider, { grant_type }, basicOf(robot.id, "x")),
      askToken(provider, { grant_type }, basicOf(known.none.id, "x")),
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

  test("costs the same work for a client that is there and one that is not", async () => {
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
      const authorization = authorizationOf(basicOf(id, "wrong"))
      const attempt = authenticateClient(cx, { parameters: new Map(), authorization })
      await expect(attempt, id).rejects.toMatchObject({ error: "invalid_client" })
      expect(hashed, id).toBe(1)
    }
  })

  test("is guessed by none of fifty at once", async () => {
    const guesses = Array.from({ length: 50 }, (_, at) =>
      tried({}, basicOf(known.basic.id, `${known.basic.secret.slice(0, at)}`)),
    )
    expect(new Set(await Promise.all(guesses))).toEqual(new Set([refused]))
  })
})

const swapped = (text: string) =>
  text.replace(/[a-z]/i, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )

const seconds = () => Math.floor(provider.clock.now() / 1000)
const good = (changes?: Parameters<typeof asserted>[2]) => asserted(provider, keyed, changes)

describe("a client's assertion (RFC 7523 §2.2, OpenID Connect Core §9)", () => {
  const bad: Readonly<Record<string, () => Promise<Fields>>> = {
    "another audience": () => good({ claims: { aud: "https://other.example" } }),
    "the issuer with a path": () => good({ claims: { aud: `${issuer}/x` } }),
    "the issuer with two slashes": () => good({ claims: { aud: `${issuer}//` } }),
    "no audience": () => good({ claims: { aud: undefined } }),
    "the audience of a page": () => good({ claims: { aud: `${issuer}/oidc/v1/userinfo` } }),
    "no expiry": () => good({ claims: { exp: undefined } }),
    "an expiry in the past": () => good({ claims: { exp: seconds() - 2 } }),
    "more than an hour to live": () =>
      good({ claims: { jti: "long", iat: undefined, exp: seconds() + 3610 } }),
    "an age over an hour": () => good({ claims: { jti: "old", iat: seconds() - 3610 } }),
    "no id, and an age over five minutes": () => good({ claims: { iat: seconds() - 310 } }),
    "no id, and over five minutes to live": () =>
      good({ claims: { iat: undefined, exp: seconds() + 310 } }),
    "a time of issue to come": () => good({ claims: { iat: seconds() + 61 } }),
    "a time of issue 11 seconds ahead": () => good({ claims: { iat: seconds() + 11 } }),
    "a time before which it is nothing": () => good({ claims: { nbf: seconds() + 61 } }),
    "an expiry five seconds ago": () => good({ claims: { exp: seconds() - 5 } }),
    "another subject": () => good({ claims: { sub: known.basic.id } }),
    "another issuer": () => good({ claims: { iss: known.basic.id } }),
    "no issuer": () => good({ claims: { iss: undefined } }),
    "the ids of another client": () => good({ claims: { iss: keyedApi.id, sub: keyedApi.id } }),
    "the key of another client": () => good({ header: { kid: keyedApi.keyId }, key: keyedApi.key }),
    "the key id of another client": () => good({ header: { kid: keyedApi.keyId } }),
    "an unknown key": () => good({ header: { kid: "1" } }),
    "an empty key id": () => good({ header: { kid: "" } }),
    "an odd key id": () => good({ header: { kid: "__proto__" } }),
    "a foreign signature": () =>
      good({ key: generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey }),
    "a header that must be understood": () => good({ header: { crit: ["x"], x: 1 } }),
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
      const [, body = ""] = (await good()).client_assertion.split(".")
      const header = { alg: "none", kid: keyed.keyId }
      const head = Buffer.from(JSON.stringify(header)).toString("base64url")
      return { client_assertion_type: assertionType, client_assertion: `${head}.${body}.` }
    },
    nonsense: async () => ({
      client_assertion_type: assertionType,
      client_assertion: "nonsense",
    }),
    "a time of issue that is no number": () => good({ claims: { iat: "now" } }),
    "an id that is no text": () => good({ claims: { jti: 5 } }),
    "another type": async () => ({
      ...(await good()),
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:saml2-bearer",
    }),
    "another client_id beside it": async () => ({ ...(await good()), client_id: known.basic.id }),
  }
  test.each(Object.entries(bad))("is refused with %s", async (_, fields) => {
    expect(await tried(await fields())).toBe(refused)
  })

  const fine: Readonly<Record<string, () => Promise<Fields>>> = {
    "the token endpoint as audience": () => good({ claims: { aud: `${issuer}/oauth/v2/token` } }),
    "the introspection endpoint as audience": () =>
      good({ claims: { aud: `${issuer}/oauth/v2/introspect` } }),
    "the issuer with a slash": () => good({ claims: { aud: `${issuer}/` } }),
    "several audiences": () => good({ claims: { aud: ["other", issuer] } }),
    "no key id, of its only key (OpenID Connect Core §10.1)": () =>
      good({ header: { kid: undefined } }),
    // FAPI 2.0 Security Profile §5.3.2.1.
    "a clock that is ten seconds ahead": () => {
      const ahead = seconds() + 10
      return good({ claims: { jti: "ahead", iat: ahead, nbf: ahead, exp: ahead + 3600 } })
    },
    "no time of issue": () => good({ claims: { iat: undefined } }),
    "an hour to live": () => good({ claims: { exp: seconds() + 3600 } }),
    "an id, and almost an hour of age": () =>
      good({ claims: { jti: "aged", iat: seconds() - 3590 } }),
    "an id, no time of issue, and an hour to live": () =>
      good({ claims: { jti: "lasting", iat: undefined, exp: seconds() + 3600 } }),
    "the algorithm PS256": () => good({ header: { alg: "PS256" } }),
    "its client_id beside it": async () => ({ ...(await good()), client_id: keyed.id }),
  }
  test.each(Object.entries(fine))("is taken with %s", async (_, fields) => {
    expect(await tried(await fields())).toBe(`${keyed.id} by private_key_jwt`)
  })

  test("counts once when it carries an id, at whatever endpoint", async () => {
    const fields = await good({ claims: { jti: "once" } })
    const all = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        tried(fields, undefined, at % 2 ? introspectionMethods : methods),
      ),
    )
    expect(all.sort()).toEqual([`${keyed.id} by private_key_jwt`, ...Array(9).fill(refused)].sort())
  })

  test("is not spent by who can't sign it, nor by a client that is switched off", async () => {
    const other = await addKeyClient(provider)
    const claims = { jti: "kept", iss: other.id, sub: other.id }
    const forged = await asserted(provider, other, { claims, key: keyed.key })
    expect(await tried(forged)).toBe(refused)
    const fields = await asserted(provider, other, { claims })
    await app.deactivateApplication(provider.cx(), other.appId)
    expect(await tried(fields)).toBe(refused)
    await reactivateApplication(provider.cx(), other.appId)
    expect(await tried(fields)).toContain("by private_key_jwt")
  })

  test("is worth what its key is: until that expires or is removed", async () => {
    const other = await addKeyClient(provider)
    const until = provider.clock.now() + 60_000
    const short = await addKeyTo(provider, other.appId, until)
    expect(await tried(await asserted(provider, short))).toContain("by private_key_jwt")
    const unnamed = () => asserted(provider, other, { header: { kid: undefined } })
    expect(await tried(await unnamed())).toBe(refused)
    provider.clock.advance(60_000)
    expect(await tried(await unnamed())).toContain("by private_key_jwt")
    expect(await tried(await asserted(provider, short))).toBe(refused)
    expect(await tried(await asserted(provider, other))).toContain("by private_key_jwt")
    await removeAppKey(provider.cx(), other.appId, other.keyId)
    expect(await tried(await asserted(provider, other))).toBe(refused)
  })

  test("is worth nothing for an application whose method is another", async () => {
    const key = await addKeyTo(provider, known.basic.appId)
    expect(await tried(await asserted(provider, key))).toBe(refused)
  })
})

describe("a request uses one method only (RFC 6749 §2.3):", () => {
  const both: Readonly<Record<string, () => Promise<string>>> = {
    "header and body": () =>
      tried({ client_secret: "x" }, basicOf(known.basic.id, known.basic.secret)),
    "header and assertion": async () =>
      tried(await good(), basicOf(known.basic.id, known.basic.secret)),
    "secret and assertion": async () =>
      tried({ ...(await good()), client_id: known.basic.id, client_secret: known.basic.secret }),
    "header and another client_id": () =>
      tried({ client_id: known.post.id }, basicOf(known.basic.id, known.basic.secret)),
    "an assertion without its type": async () =>
      tried({ client_assertion: (await good()).client_assertion }),
    "a type without an assertion": () => tried({ client_assertion_type: assertionType }),
  }
  test.each(Object.entries(both))("%s is refused", async (_, attempt) => {
    expect(await attempt()).toBe("invalid_request 400")
  })

  test("a client may say its id beside the header", async () => {
    const { id, secret } = known.basic
    expect(await tried({ client_id: id }, basicOf(id, secret))).toContain(id)
  })

  test.each(["Bearer abc", "Basic", "Basic !", "Basic YQ==", "Digest x"])(
    "%s is no way to say who one is",
    async (authorization) => {
      const attempt = authenticateClient(provider.cx(), { parameters: new Map(), authorization })
      await expect(attempt).rejects.toMatchObject({ error: "invalid_client", status: 401 })
    },
  )
})

describe("whoever is switched off is refused:", () => {
  test("an application, its project and their organisation", async () => {
    const cx = provider.cx()
    const orgId = cx.ids.next()
    await createOrganization(cx, orgId, { name: "Off" })
    const projectId = cx.ids.next()
    await project.createProject(cx, projectId, { orgId, name: "Off" })
    const { appId, id, secret } = await provider.addClient({}, projectId)
    const works = () => tried({}, basicOf(id, secret))
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

  test("a service user and its organisation", async () => {
    const cx = provider.cx()
    const orgId = cx.ids.next()
    await createOrganization(cx, orgId, { name: "Off too" })
    const { userId, id, secret } = await addRobot(provider, "bearer", orgId)
    const works = () => tried({}, basicOf(id, secret))
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
