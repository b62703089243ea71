/** Texts that are wrong wherever they stand. */
export const texts = [
  ...["", " ", "0", "-1", "1e999", "null", "undefined", "true", "[]", "{}", "NaN"],
  ...["\u0000", "\u0001\u001f\u007f", "\r\nset-cookie: smuggled=1", "\nlocation: //evil.example"],
  ...["%", "%0d%0aset-cookie:smuggled=1", "%00", "%c0%af", "%ff", "%u0041", "+", "&", "=", "#"],
  ...["../../etc/passwd", "%2e%2e%2f", "..\\..\\", "//evil.example", "\\\\evil.example"],
  ...["javascript:alert(1)", "data:text/html,<script>alert(1)</script>", "file:///etc/passwd"],
  ...["' OR '1'='1", '"><script>alert(1)</script>', "{{7*7}}", "\u0024{7*7}", "__proto__"],
  ...["constructor", "toString", "hasOwnProperty", "\ud800", "\udfff\ud800", "\u202e", "\u200b"],
  ...["ⅽode", "оpenid", "ｏpenid", "ſcope", "K", "𝓬𝓸𝓭𝓮", "é", "e\u0301", "İ", "ß", "日本"],
  ...["a".repeat(5000), "a.".repeat(3000), "🦊".repeat(2000), "9".repeat(400), "a b ".repeat(900)],
  ...["core", "1", "9".repeat(30), "a.b.c", "..", ".", "...", "a".repeat(43), "*"],
  ...["openid", "none", "none login", "create", "code", "token", "S256", "plain", "query.jwt"],
  ...["form_post", "fragment", "query", "web_message", "urn:ietf:params:oauth:request_uri:x"],
  '{"userinfo":{"__proto__":{"essential":true}},"id_token":{"sub":{"value":"1"}}}',
  `{"a":${"[".repeat(2000)}${"]".repeat(2000)}}`,
  `{"id_token":{"sub":{"value":${"[".repeat(9000)}${"]".repeat(9000)}}}}`,
]

/** Names of parameters, and what is none. */
export const names = [
  ...["client_id", "client_secret", "redirect_uri", "response_type", "response_mode", "scope"],
  ...["state", "nonce", "prompt", "max_age", "display", "ui_locales", "claims_locales", "claims"],
  ...["id_token_hint", "login_hint", "logout_hint", "acr_values", "request", "request_uri"],
  ...["registration", "resource", "audience", "code_challenge", "code_challenge_method"],
  ...["grant_type", "code", "code_verifier", "refresh_token", "assertion", "client_assertion"],
  ...["client_assertion_type", "device_code", "user_code", "subject_token", "actor_token"],
  ...["requested_token_type", "token", "token_type_hint", "access_token", "dpop_jkt", "csrf"],
  ...["post_logout_redirect_uri", "authRequest", "id", "loginName", "password", "session"],
  ...["__proto__", "constructor", "toString", "a".repeat(3000), "\u0000", "scope[]", "ѕcope"],
]

/** Spellings of an address that a careless comparison takes for the address. */
export const near = (uri: string): readonly string[] => [
  ...[`${uri}/`, `${uri}?`, `${uri}#`, `${uri}#x`, `${uri}?x=1`, `${uri}/../x`, `${uri}%2f..%2fx`],
  ...[` ${uri}`, `${uri} `, `${uri}\u0000`, `${uri}\n`, `${uri}%00`, uri.toUpperCase()],
  ...[uri.replace("https:", "http:"), uri.replace("https://", "https:"), uri.replace("//", "///")],
  ...[uri.replace("://", "://evil@"), uri.replace("://", "://evil.example/"), `//${uri}`],
  ...[uri.replace("://", "://evil.example\\@"), uri.replace("://", "://evil.example#@")],
  ...[uri.replace(".com", ".com.evil.example"), uri.replace(".com", ".com:443")],
  ...[uri.replace(".com", ".com."), uri.replace(".com", ".com%2eevil.example")],
  ...[uri.replace("app", "аpp"), uri.replace("app", "ａpp"), uri.replace(".", "。")],
  ...[uri.replace("example", "evil"), uri.replace("callback", "c%61llback"), uri.slice(0, -1)],
  ...["http://127.0.0.1:99999/cb", "http://127.1/cb", "http://[::1]:1/cb", "http://2130706433/cb"],
  ...["http://localhost.evil.example/cb", "http://127.0.0.1:1@evil.example/cb", "com.example:/x"],
]

/** Bodies that are no form. */
export const garbage = [
  ...["", "{", "null", "a", "&&&&", "=", "=&=", "a=%&b=%ff", "%", "grant_type", "\u0000"],
  ...['{"grant_type":"authorization_code"}', "--x\r\n\r\n--x--", "a=1;b=2", "a[b]=c", "🦊"],
  `grant_type=${"a".repeat(70_000)}`,
  "grant_type=authorization_code&".repeat(2000),
]
