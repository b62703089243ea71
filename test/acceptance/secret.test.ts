import { rmSync } from "node:fs"
import { create, toBinary } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { loginPaths } from "../../src/login/index.ts"
import { oauthPaths } from "../../src/oauth/index.ts"
import { paths as samlPaths } from "../../src/saml/path.ts"
import { freePort, owner, run } from "../support/latchkey.ts"
import { openGrpc } from "./grpc.ts"
import {
  addHuman,
  bearer,
  humanInput,
  methodOf,
  openService,
  pathOf,
  type Service,
} from "./service.ts"

let service: Service
let organizationId: string
let metricsUrl: string

beforeAll(async () => {
  const metrics = `127.0.0.1:${await freePort()}`
  metricsUrl = `http://${metrics}/metrics`
  service = await openService(["--log-level", "trace", "--metrics-listen", metrics])
  organizationId = (await service.get("ListOrganizations")).result[0].id
})
afterAll(() => service?.close())

/** Used in every request field for secrets; nothing else contains it. */
const secret = "Xyzzy-plugh-42-secret"

const createHuman = (extra: object) => ({ ...humanInput("someone"), ...extra })
const createUser = (extra: object, more: object = {}) =>
  ["CreateUser", { organizationId, username: "x", human: createHuman(extra), ...more }] as const

/** Requests that contain a secret and are invalid. */
const requests: readonly (readonly [string, () => readonly [string, object]])[] = [
  ["a password that is too long", () => createUser({ password: { password: secret.repeat(90) } })],
  ["a password, to no organisation", () => createUser(password, { organizationId: "1" })],
  ["a hash that is none", () => createUser({ hashedPassword: { hash: secret } })],
  ["a one-time secret", () => createUser({ totpSecret: secret, ...password })],
  ["a field that is not there", () => createUser({ password: { password: secret, nope: secret } })],
  ["a number for a flag", () => createUser({ password: { password: secret, changeRequired: 7 } })],
  ["a password in the wrong place", () => createUser({ password: secret })],
  ["a password for nobody", () => setPasswordRequest({}, "100000000000000001")],
  [
    "a wrong current password",
    () => setPasswordRequest({ currentPassword: secret }, service.key.userId),
  ],
  ["a wrong invitation", () => ["VerifyInviteCode", invitationInput]],
  ["a wrong code", () => setPasswordRequest({ verificationCode: secret }, service.key.userId)],
]
const password = { password: { password: secret } }
const invitationInput = { userId: "100000000000000001", verificationCode: secret }

const setPasswordRequest = (proof: object, userId: string) =>
  ["SetPassword", { userId, newPassword: { password: secret }, ...proof }] as const

function expectNoSecret(answer: string) {
  expect(answer).not.toContain(secret)
  expect(service.output()).not.toContain(secret)
}

describe("no response and no log line contains a secret of the request", () => {
  test.each(requests)("%s", async (_, make) => {
    const { status, body } = await service.call(...make())
    expect(status).not.toBe(200)
    expectNoSecret(JSON.stringify(body))
  })

  test("a truncated message, in JSON or binary", async () => {
    const method = methodOf("CreateUser")
    const value = { ...humanInput("x"), email: undefined, passwordType: passwordCase }
    const message = create(method.input, { userType: { case: "human", value } } as never)
    const text = JSON.stringify({ human: { password: { password: secret } } })
    for (const [type, body] of [
      ["application/json", text.slice(0, -2)],
      ["application/json", `${text}${secret}`],
      ["application/proto", toBinary(method.input, message).slice(0, -1)],
    ] as const) {
      const headers = { "content-type": type, ...bearer(service.token) }
      const response = await fetch(`${service.url}${pathOf(method)}`, {
        method: "POST",
        headers,
        body,
      })
      expect(response.status).toBe(400)
      expectNoSecret(await response.text())
    }
  })

  test("requests by gRPC", async () => {
    const grpc = openGrpc(service.grpcPort, service.token)
    try {
      const value = { ...humanInput("x"), email: undefined, passwordType: passwordCase }
      const failed = await grpc
        .call("CreateUser", { organizationId: "1", userType: { case: "human", value } })
        .then(
          () => "",
          (error: Error) => `${error.message}${JSON.stringify(error)}`,
        )
      expect(failed).not.toBe("")
      expectNoSecret(failed)
    } finally {
      grpc.close()
    }
  })
})

const passwordCase = { case: "password", value: { password: secret } }

