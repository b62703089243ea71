import { isForProxies, proxiedHost, proxySnippets } from "./proxy-snippets.ts"
import type { ClientDescription, Snippet } from "./snippet.ts"

/** What stands for a secret that nobody can be shown any more. */
export const secretPlaceholder = "YOUR_CLIENT_SECRET"

/** Settings to copy, for the software that most people put behind a sign-in. */
export function snippetsOf(from: ClientDescription): readonly Snippet[] {
  if (from.isApi) return [environment(from), introspection(from)]
  if (!from.hasCode) return [environment(from)]
  // No proxy stands in front of what runs in a browser or on a device.
  if (from.appType !== "web") return [environment(from), curl(from)]
  const proxies = proxySnippets(from)
  // A host that a proxy protects needs nothing else.
  if (isForProxies(from.redirectUris)) return proxies
  if (proxiedHost(from.redirectUris)) return [...proxies, environment(from), curl(from)]
  if (!hasSecret(from)) return [environment(from), ...proxies, curl(from)]
  const own = [oauth2Proxy(from), grafana(from), apache(from)]
  return [environment(from), ...own, ...proxies, curl(from)]
}

export const hasSecret = ({ auth }: Pick<ClientDescription, "auth">) =>
  auth === "basic" || auth === "post"

const secretOf = ({ secret = secretPlaceholder }: ClientDescription) => secret

function environment(from: ClientDescription): Snippet {
  const lines = [
    ["OIDC_ISSUER", from.issuer],
    ["OIDC_CLIENT_ID", from.clientId],
    ...(hasSecret(from) ? [["OIDC_CLIENT_SECRET", secretOf(from)] as const] : []),
    ...(from.isApi
      ? [["OIDC_INTROSPECTION_ENDPOINT", from.at("introspection_endpoint")] as const]
      : [
          ...(from.hasCode ? [["OIDC_REDIRECT_URI", back(from)] as const] : []),
          ["OIDC_SCOPE", from.scope] as const,
        ]),
  ] as const
  const text = lines.map(([name, value]) => `${name}=${shell(value)}`).join("\n")
  return { name: ".env", text }
}

function oauth2Proxy(from: ClientDescription): Snippet {
  const { issuer, clientId, passphrase } = from
  const { uri, ...wants } = backTo(from, "/oauth2/callback")
  const settings = [
    ["provider", "oidc"],
    ["oidc_issuer_url", issuer],
    ["client_id", clientId],
    ["client_secret", secretOf(from)],
    ["redirect_url", uri],
    ["scope", from.scope],
    ["code_challenge_method", "S256"],
    ["cookie_secret", passphrase],
  ] as const
  // Where people may be sent from /oauth2/sign_out.
  const returns = [...new Set([uri, issuer].map((each) => new URL(each).host))]
  const text = `# oauth2-proxy.cfg
${settings.map(([name, value]) => `${name} = ${quoted(value)}`).join("\n")}
cookie_secure = ${uri.startsWith("https:")}
email_domains = [ "*" ]
# /oauth2/sign_out ends the session at Latchkey, too, if the application's setting
# "Accept sign-out from its back end" is on.
backend_logout_url = ${quoted(`${from.at("end_session_endpoint")}?id_token_hint={id_token}`)}
whitelist_domains = [ ${returns.map(quoted).join(", ")} ]
http_address = "0.0.0.0:4180"
upstreams = [ "http://127.0.0.1:8000/" ]`
  return { name: "oauth2-proxy", text, ...wants }
}

function grafana(from: ClientDescription): Snippet {
  const { clientId, at } = from
  const path = "/login/generic_oauth"
  const { uri, ...wants } = backTo(from, path)
  const text = `; grafana.ini
[server]
root_url = ${uri.slice(0, -path.length)}/

[auth.generic_oauth]
enabled = true
name = Latchkey
client_id = ${clientId}
client_secret = ${secretOf(from)}
scopes = ${from.scope}
auth_url = ${at("authorization_endpoint")}
token_url = ${at("token_endpoint")}
api_url = ${at("userinfo_endpoint")}
signout_redirect_url = ${at("end_session_endpoint")}
login_attribute_path = preferred_username
name_attribute_path = name
use_pkce = true`
  return { name: "Grafana", text, ...wants }
}

