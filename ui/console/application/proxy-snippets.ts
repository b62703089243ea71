import type { ClientDescription, Snippet } from "./snippet.ts"

/** The callback path on hosts behind a proxy that checks each request with this server. */
export const proxyCallbackPath = "/.latchkey/callback"

/** The registered redirect URI of a host behind a proxy. */
export const findProxiedHost = (redirectUris: readonly string[]): URL | undefined =>
  redirectUris
    .map((uri) => URL.parse(uri))
    .find((url) => url?.pathname === proxyCallbackPath && /^https?:$/.test(url.protocol)) ??
  undefined

/** Whether an application only signs in for proxies; such requests come from the server itself. */
export const isForProxies = (redirectUris: readonly string[]): boolean =>
  redirectUris.length > 0 && redirectUris.every((uri) => findProxiedHost([uri]) !== undefined)

/**
 * Headers with the user's data for the protected application; the proxy prevents clients from
 * setting them.
 */
const userHeaders = [
  "Remote-User",
  "Remote-User-Id",
  "Remote-Email",
  "Remote-Name",
  "Remote-Groups",
] as const

type ProxySettings = {
  /** The protected host, as browsers address it. */
  readonly host: string
  /** Where the proxy reaches Latchkey, and the path to request. */
  readonly upstream: Upstream
  readonly path: string
  readonly requiredRedirectUri?: string
}

/** A local socket or an origin; with TLS it must be the host name of the certificate. */
type Upstream = {
  readonly socket?: string
  readonly origin: string
  readonly isTls: boolean
}

function parseUpstream({ upstream, issuer }: ClientDescription): Upstream {
  const socket = /^unix:(.*)$/.exec(upstream)?.[1]
  if (socket !== undefined) return { socket, origin: "", isTls: false }
  const { protocol, port } = new URL(upstream)
  if (protocol !== "https:") return { origin: upstream, isTls: false }
  const name = new URL(issuer).hostname
  return { origin: port === "" ? `https://${name}` : `https://${name}:${port}`, isTls: true }
}

/** Configuration for proxies that check each request with Latchkey before they forward it. */
export function proxySnippets(from: ClientDescription): readonly Snippet[] {
  const registered = findProxiedHost(from.redirectUris)
  const host = registered?.host ?? "app.example.org"
  const upstream = parseUpstream(from)
  const at: ProxySettings = {
    host,
    upstream,
    path: `/forward-auth/${new URL(from.issuer).host}/${from.clientId}/authorization`,
    ...(!registered && { requiredRedirectUri: `https://${host}${proxyCallbackPath}` }),
  }
  // Traefik doesn't support sockets.
  return [nginx(at), caddy(at), ...(upstream.socket === undefined ? [traefik(at)] : [])]
}

const snippet = (
  name: string,
  { requiredRedirectUri: wants }: ProxySettings,
  text: string,
): Snippet => ({
  name,
  text,
  ...(wants !== undefined && { requiredRedirectUri: wants }),
})

function nginx(at: ProxySettings): Snippet {
  const { host, upstream, path } = at
  const variable = (name: string) => `$upstream_http_${name.toLowerCase().replaceAll("-", "_")}`
  const own = (name: string) => name.toLowerCase().replaceAll("-", "_")
  // nginx checks the body size even if it doesn't forward the body.
  const proxySettings = `  client_max_body_size 0;
  proxy_pass_request_body off;
  proxy_set_header Content-Length "";
  proxy_set_header X-Forwarded-For $remote_addr;
  proxy_set_header X-Forwarded-Host ${host};
  proxy_set_header X-Forwarded-Uri $request_uri;`
  const { socket, origin, isTls } = upstream
  const asks = socket === undefined ? origin : `http://unix:${socket}:`
  // Sends the host name (SNI), which selects the certificate.
  const named = isTls ? "\n  proxy_ssl_server_name on;" : ""
  const text = `# In the server block of ${host}; Latchkey listens at ${socket ?? origin}.
location / {
  auth_request /.latchkey/check;
  error_page 401 403 = /.latchkey/ask;
  auth_request_set $latchkey_method $request_method;
${userHeaders
  .map((name) => `  auth_request_set $latchkey_${own(name)} ` + `${variable(name)};`)
  .join("\n")}
${userHeaders.map((name) => `  proxy_set_header ${name} $latchkey_${own(name)};`).join("\n")}
  # Many programs can't distinguish these from the headers above, so clients must not send them.
${userHeaders
  .flatMap(otherSpellings)
  .map((name) => `  proxy_set_header ${name} "";`)
  .join("\n")}
  # Latchkey returns the program's own Authorization header, and no access token that it accepted.
  auth_request_set $latchkey_authorization $upstream_http_authorization;
  proxy_set_header Authorization $latchkey_authorization;
  proxy_set_header Host $http_host;
  proxy_pass http://127.0.0.1:8000;
}
location = /.latchkey/check {
  internal;
${proxySettings}
  # For a long Authorization header in the response.
  proxy_buffer_size 16k;
  proxy_buffers 8 16k;
  proxy_set_header X-Forwarded-Method $request_method;
  proxy_pass ${asks}${path}/check;${named}
}
location /.latchkey/ {
${proxySettings}
  # error_page turns every request into a GET.
  proxy_set_header X-Forwarded-Method $latchkey_method;
  proxy_pass ${asks}${path}/;${named}
}`
  return snippet("nginx", at, text)
}

/**
 * Header names that CGI, WSGI and Rack can't tell apart from the user headers, because they replace
 * each hyphen with an underscore. nginx forwards them if `underscores_in_headers` is on.
 */
function otherSpellings(name: string): readonly string[] {
  const [first = "", ...others] = name.split("-")
  return others
    .reduce(
      (starts, word) => starts.flatMap((start) => [`${start}-${word}`, `${start}_${word}`]),
      [first],
    )
    .filter((spelling) => spelling !== name)
}

/**
 * Some applications treat `Remote_User` as `Remote-User`, so all such headers are removed. If a
 * header is missing in the response, some versions of Caddy copy the placeholder text.
 */
function caddy(at: ProxySettings): Snippet {
  const { host, upstream, path } = at
  const { socket, origin } = upstream
  const text = `${host} {
  route {
    request_header -Remote*
    forward_auth ${socket === undefined ? origin : `unix/${socket}`} {
      uri ${path}
      copy_headers ${userHeaders.join(" ")} Authorization>Remote-Authorization
    }
    # Latchkey returns the program's own Authorization header, and no access token that it accepted.
    request_header -Authorization
    @returned header_regexp Remote-Authorization ^[^{]
    request_header @returned Authorization {header.Remote-Authorization}
    request_header -Remote-Authorization
    reverse_proxy 127.0.0.1:8000
  }
}`
  return snippet("Caddy", at, text)
}

function traefik(at: ProxySettings): Snippet {
  const { host, upstream, path } = at
  const text = `http:
  middlewares:
    latchkey:
      forwardAuth:
        address: "${upstream.origin}${path}"
        authResponseHeaders:
${userHeaders.map((name) => `          - ${name}`).join("\n")}
          # The program's own; Traefik removes it where Latchkey accepted an access token in it.
          - Authorization
        # Removes what clients send in other spellings, such as Remote_User.
        authResponseHeadersRegex: "(?i)^Remote"
  routers:
    app:
      rule: "Host(\`${host}\`)"
      middlewares: [latchkey]
      service: app
  services:
    app:
      loadBalancer:
        servers:
          - url: "http://127.0.0.1:8000"`
  return snippet("Traefik", at, text)
}
