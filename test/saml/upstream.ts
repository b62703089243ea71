// A sign-in with a provider that speaks SAML, as far as tests of it have it in common.
import { addIdp, linkIdp } from "../../src/domain/idp/commands.ts"
import type { Options } from "../../src/domain/idp/index.ts"
import { anchorOf } from "../../src/domain/idp/saml/known.ts"
import { newPairs } from "../../src/domain/idp/saml/pair.ts"
import { providerOf } from "../../src/domain/idp/saml/provider.ts"
import type { Outside } from "../../src/kernel/port/outbound.ts"
import { authorizePath, browserOf, type Provider } from "../oauth/provider.ts"
import { nowhere } from "../support/outside.ts"
import { type Asked, askedBy, idpEntity } from "./identity-provider.ts"

const options: Options = {
  isLinkingAllowed: true,
  isCreationAllowed: true,
  isAutoCreation: true,
  isAutoUpdate: false,
  autoLinking: "email",
}

/** How a provider of the tests is set up otherwise. */
export type Setting = {
  readonly metadataUrl?: string
  readonly binding?: "redirect" | "post"
  readonly withSignedRequest?: boolean
  readonly transientAttribute?: string
  readonly federatedLogout?: boolean
}

/** Sets up a provider that everybody may sign in with; answers its id. */
export async function addSaml(
  provider: Provider,
  metadata: string,
  setting: Setting = {},
  more: Partial<Options> = {},
): Promise<string> {
  const cx = provider.cx()
  const { metadataUrl = "" } = setting
  const { id } = await addIdp(cx, undefined, {
    name: "Acme",
    settings: {
      kind: "saml",
      entityId: idpEntity,
      metadataUrl,
      binding: "redirect",
      withSignedRequest: true,
      hash: "sha256",
      nameIdFormat: "persistent",
      transientAttribute: "",
      federatedLogout: false,
      anchor: anchorOf(await providerOf(metadata), metadataUrl, undefined),
      ...setting,
    },
    options: { ...options, ...more },
    metadata,
    secret: await newPairs(cx),
  })
  await linkIdp(cx, undefined, id)
  return id
}

/** Sets up one beside it that speaks OpenID Connect; answers its id. */
export async function addOidc(provider: Provider, issuer: string): Promise<string> {
  const { id } = await addIdp(provider.cx(), undefined, {
    name: "Acme OpenID",
    settings: {
      kind: "oidc",
      issuer,
      clientId: "client",
      scopes: [],
      isIdTokenMapping: false,
      usePkce: true,
    },
    options,
    secret: "secret",
  })
  await linkIdp(provider.cx(), undefined, id)
  return id
}

export type Browser = ReturnType<typeof browserOf>

export const newBrowser = (provider: Provider, outside: Outside = nowhere): Browser =>
  browserOf({ send: (path, init) => provider.send(path, init, { outside }) })

/** The address that the button on the first page leads to. */
export async function away(browser: Browser, clientId: string): Promise<string> {
  const first = await browser.go(authorizePath(clientId))
  const href = /href="([^"]*externalidp[^"]*)"/.exec(first.page)?.[1] ?? ""
  return (await browser.go(href.replaceAll("&amp;", "&"))).path
}

/** What the provider is asked, when somebody presses the button. */
export const askedFor = async (browser: Browser, clientId: string): Promise<Asked> =>
  askedBy(await away(browser, clientId))

/** Has a browser bring a response, as the provider's page would: without our cookie. */
export async function bring(
  provider: Provider,
  browser: Browser,
  { xml, asked, outside = nowhere }: { xml: string; asked: Asked; outside?: Outside },
) {
  const body = new URLSearchParams({
    SAMLResponse: Buffer.from(xml).toString("base64"),
    RelayState: asked.relayState,
  })
  const { pathname } = new URL(asked.acs)
  const answer = await provider.send(pathname, { method: "POST", body }, { outside })
  const location = answer.headers.get("location")
  if (location === null) return { path: pathname, response: answer, page: await answer.text() }
  return browser.go(location)
}
