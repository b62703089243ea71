import { findProxiedHost, isForProxies, proxySnippets } from "./proxy-snippets.ts"
import type { ClientDescription, Snippet } from "./snippet.ts"

/** Placeholder for a secret that can't be shown any more. */
export const secretPlaceholder = "YOUR_CLIENT_SECRET"

/** Configuration snippets for common software. */
export function createSnippets(from: ClientDescription): readonly Snippet[] {
  if (from.isApi) return [environmentSnippet(from), introspectionSnippet(from)]
  if (!from.hasCode) return [environmentSnippet(from)]
  // Browser and native applications have no proxy in front.
  if (from.appType !== "web") return [environmentSnippet(from), curlSnippet(from)]
  const proxies = proxySnippets(from)
  // A host behind a proxy needs no other configuration.
  if (isForProxies(from.redirectUris)) return proxies
  if (findProxiedHost(from.redirectUris))
    return [...proxies, environmentSnippet(from), curlSnippet(from)]
  if (!hasSecret(from)) return [environmentSnippet(from), ...proxies, curlSnippet(from)]
  const own = [oauth2ProxySnippet(from), grafanaSnippet(from), apacheSnippet(from)]
  return [environmentSnippet(from), ...own, ...proxies, curlSnippet(from)]
}

export const hasSecret = ({ auth }: Pick<ClientDescription, "auth">) =>
  auth === "basic" || auth === "post"

const secretOrPlaceholder = ({ secret = secretPlaceholder }: ClientDescription) => secret

function environmentSnippet(from: ClientDescription): Snippet {
  const lines = [
    ["OIDC_ISSUER", from.issuer],
    ["OIDC_CLIENT_ID", from.clientId],
    ...(hasSecret(from) ? [["OIDC_CLIENT_SECRET", secretOrPlaceholder(from)] as const] : []),
    ...(from.isApi
      ? [["OIDC_INTROSPECTION_ENDPOINT", from.endpoint("introspection_endpoint")] as const]
      : [
          ...(from.hasCode ? [["OIDC_REDIRECT_URI", findRedirectUri(from)] as const] : []),
          ["OIDC_SCOPE", from.scope] as const,
        ]),
  ] as const
  const text = lines.map(([name, value]) => `${name}=${shellQuote(value)}`).join("\n")
  return { name: ".env", text }
}

function oauth2ProxySnippet(from: ClientDescription): Snippet {
  const { issuer, clientId, passphrase } = from
  const { uri, ...required } = redirectUriFor(from, "/oauth2/callback")
  const settings = [
    ["provider", "oidc"],
    ["oidc_issuer_url", issuer],
    ["client_id", clientId],
    ["client_secret", secretOrPlaceholder(from)],
    ["redirect_url", uri],
    ["scope", from.scope],
    ["code_challenge_method", "S256"],
    ["cookie_secret", passphrase],
  ] as const
  // Hosts that /oauth2/sign_out can redirect to.
  const returns = [...new Set([uri, issuer].map((each) => new URL(each).host))]
  const logoutUrl = `${from.endpoint("end_session_endpoint")}?id_token_hint={id_token}`
  const text = `# oauth2-proxy.cfg
${settings.map(([name, value]) => `${name} = ${doubleQuote(value)}`).join("\n")}
cookie_secure = ${uri.startsWith("https:")}
email_domains = [ "*" ]
# /oauth2/sign_out ends the session at Latchkey, too, if the application's setting
# "Accept sign-out from its back end" is on.
backend_logout_url = ${doubleQuote(logoutUrl)}
whitelist_domains = [ ${returns.map(doubleQuote).join(", ")} ]
http_address = "0.0.0.0:4180"
upstreams = [ "http://127.0.0.1:8000/" ]`
  return { name: "oauth2-proxy", text, ...required }
}

function grafanaSnippet(from: ClientDescription): Snippet {
  const { clientId, endpoint: at } = from
  const path = "/login/generic_oauth"
  const { uri, ...required } = redirectUriFor(from, path)
  const text = `; grafana.ini
[server]
root_url = ${uri.slice(0, -path.length)}/

[auth.generic_oauth]
enabled = true
name = Latchkey
client_id = ${clientId}
client_secret = ${secretOrPlaceholder(from)}
scopes = ${from.scope}
auth_url = ${at("authorization_endpoint")}
token_url = ${at("token_endpoint")}
api_url = ${at("userinfo_endpoint")}
signout_redirect_url = ${at("end_session_endpoint")}
login_attribute_path = preferred_username
name_attribute_path = name
use_pkce = true`
  return { name: "Grafana", text, ...required }
}

