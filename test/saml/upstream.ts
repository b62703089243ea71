// Helpers for sign-ins with a SAML identity provider.
import { createIdp, linkIdp } from "../../src/domain/idp/commands.ts"
import type { Options } from "../../src/domain/idp/index.ts"
import { createKeyPairs } from "../../src/domain/idp/saml/key-pair.ts"
import { parseProvider } from "../../src/domain/idp/saml/provider.ts"
import { anchorOf } from "../../src/domain/idp/saml/refresh.ts"
import type { Outside } from "../../src/kernel/port/outbound.ts"
import { authorizePath, browserOf, type Provider } from "../oauth/provider.ts"
import { unreachableOutside } from "../support/outside.ts"
import { idpEntity, parseRedirect, type SamlRequest } from "./identity-provider.ts"

const options: Options = {
  isLinkingAllowed: true,
  isCreationAllowed: true,
  isAutoCreation: true,
  isAutoUpdate: false,
  autoLinking: "email",
}

/** The differences between the tests' providers. */
export type SamlProviderOptions = {
  readonly metadataUrl?: string
  readonly binding?: "redirect" | "post"
  readonly withSignedRequest?: boolean
  readonly transientAttribute?: string
  readonly federatedLogout?: boolean
}

/** Adds a provider that all users can sign in with; returns its ID. */
export async function addSaml(
  provider: Provider,
  metadata: string,
  setting: SamlProviderOptions = {},
  more: Partial<Options> = {},
): Promise<string> {
  const cx = provider.cx()
  const { metadataUrl = "" } = setting
  const { id } = await createIdp(cx, undefined, {
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
      anchor: anchorOf(await parseProvider(metadata), metadataUrl, undefined),
      ...setting,
    },
    options: { ...options, ...more },
    metadata,
    secret: await createKeyPairs(cx),
  })
  await linkIdp(cx, undefined, id)
  return id
}

/** Adds an OpenID Connect provider; returns its ID. */
export async function addOidc(provider: Provider, issuer: string): Promise<string> {
  const { id } = await createIdp(provider.cx(), undefined, {
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

export const newBrowser = (provider: Provider, outside: Outside = unreachableOutside): Browser =>
  browserOf({ send: (path, init) => provider.send(path, init, { outside }) })

/** The URL of the button on the first page. */
export async function chooseProvider(browser: Browser, clientId: string): Promise<string> {
  const first = await browser.go(authorizePath(clientId))
  const href = /href="([^"]*externalidp[^"]*)"/.exec(first.page)?.[1] ?? ""
  return (await browser.go(href.replaceAll("&amp;", "&"))).path
}

/** The request to the provider after pressing the button. */
export const requestAtProvider = async (browser: Browser, clientId: string): Promise<SamlRequest> =>
  parseRedirect(await chooseProvider(browser, clientId))

/** Posts a response as the provider's page does: without our cookie. */
export async function postResponse(
  provider: Provider,
  browser: Browser,
  {
    xml,
    asked,
    outside = unreachableOutside,
  }: { xml: string; asked: SamlRequest; outside?: Outside },
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