function apache(from: ClientDescription): Snippet {
  const { clientId, passphrase } = from
  const uri = back(from)
  const settings = [
    ["OIDCProviderMetadataURL", `${from.issuer}/.well-known/openid-configuration`],
    ["OIDCClientID", clientId],
    ["OIDCClientSecret", secretOf(from)],
    // An application may insist on the place of its secret.
    ["OIDCProviderTokenEndpointAuth", `client_secret_${from.auth}`],
    ["OIDCRedirectURI", uri],
    ["OIDCCryptoPassphrase", passphrase],
    ["OIDCScope", from.scope],
    ["OIDCPKCEMethod", "S256"],
    ["OIDCRemoteUserClaim", "preferred_username"],
  ] as const
  const text = `# Apache with mod_auth_openidc; the redirect URI lies within what is protected.
${settings.map(([name, value]) => `${name} ${quoted(value)}`).join("\n")}

<Location ${quoted(folderOf(uri))}>
  AuthType openid-connect
  Require valid-user
</Location>`
  return { name: "Apache", text }
}

/** RFC 7636 by hand: open the address, sign in, and redeem the code that comes back. */
function curl(from: ClientDescription): Snippet {
  const { clientId, at } = from
  const query = new URLSearchParams({
    response_type: "code",
    client_id: clientId,
    redirect_uri: back(from),
    scope: from.scope,
  })
  const text = `VERIFIER=$(openssl rand -hex 32)
CHALLENGE=$(printf %s "$VERIFIER" | openssl dgst -sha256 -binary | openssl base64 \\
  | tr '+/' '-_' | tr -d =)
ASK=${shell(`${at("authorization_endpoint")}?${query}`)}
echo "Open $ASK&code_challenge_method=S256&code_challenge=$CHALLENGE"
printf 'The code in the address that you come back to: '
read -r CODE
curl ${shell(at("token_endpoint"))} \\
${proofLines(from)}
  -d grant_type=authorization_code \\
  --data-urlencode redirect_uri=${shell(back(from))} \\
  -d code="$CODE" -d code_verifier="$VERIFIER"`
  return { name: "curl", text }
}

function introspection(from: ClientDescription): Snippet {
  const text = `curl ${shell(from.at("introspection_endpoint"))} \\
${proofLines(from)}
  -d token="$TOKEN"`
  return { name: "curl", text }
}

/** How a client proves who it is, in lines of curl. */
function proofLines(from: ClientDescription): string {
  const id = `  -d client_id=${shell(from.clientId)}`
  switch (from.auth) {
    case "basic":
      return `  -u ${shell(`${from.clientId}:${secretOf(from)}`)} \\`
    case "post":
      return `${id} -d client_secret=${shell(secretOf(from))} \\`
    case "private_key_jwt":
      // RFC 7523 §2.2.
      return `  -d client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer \\
  -d client_assertion="$ASSERTION" \\`
    case "none":
      return `${id} \\`
  }
}

/** A registered redirect URI; a pattern is none. */
const back = ({ redirectUris }: ClientDescription) =>
  redirectUris.find((uri) => !uri.includes("*")) ?? "https://app.example.org/callback"

/** The registered redirect URI that software with a fixed path needs, or what it would be. */
function backTo(
  from: ClientDescription,
  path: string,
): { readonly uri: string; readonly wants?: string } {
  const fitting = from.redirectUris.find((uri) => uri.endsWith(path) && !uri.includes("*"))
  if (fitting !== undefined) return { uri: fitting }
  const known = back(from)
  const { origin } = new URL(known)
  const uri = (origin === "null" ? "https://app.example.org" : origin) + path
  return { uri, wants: uri }
}

/** The path above the last segment. */
const folderOf = (uri: string) => new URL(uri).pathname.replace(/\/[^/]*$/, "") || "/"

/** As a word of a shell, and of files that are read like one. */
const shell = (text: string) =>
  /^[\w.:/@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

/** In double quotes, as TOML and Apache read them. */
const quoted = (text: string) => `"${text.replace(/["\\]/g, (sign) => `\\${sign}`)}"`
