// An administrator of a provider points it to their own service, and back to the real one before
// the response is used. Users linked to the real one must not be accessible by that.
import { afterEach, beforeEach, expect, test } from "vitest"
import { checkIntent } from "../../src/domain/federation/check.ts"
import { startLinking } from "../../src/domain/federation/linking.ts"
import { createIdp, findIdpById, linkIdp, updateIdp } from "../../src/domain/idp/commands.ts"
import { type Options, startIntent } from "../../src/domain/idp/index.ts"
import type { Settings } from "../../src/domain/idp/model.ts"
import { parseProvider } from "../../src/domain/idp/saml/provider.ts"
import { anchorOf } from "../../src/domain/idp/saml/refresh.ts"
import { addLink, findLinkedUser } from "../../src/domain/user-link/commands.ts"
import { authorizePath, openProvider, type Provider } from "../oauth/provider.ts"
import { createAssertion, createResponse, idpMetadata, signXml } from "../saml/identity-provider.ts"
import { createKey } from "../saml/service-provider.ts"
import { addSaml, newBrowser, postResponse, requestAtProvider } from "../saml/upstream.ts"
import { unreachableOutside } from "../support/outside.ts"
import { openUpstream, type Upstream, upstreamIssuer } from "../support/upstream.ts"

const realIssuer = "https://real.example.com"
const externalId = "linked-at-the-real-one"

let provider: Provider
let clientId: string
let upstream: Upstream
beforeEach(async () => {
  provider = await openProvider()
  clientId = (await provider.addClient()).id
  upstream = await openUpstream()
})
afterEach(() => provider.close())

const options: Options = {
  isLinkingAllowed: true,
  isCreationAllowed: false,
  isAutoCreation: false,
  isAutoUpdate: false,
  autoLinking: "off",
}
const settingsOf = (issuer: string): Settings => ({
  kind: "oidc",
  issuer,
  clientId: "client",
  scopes: [],
  isIdTokenMapping: false,
  usePkce: true,
})

/** A user linked at a provider, and the function that redirects the provider. */
async function addLinkedUser() {
  const wish = { name: "Acme", options, secret: "s3cret" }
  const cx = provider.cx()
  const { id } = await createIdp(cx, undefined, { ...wish, settings: settingsOf(realIssuer) })
  await linkIdp(cx, undefined, id)
  const userId = await linkUser(id)
  const turn = (issuer: string) =>
    updateIdp(provider.cx(), undefined, id, { ...wish, settings: settingsOf(issuer) })
  return { id, userId, turn }
}

async function linkUser(idpId: string): Promise<string> {
  const userId = await provider.addPerson("vera")
  const cx = provider.cx()
  await cx.store.transact(cx, (tx) => addLink(tx, userId, { idpId, externalId, name: "vera" }))
  return userId
}

const isSignedIn = async (browser: ReturnType<typeof newBrowser>): Promise<boolean> =>
  (await browser.go("/ui/login/signedin")).page.includes("vera")

test("redirected until its response arrives", async () => {
  const { turn } = await addLinkedUser()
  await turn(upstreamIssuer)
  const send: Upstream["outside"]["send"] = async (...request) => {
    const answer = await upstream.outside.send(...request)
    if (request[0].url.endsWith("/userinfo")) await turn(realIssuer)
    return answer
  }
  const browser = newBrowser(provider, { ...upstream.outside, send })
  const first = await browser.go(authorizePath(clientId))
  const href = /href="([^"]*externalidp[^"]*)"/.exec(first.page)?.[1] ?? ""
  const there = await browser.go(href.replaceAll("&amp;", "&"))
  const end = await browser.go(upstream.signIn(there.path, { sub: externalId }))
  expect(end.response.status).toBe(400)
  expect(await isSignedIn(browser)).toBe(false)
})

