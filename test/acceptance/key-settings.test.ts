import { afterAll, beforeAll, expect, test } from "vitest"
import { assertionOf } from "../support/latchkey.ts"
import { bearer, openService, parseReply, type Service } from "./service.ts"

let service: Service
beforeAll(async () => {
  service = await openService()
})
afterAll(() => service.close())

const callRest = async (method: string, path: string, body?: object) =>
  parseReply(
    await fetch(`${service.url}${path}`, {
      method,
      headers: { ...bearer(service.token), "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    }),
  )

const lifetimes = {
  accessTokenLifetime: "1200s",
  idTokenLifetime: "1300s",
  refreshTokenIdleExpiration: "1400s",
  refreshTokenExpiration: "1500s",
}

test("lifetimes can be read, added and changed at /admin/v1/settings/oidc", async () => {
  const path = "/admin/v1/settings/oidc"
  const before = await callRest("GET", path)
  expect(before.body.settings).toMatchObject({
    accessTokenLifetime: "43200s",
    refreshTokenExpiration: "7776000s",
    idTokenSigningAlgorithm: "RS256",
  })
  expect((await callRest("POST", path, { accessTokenLifetime: "60s" })).status).toBe(400)
  expect((await callRest("POST", path, lifetimes)).status).toBe(200)
  expect((await callRest("POST", path, lifetimes)).status).toBe(409)
  const changed = await callRest("PUT", path, { ...lifetimes, idTokenLifetime: "60s" })
  expect([changed.status, typeof changed.body.details.sequence]).toEqual([200, "string"])
  expect((await callRest("GET", path)).body.settings).toMatchObject({
    ...lifetimes,
    idTokenLifetime: "60s",
  })
  const response = await fetch(`${service.url}/oauth/v2/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
      assertion: await assertionOf(service.url, service.key),
      scope: "openid",
    }),
  })
  expect(await response.json()).toMatchObject({ expires_in: 1200 })
})

test("the RFC 8414 document follows its setting", async () => {
  const path = "/.well-known/oauth-authorization-server"
  const turn = (authorizationServerMetadata: boolean) =>
    callRest("PUT", "/admin/v1/settings/oidc", { ...lifetimes, authorizationServerMetadata })
  expect((await fetch(service.url + path)).status).toBe(404)
  expect((await turn(true)).status).toBe(200)
  expect(await (await fetch(service.url + path)).json()).toMatchObject({ issuer: service.url })
  expect((await turn(false)).status).toBe(200)
  expect((await fetch(service.url + path)).status).toBe(404)
})

test("web keys are created, listed, activated and deleted at /", async () => {
  const made = await callRest("POST", "/?instance.domain=localhost", { ed25519: {} })
  expect(made.status).toBe(200)
  const { id } = made.body.details
  const published = async () => {
    const { keys } = (await (await fetch(`${service.url}/oauth/v2/keys`)).json()) as {
      keys: { kid: string; crv?: string }[]
    }
    return keys.find(({ kid }) => kid === id)
  }
  expect(await published()).toMatchObject({ crv: "Ed25519" })
  const state = async () => {
    const { webKeys } = (await callRest("GET", "/")).body
    return webKeys.find(({ details }: { details: { id: string } }) => details.id === id)?.state
  }
  expect(await state()).toBe("STATE_INITIAL")
  const activate = (key: string) => callRest("POST", `/resources/v3alpha/web_keys/${key}/_activate`)
  expect((await activate(id)).status).toBe(200)
  expect(await state()).toBe("STATE_ACTIVE")
  expect((await callRest("DELETE", `/resources/v3alpha/web_keys/${id}`)).status).toBe(400)

  const young = await callRest("POST", "/", { ed25519: {} })
  const early = await activate(young.body.details.id)
  expect([early.status, early.body.message]).toEqual([400, expect.stringContaining("seconds")])
  const gone = await callRest("DELETE", `/resources/v3alpha/web_keys/${young.body.details.id}`)
  expect(gone.status).toBe(200)
})

test("keys of another instance can be neither created nor listed", async () => {
  for (const query of ["instance.id=other", "instance.domain=other.example.com"]) {
    expect((await callRest("GET", `/?${query}`)).status, query).toBe(404)
    expect((await callRest("POST", `/?${query}`, { ed25519: {} })).status, query).toBe(404)
  }
  expect((await fetch(`${service.url}/`, { method: "POST", body: "{}" })).status).toBe(401)
})