function apacheSnippet(from: ClientDescription): Snippet {
  const { clientId, passphrase } = from
  const uri = findRedirectUri(from)
  const settings = [
    ["OIDCProviderMetadataURL", `${from.issuer}/.well-known/openid-configuration`],
    ["OIDCClientID", clientId],
    ["OIDCClientSecret", secretOrPlaceholder(from)],
    // Explicit, because the application may require this method.
    ["OIDCProviderTokenEndpointAuth", `client_secret_${from.auth}`],
    ["OIDCRedirectURI", uri],
    ["OIDCCryptoPassphrase", passphrase],
    ["OIDCScope", from.scope],
    ["OIDCPKCEMethod", "S256"],
    ["OIDCRemoteUserClaim", "preferred_username"],
  ] as const
  const text = `# Apache with mod_auth_openidc; the redirect URI lies within what is protected.
${settings.map(([name, value]) => `${name} ${doubleQuote(value)}`).join("\n")}

<Location ${doubleQuote(parentPath(uri))}>
  AuthType openid-connect
  Require valid-user
</Location>`
  return { name: "Apache", text }
}

/**
 * An authorization code request with PKCE (RFC 7636) by hand: open the URL, sign in, and redeem the
 * code.
 */
function curlSnippet(from: ClientDescription): Snippet {
  const { clientId, endpoint: at } = from
  const query = new URLSearchParams({
    response_type: "code",
    client_id: clientId,
    redirect_uri: findRedirectUri(from),
    scope: from.scope,
  })
  const text = `VERIFIER=$(openssl rand -hex 32)
CHALLENGE=$(printf %s "$VERIFIER" | openssl dgst -sha256 -binary | openssl base64 \\
  | tr '+/' '-_' | tr -d =)
ASK=${shellQuote(`${at("authorization_endpoint")}?${query}`)}
echo "Open $ASK&code_challenge_method=S256&code_challenge=$CHALLENGE"
printf 'The code in the address that you come back to: '
read -r CODE
curl ${shellQuote(at("token_endpoint"))} \\
${clientAuthLines(from)}
  -d grant_type=authorization_code \\
  --data-urlencode redirect_uri=${shellQuote(findRedirectUri(from))} \\
  -d code="$CODE" -d code_verifier="$VERIFIER"`
  return { name: "curl", text }
}

function introspectionSnippet(from: ClientDescription): Snippet {
  const text = `curl ${shellQuote(from.endpoint("introspection_endpoint"))} \\
${clientAuthLines(from)}
  -d token="$TOKEN"`
  return { name: "curl", text }
}

/** Client authentication as curl options. */
function clientAuthLines(from: ClientDescription): string {
  const id = `  -d client_id=${shellQuote(from.clientId)}`
  switch (from.auth) {
    case "basic":
      return `  -u ${shellQuote(`${from.clientId}:${secretOrPlaceholder(from)}`)} \\`
    case "post":
      return `${id} -d client_secret=${shellQuote(secretOrPlaceholder(from))} \\`
    case "private_key_jwt":
      // RFC 7523 §2.2.
      return `  -d client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer \\
  -d client_assertion="$ASSERTION" \\`
    case "none":
      return `${id} \\`
  }
}

/** A registered redirect URI without a pattern. */
const findRedirectUri = ({ redirectUris }: ClientDescription) =>
  redirectUris.find((uri) => !uri.includes("*")) ?? "https://app.example.org/callback"

/** The registered redirect URI for software with a fixed callback path, or the one to register. */
function redirectUriFor(
  from: ClientDescription,
  path: string,
): { readonly uri: string; readonly requiredRedirectUri?: string } {
  const fitting = from.redirectUris.find((uri) => uri.endsWith(path) && !uri.includes("*"))
  if (fitting !== undefined) return { uri: fitting }
  const registered = findRedirectUri(from)
  const { origin } = new URL(registered)
  const uri = (origin === "null" ? "https://app.example.org" : origin) + path
  return { uri, requiredRedirectUri: uri }
}

/** The path without its last segment. */
const parentPath = (uri: string) => new URL(uri).pathname.replace(/\/[^/]*$/, "") || "/"

/** Quotes a word for a shell and for shell-like files. */
const shellQuote = (text: string) =>
  /^[\w.:/@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

/** Quotes a text for TOML and Apache. */
const doubleQuote = (text: string) => `"${text.replace(/["\\]/g, (sign) => `\\${sign}`)}"`