test("redirected until a form's browser continues", async () => {
  const [own, theirs] = [await createKey(), await createKey()]
  const id = await addSaml(provider, idpMetadata([theirs]))
  await linkUser(id)
  const turn = redirectProvider(id)
  await turn(own)
  const browser = newBrowser(provider)
  const asked = await requestAtProvider(browser, clientId)
  const now = provider.clock.now()
  const assertion = createAssertion(asked, now, { nameId: externalId })
  const xml = createResponse(asked, now, signXml(assertion, { by: own }))
  const body = new URLSearchParams({
    SAMLResponse: Buffer.from(xml).toString("base64"),
    RelayState: asked.relayState,
  })
  const { pathname } = new URL(asked.acs)
  const brought = await provider.send(
    pathname,
    { method: "POST", body },
    { outside: unreachableOutside },
  )
  await turn(theirs)
  const end = await browser.go(brought.headers.get("location") ?? "")
  expect(end.response.status).toBe(400)
  expect(await isSignedIn(browser)).toBe(false)
})

/** Replaces the metadata of a provider by that of another key. */
function redirectProvider(id: string) {
  const found = findIdpById(provider.cx(), id)
  if (!found) throw new Error("provider not found")
  const { settings, options } = found.idp
  if (settings.kind !== "saml") throw new Error("it does not speak SAML")
  return async (key: Awaited<ReturnType<typeof createKey>>) => {
    const metadata = idpMetadata([key])
    const anchor = anchorOf(await parseProvider(metadata), "", undefined)
    const changed = { ...settings, anchor }
    await updateIdp(provider.cx(), undefined, id, {
      name: "Acme",
      options,
      settings: changed,
      metadata,
    })
  }
}

test("redirected between the end of an intent and its check by a login page", async () => {
  const { id, turn } = await addLinkedUser()
  await turn(upstreamIssuer)
  const userId = await provider.addPerson("eve")
  const caller = { kind: "user", userId, orgId: "1", clientId: "c" } as const
  const cx = { ...provider.cx(), outside: upstream.outside, caller }
  const found = findIdpById(cx, id)
  if (!found) throw new Error("provider not found")
  const page = "https://login.example.com/"
  const { authUrl } = await startIntent(cx, found, {
    agentId: "",
    requestId: "",
    creatorId: userId,
    successUrl: page,
    failureUrl: page,
  })
  const address = upstream.signIn(authUrl, { sub: externalId })
  const back = await provider.send(address, {}, { outside: upstream.outside })
  const { searchParams } = new URL(back.headers.get("location") ?? "")
  const check = () => checkIntent(cx, searchParams.get("id") ?? "", searchParams.get("token") ?? "")
  await turn(realIssuer)
  expect(check).toThrow(/intent has expired, was already used/)
})

test("redirected between the linking page and its response", async () => {
  const { id, turn } = await addLinkedUser()
  await turn(upstreamIssuer)
  const userId = await provider.addPerson("eve")
  const browser = newBrowser(provider, upstream.outside)
  await browser.signIn(authorizePath(clientId), "eve")
  const { pathname, search } = new URL(startLinking(provider.cx(), userId, id))
  const there = await browser.go(pathname + search)
  const asked = await browser.go(upstream.signIn(there.path, { sub: "not-here-yet" }))
  await turn(realIssuer)
  const end = await browser.post(asked, {})
  expect(end.response.status).toBe(400)
  expect(findLinkedUser(provider.cx(), { idpId: id, externalId: "not-here-yet" })).toBeUndefined()
})

test("the identifying attribute changed to one that users can edit", async () => {
  const key = await createKey()
  const id = await addSaml(provider, idpMetadata([key]))
  await linkUser(id)
  const found = findIdpById(provider.cx(), id)
  if (found?.idp.settings.kind !== "saml") throw new Error("it does not speak SAML")
  const settings: Settings = {
    ...found.idp.settings,
    nameIdFormat: "transient",
    transientAttribute: "nickname",
  }
  const { options } = found.idp
  await updateIdp(provider.cx(), undefined, id, { name: "Acme", options, settings })
  const browser = newBrowser(provider)
  const asked = await requestAtProvider(browser, clientId)
  const now = provider.clock.now()
  const assertion = createAssertion(asked, now, {
    nameId: "_once",
    format: "urn:oasis:names:tc:SAML:2.0:nameid-format:transient",
    attributes: { nickname: externalId },
  })
  await postResponse(provider, browser, {
    xml: createResponse(asked, now, signXml(assertion, { by: key })),
    asked,
  })
  expect(await isSignedIn(browser)).toBe(false)
})
