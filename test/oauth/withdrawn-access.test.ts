// Access that a user withdraws from an application: exchanged ID tokens, and clusters with older
// nodes.
import { expect, test, vi } from "vitest"
import * as app from "../../src/domain/app/index.ts"
import { shares } from "../../src/domain/grant/api.ts"
import { connectedApps } from "../../src/domain/grant/index.ts"
import { Fault } from "../../src/kernel/fault.ts"
import { callOperation } from "../support/call-operation.ts"
import { openExchange, typeOf } from "./exchange.ts"
import { authorizePath, browserOf, openProvider, redirectUri, responseOf } from "./provider.ts"
import { enableRegistration } from "./registration.ts"

test("nodes of an older version only prevent remembering consents", async () => {
  const provider = await openProvider()
  const { ownerId: userId, orgId } = provider.setup
  const grantTypes = ["authorization_code", "refresh_token"] as const
  const oidc = { authMethod: "none", redirectUris: [redirectUri], grantTypes } as const
  await enableRegistration(provider, { consentLifetimeSeconds: 86_400 })
  const metadata = { name: "Desk", oidc, jwks: [] }
  const { clientId } = await app.registerApplication(provider.cx(), metadata)
  const { store } = provider
  const { append } = store.log
  const early = new Fault("unavailable", "store.nodes_older", "older nodes are still there")
  const spy = vi.spyOn(store.log, "append").mockImplementation((steps) => {
    const isEarly = JSON.stringify(steps).includes("application.consent.")
    return isEarly ? Promise.reject(early) : append.call(store.log, steps)
  })

  const browser = browserOf(provider)
  const asked = await browser.signIn(authorizePath(clientId))
  const allowed = await browser.post(asked, { answer: "allow" })
  expect(responseOf(allowed)).toHaveProperty("code")
  expect(spy.mock.calls.some((call) => JSON.stringify(call).includes("app_consent"))).toBe(true)
  expect(connectedApps(provider.cx(), userId)).toEqual([])
  expect((await browser.go(authorizePath(clientId))).path).toContain("/ui/login/consent")

  const implicit = await provider.addClient({
    responseTypes: ["id_token_token"],
    grantTypes: ["implicit"],
  })
  await browser.go(authorizePath(implicit.id, { response_type: "id_token token" }))
  expect(connectedApps(provider.cx(), userId)).toMatchObject([{ appId: implicit.appId }])
  const cx = provider.cx({ caller: { kind: "user", userId, orgId, clientId: "c" } })
  await callOperation(shares, "disconnectApplication", cx, { applicationId: implicit.appId })
  expect(connectedApps(provider.cx(), userId)).toEqual([])
  await provider.close()
})

test("withdrawn access ends tokens exchanged from an ID token", async () => {
  const opened = await openExchange()
  const ofIdToken = { subject_token_type: typeOf("id_token") }
  const { id } = await opened.signIn()
  const { access_token } = await opened.exchanged(id, ofIdToken)
  expect(await opened.statusOf(access_token)).toBe(200)
  opened.provider.clock.advance(1000)
  const { ownerId: userId, orgId } = opened.provider.setup
  const cx = opened.provider.cx({ caller: { kind: "user", userId, orgId, clientId: "c" } })
  await callOperation(shares, "disconnectApplication", cx, { applicationId: opened.web.appId })
  expect(await opened.statusOf(access_token)).toBe(401)
  await opened.refused(id, ofIdToken)
  opened.provider.clock.advance(1000)
  await opened.exchanged((await opened.signIn()).id, ofIdToken)
  await opened.provider.close()
})
