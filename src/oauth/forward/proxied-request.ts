import {
  findClient,
  type OidcApp,
  proxiedCallback,
  proxiedOrigins,
} from "../../domain/app/index.ts"
import { normalizeHost } from "../../kernel/net/host.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { identityHeaders } from "./identity.ts"

/** A request at a proxy, which asks whether to forward it. */
export type ProxiedRequest = {
  readonly clientId: string
  readonly appId: string
  readonly state: OidcApp
  /** The registered origin of the protected host. */
  readonly origin: string
  /** Path and query, as the browser sent them. */
  readonly target: string
}

/**
 * Parses the request of a proxy. The client is in the proxy's configuration, and its registered
 * redirect URIs determine the protected hosts, so an arbitrary host is rejected. The messages say
 * what to change, because administrators read them.
 */
export function parseProxiedRequest(cx: Cx, headers: Headers, clientId: string): ProxiedRequest {
  const { appId, state } = findClient(cx, clientId) ?? {}
  if (appId === undefined || state?.kind !== "oidc") {
    throw proxyError("the path must end with the client ID of an application that users sign in to")
  }
  const host = headers.get("x-forwarded-host") ?? undefined
  if (host === undefined) throw proxyError("X-Forwarded-Host is required: the host of the request")
  const registered = proxiedOrigins(state.oidc).filter(
    ({ host: own, protocol }) => normalizeHost(host, protocol) === own,
  )
  const [url] = registered.toSorted((a, b) => b.protocol.length - a.protocol.length)
  if (!url) {
    const requirement = `${proxiedCallback} of that host must be a redirect URI of the application`
    throw proxyError(`X-Forwarded-Host is not a protected host: ${requirement}`)
  }
  const target = headers.get("x-forwarded-uri")
  if (!target?.startsWith("/")) {
    throw proxyError("X-Forwarded-Uri is required: path and query of the request")
  }
  const alias = [...headers.keys()].find(isReadAsIdentity)
  if (alias !== undefined) {
    throw proxyError(
      `applications may read the header ${alias} as an identity header; configure the ` +
        "proxy to remove it",
    )
  }
  return { clientId, appId, state, origin: url.origin, target }
}

/**
 * Whether CGI and similar interfaces (WSGI, Rack, PHP) read a header as an identity header: to them
 * `remote_user` and `remote.user` are `remote-user`. A proxy copies our headers by their exact
 * names, so it would forward these as well.
 */
function isReadAsIdentity(name: string): boolean {
  const read = name.replace(/[^a-z0-9]/g, "-")
  return read !== name && identityHeaders.includes(read)
}

/** 403, which every proxy treats as denied. */
const proxyError = (description: string) =>
  new OAuthError("invalid_request", description, { status: 403 })
