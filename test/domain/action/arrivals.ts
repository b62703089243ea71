// Sign-ins through an identity provider whose users scripts can change.
import { createIdp, linkIdp } from "../../../src/domain/idp/commands.ts"
import type { Options } from "../../../src/domain/idp/index.ts"
import { listMetadata } from "../../../src/domain/user/index.ts"
import { findLinkedUser } from "../../../src/domain/user-link/commands.ts"
import { authorizePath, browserOf, openProvider, type VisitedPage } from "../../oauth/provider.ts"
import { openUpstream, upstreamIssuer } from "../../support/upstream.ts"

export const ada = {
  sub: "ada-1",
  preferred_username: "ada",
  given_name: "Ada",
  family_name: "Lovelace",
  email: "ada@example.com",
  email_verified: true,
}

const allOptions: Options = {
  isLinkingAllowed: true,
  isCreationAllowed: true,
  isAutoCreation: true,
  isAutoUpdate: true,
  autoLinking: "email",
  isTrustedForAddresses: true,
}

export type Browser = ReturnType<typeof browserOf>
export type ExternalSignIns = Awaited<ReturnType<typeof openExternalSignIns>>

/** An instance with an identity provider, and the requests of a sign-in through it. */
export async function openExternalSignIns(options: Partial<Options> = {}) {
  const provider = await openProvider()
  const client = await provider.addClient()
  const upstream = await openUpstream()
  const { id: idpId } = await createIdp(provider.cx(), undefined, {
    name: "Acme",
    secret: "s3cret",
    settings: {
      kind: "oidc",
      issuer: upstreamIssuer,
      clientId: "client",
      scopes: [],
      isIdTokenMapping: false,
      usePkce: true,
    },
    options: { ...allOptions, ...options },
  })
  await linkIdp(provider.cx(), undefined, idpId)

  /** A browser whose requests can reach the provider. */
  const newBrowser = (): Browser =>
    browserOf({
      send: (path, init) => provider.send(path, init, { outside: upstream.outside }),
    })
  /** Where an application's sign-in begins, for the people of an organization if one is named. */
  const begin = (orgId?: string): string =>
    authorizePath(client.id, orgId ? { scope: `openid urn:core:iam:org:id:${orgId}` } : {})
  const signIn = async (
    claims: object = ada,
    { browser = newBrowser(), orgId }: { browser?: Browser; orgId?: string | undefined } = {},
  ): Promise<VisitedPage> => {
    const first = await browser.go(begin(orgId))
    const href = /href="([^"]*externalidp[^"]*)"/.exec(first.page)?.[1]?.replaceAll("&amp;", "&")
    const there = await browser.go(href ?? "/none")
    return browser.go(upstream.signIn(there.path, { ...claims }))
  }
  const here = (externalId = ada.sub) => findLinkedUser(provider.cx(), { idpId, externalId }) ?? ""
  const noted = (key: string) => {
    const value = listMetadata(provider.cx(), here()).get(key)
    return value && JSON.parse(Buffer.from(value).toString())
  }
  return { provider, client, upstream, idpId, newBrowser, begin, signIn, here, noted }
}