describe("successful requests disclose no secrets either:", () => {
  test("passwords, tokens, keys and client secrets are in no log line", async () => {
    const userId = await addHuman(service, organizationId, "keeper")
    await service.get(...setPasswordRequest({}, userId))
    const { keyContent } = await service.get("AddKey", {
      userId: service.key.userId,
      expirationDate: new Date(Date.now() + 86_400_000).toISOString(),
    })
    const { projectId } = await service.get("CreateProject", { organizationId, name: "p" })
    const { oidcConfiguration, applicationId } = await service.get("CreateApplication", {
      projectId,
      name: "a",
      oidcConfiguration: { redirectUris: ["https://a.example.com/"] },
    })
    const clientSecret: string = oidcConfiguration.clientSecret
    expect(clientSecret.length).toBeGreaterThan(30)
    const { userId: robot } = service.key
    const expirationDate = new Date(Date.now() + 86_400_000).toISOString()
    const { clientSecret: own } = await service.get("AddSecret", { userId: robot })
    const lasting = { userId: robot, expirationDate }
    const { token } = await service.get("AddPersonalAccessToken", lasting)
    const { keyDetails } = await service.get("CreateApplicationKey", { projectId, applicationId })
    const output = service.output()
    const made = [keyContent, clientSecret, own, token, keyDetails]
    for (const each of [secret, owner.password, service.token, ...made]) {
      expect(output).not.toContain(each)
    }
    expect(output).not.toContain("PRIVATE KEY")
    // Requires that the log is not empty.
    expect(output).toContain("CreateApplication")
  })

  test("a wrong password at the login page is in no log line", async () => {
    const form = new URLSearchParams({ password: secret, loginName: owner.loginName, csrf: "x" })
    for (const path of ["loginname", "password"]) {
      const url = `${service.url}/ui/login/${path}?password=${secret}`
      const response = await fetch(url, { method: "POST", body: form, redirect: "manual" })
      await response.text()
    }
    expect(service.output()).not.toContain(secret)
  })

  test("a code in an invitation link is in no log line", async () => {
    const link = `${service.url}/ui/login/verify?userId=1&invite=true&code=${secret}`
    const page = await fetch(link)
    expect([page.status, (await page.text()).includes(secret)]).toEqual([200, true])
    const body = new URLSearchParams({ userId: "1", code: secret, csrf: "x" })
    await (await fetch(link, { method: "POST", body })).text()
    await (await fetch(link.replace("userId", "nobody"))).text()
    expect(service.output()).not.toContain(secret)
  })
})

describe("unauthenticated input to OAuth, SAML and login endpoints is not logged, by", () => {
  /** Parameters and headers that carry secrets. */
  const fields = [
    "password",
    "newPassword",
    "oldPassword",
    "code",
    "otp",
    "client_secret",
    "refresh_token",
    "token",
    "access_token",
    "assertion",
    "client_assertion",
    "subject_token",
    "actor_token",
    "code_verifier",
    "device_code",
    "user_code",
    "id_token_hint",
    "request",
    "request_uri",
    "SAMLRequest",
    "SAMLResponse",
    "Signature",
    "state",
    "nonce",
    "csrf",
    "answer",
    "carried",
  ]
  const filled = () => new URLSearchParams(fields.map((name) => [name, secret]))
  const grants = [
    "authorization_code",
    "refresh_token",
    "client_credentials",
    "password",
    "urn:ietf:params:oauth:grant-type:jwt-bearer",
    "urn:invented",
    "urn:ietf:params:oauth:grant-type:device_code",
    "urn:ietf:params:oauth:grant-type:token-exchange",
  ]
  const carried: readonly Readonly<Record<string, string>>[] = [
    { authorization: `Bearer ${secret}`, dpop: secret, cookie: `__Host-session=${secret}` },
    { authorization: `Basic ${Buffer.from(`${owner.loginName}:${secret}`).toString("base64")}` },
    { authorization: `DPoP ${secret}`, "x-forwarded-for": secret, "x-request-id": secret },
  ]
  const paths = new Set([oauthPaths, loginPaths, samlPaths].flatMap((each) => Object.values(each)))

  const send = async (path: string, headers: Readonly<Record<string, string>>, grant: string) => {
    const sent = filled()
    const known = { client_id: service.key.userId, grant_type: grant, response_type: "code" }
    for (const [name, value] of Object.entries(known)) sent.set(name, value)
    const [asked, body] = [`${service.url}${path}?${sent}`, new URLSearchParams(sent)]
    const json = JSON.stringify(Object.fromEntries(sent))
    const type = { "content-type": "application/json", ...headers }
    const answers = await Promise.all([
      fetch(asked, { headers, redirect: "manual" }),
      fetch(asked, { method: "POST", headers, body, redirect: "manual" }),
      fetch(`${service.url}${path}`, { method: "POST", headers: type, body: json }),
    ])
    return Promise.all(answers.map((answer) => answer.text()))
  }

  test.each([...paths])("%s", async (path) => {
    const some = path === oauthPaths.token ? grants : ["authorization_code"]
    for (const headers of carried) for (const grant of some) await send(path, headers, grant)
    expect(service.output()).not.toContain(secret)
  })

  test("the metrics, the events, and the output of a backup", async () => {
    expect(await (await fetch(metricsUrl)).text()).not.toContain(secret)
    const at = ["--data", service.data, "--json"]
    const events = await run(["events", "search", "--limit", "1000", ...at])
    expect(events).toMatchObject({ code: 0, output: expect.stringContaining("user.human.added") })
    const file = `${service.data}.backup`
    const saved = await run(["backup", file, ...at])
    rmSync(file, { force: true })
    expect(saved.code).toBe(0)
    for (const each of [secret, owner.password, service.token]) {
      expect(events.output + saved.output).not.toContain(each)
    }
    expect(service.output()).toContain("token")
  })
})
