import {
  findClient,
  type OidcApp,
  proxiedCallback,
  proxiedOrigins,
} from "../../domain/app/index.ts"
import { plainHost } from "../../kernel/net/host.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { identityHeaders } from "./identity.ts"

/** A request that stands at a proxy, which asks whether to let it through. */
export type Proxied = {
  readonly clientId: string
  readonly appId: string
  readonly state: OidcApp
  /** Of the host that the proxy protects, as it is registered. */
  readonly origin: string
  /** Path and query, as the browser sent them. */
  readonly target: string
}

/**
 * What a proxy asks about. Its own configuration names the client, and what is protected is what is
 * registered for that: a host that somebody makes up leads nowhere. Refuses in words that say what
 * to change, as it is an administrator who reads them.
 */
export function proxiedBy(cx: Cx, headers: Headers, clientId: string): Proxied {
  const { appId, state } = findClient(cx, clientId) ?? {}
  if (appId === undefined || state?.kind !== "oidc") {
    throw proxyError("the path must end in the client id of an application that people sign in to")
  }
  const host = headers.get("x-forwarded-host") ?? undefined
  if (host === undefined) throw proxyError("the proxy must say the host in X-Forwarded-Host")
  const registered = proxiedOrigins(state.oidc).filter(
    ({ host: own, protocol }) => plainHost(host, protocol) === own,
  )
  const [url] = registered.toSorted((a, b) => b.protocol.length - a.protocol.length)
  if (!url) {
    const wanted = `a redirect URI of the application must be that host's ${proxiedCallback}`
    throw proxyError(`X-Forwarded-Host names a host that is not protected here: ${wanted}`)
  }
  const target = headers.get("x-forwarded-uri")
  if (!target?.startsWith("/")) {
    throw proxyError("the proxy must say path and query in X-Forwarded-Uri")
  }
  const alias = [...headers.keys()].find(isReadAsIdentity)
  if (alias !== undefined) {
    throw proxyError(
      `many programs can't tell the header ${alias} from one of ours: have the proxy remove it`,
    )
  }
  return { clientId, appId, state, origin: url.origin, target }
}

/**
 * Whether CGI and its like (WSGI, Rack, PHP) read a header as one that names the user: to them
 * `remote_user` and `remote.user` are `remote-user`. A proxy copies our headers by their exact
 * names, so it would pass these on beside them.
 */
function isReadAsIdentity(name: string): boolean {
  const read = name.replace(/[^a-z0-9]/g, "-")
  return read !== name && identityHeaders.includes(read)
}

/** 403, which every proxy takes for a refusal. */
const proxyError = (description: string) =>
  new OAuthError("invalid_request", description, { status: 403 })
