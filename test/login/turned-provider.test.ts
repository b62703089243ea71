// Whoever may set a provider up has a service of their own answer, and turns the provider back to
// the real one before the answer is used. Nobody who is linked to the real one is theirs by that.
import { afterEach, beforeEach, expect, test } from "vitest"
import { intentChecked } from "../../src/domain/federation/check.ts"
import { startLinking } from "../../src/domain/federation/linking.ts"
import { addIdp, changeIdp, idpById, linkIdp } from "../../src/domain/idp/commands.ts"
import { type Options, startIntent } from "../../src/domain/idp/index.ts"
import type { Settings } from "../../src/domain/idp/model.ts"
import { anchorOf } from "../../src/domain/idp/saml/known.ts"
import { providerOf } from "../../src/domain/idp/saml/provider.ts"
import { addLink, linkedUser } from "../../src/domain/user-link/commands.ts"
import { authorizePath, openProvider, type Provider } from "../oauth/provider.ts"
import { assertionFor, idpMetadata, responseFor, signedXml } from "../saml/identity-provider.ts"
import { createKey } from "../saml/service-provider.ts"
import { addSaml, askedFor, bring, newBrowser } from "../saml/upstream.ts"
import { nowhere } from "../support/outside.ts"
import { openUpstream, type Upstream, upstreamIssuer } from "../support/upstream.ts"

const real = "https://real.example.com"
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

/** A person who is linked at a provider, and what turns that. */
async function linkedThere() {
  const wish = { name: "Acme", options, secret: "s3cret" }
  const cx = provider.cx()
  const { id } = await addIdp(cx, undefined, { ...wish, settings: settingsOf(real) })
  await linkIdp(cx, undefined, id)
  const userId = await linked(id)
  const turn = (issuer: string) =>
    changeIdp(provider.cx(), undefined, id, { ...wish, settings: settingsOf(issuer) })
  return { id, userId, turn }
}

async function linked(idpId: string): Promise<string> {
  const userId = await provider.addPerson("vera")
  const cx = provider.cx()
  await cx.store.transact(cx, (tx) => addLink(tx, userId, { idpId, externalId, name: "vera" }))
  return userId
}

const isSignedIn = async (browser: ReturnType<typeof newBrowser>): Promise<boolean> =>
  (await browser.go("/ui/login/signedin")).page.includes("vera")

test("turned back while its answer is waited for", async () => {
  const { turn } = await linkedThere()
  await turn(upstreamIssuer)
  const send: Upstream["outside"]["send"] = async (...asked) => {
    const answer = await upstream.outside.send(...asked)
    if (asked[0].url.endsWith("/userinfo")) await turn(real)
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

test("turned back between a form that brought it and the browser that takes it up", async () => {
  const [own, theirs] = [await createKey(), await createKey()]
  const id = await addSaml(provider, idpMetadata([theirs]))
  await linked(id)
  const turn = turning(id)
  await turn(own)
  const browser = newBrowser(provider)
  const asked = await askedFor(browser, clientId)
  const now = provider.clock.now()
  const assertion = assertionFor(asked, now, { nameId: externalId })
  const xml = responseFor(asked, now, signedXml(assertion, { by: own }))
  const body = new URLSearchParams({
    SAMLResponse: Buffer.from(xml).toString("base64"),
    RelayState: asked.relayState,
  })
  const { pathname } = new URL(asked.acs)
  const brought = await provider.send(pathname, { method: "POST", body }, { outside: nowhere })
  await turn(theirs)
  const end = await browser.go(brought.headers.get("location") ?? "")
  expect(end.response.status).toBe(400)
  expect(await isSignedIn(browser)).toBe(false)
})

/** Has a provider's metadata be those of another key. */
function turning(id: string) {
  const found = idpById(provider.cx(), id)
  if (!found) throw new Error("there is no such provider")
  const { settings, options } = found.idp
  if (settings.kind !== "saml") throw new Error("it does not speak SAML")
  return async (key: Awaited<ReturnType<typeof createKey>>) => {
    const metadata = idpMetadata([key])
    const anchor = anchorOf(await providerOf(metadata), "", undefined)
    const changed = { ...settings, anchor }
    await changeIdp(provider.cx(), undefined, id, {
      name: "Acme",
      options,
      settings: changed,
      metadata,
    })
  }
}

test("turned back between the end of an intent and its check by a login page", async () => {
  const { id, turn } = await linkedThere()
  await turn(upstreamIssuer)
  const userId = await provider.addPerson("eve")
  const caller = { kind: "user", userId, orgId: "1", clientId: "c" } as const
  const cx = { ...provider.cx(), outside: upstream.outside, caller }
  const found = idpById(cx, id)
  if (!found) throw new Error("there is no such provider")
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
  const check = () =>
    intentChecked(cx, searchParams.get("id") ?? "", searchParams.get("token") ?? "")
  await turn(real)
  expect(check).toThrow(/intent is over/)
})

test("turned back between the linking page and its answer", async () => {
  const { id, turn } = await linkedThere()
  await turn(upstreamIssuer)
  const userId = await provider.addPerson("eve")
  const browser = newBrowser(provider, upstream.outside)
  await browser.signIn(authorizePath(clientId), "eve")
  const { pathname, search } = new URL(startLinking(provider.cx(), userId, id))
  const there = await browser.go(pathname + search)
  const asked = await browser.go(upstream.signIn(there.path, { sub: "not-here-yet" }))
  await turn(real)
  const end = await browser.post(asked, {})
  expect(end.response.status).toBe(400)
  expect(linkedUser(provider.cx(), { idpId: id, externalId: "not-here-yet" })).toBeUndefined()
})

test("the attribute that says who it is, turned to one that people write themselves", async () => {
  const key = await createKey()
  const id = await addSaml(provider, idpMetadata([key]))
  await linked(id)
  const found = idpById(provider.cx(), id)
  if (found?.idp.settings.kind !== "saml") throw new Error("it does not speak SAML")
  const settings: Settings = {
    ...found.idp.settings,
    nameIdFormat: "transient",
    transientAttribute: "nickname",
  }
  const { options } = found.idp
  await changeIdp(provider.cx(), undefined, id, { name: "Acme", options, settings })
  const browser = newBrowser(provider)
  const asked = await askedFor(browser, clientId)
  const now = provider.clock.now()
  const assertion = assertionFor(asked, now, {
    nameId: "_once",
    format: "urn:oasis:names:tc:SAML:2.0:nameid-format:transient",
    attributes: { nickname: externalId },
  })
  await bring(provider, browser, {
    xml: responseFor(asked, now, signedXml(assertion, { by: key })),
    asked,
  })
  expect(await isSignedIn(browser)).toBe(false)
})
