import { loginPaths } from "../../login/index.ts"
import { oauthPaths } from "../../oauth/index.ts"

/** The endpoints of the protocol, each by itself, under the names of discovery. */
const endpoints: ReadonlyMap<string, string> = new Map(
  Object.entries(oauthPaths).map(([name, path]) => [path, name]),
)

/** What begins like this is a group, the longest first. */
const prefixes: readonly (readonly [prefix: string, group: string])[] = [
  ["/ui/assets/", "asset"],
  [loginPaths.entry, "login"],
  ["/ui/", "console"],
  ["/assets/", "asset"],
  ["/saml/", "saml"],
  [oauthPaths.forwardAuth, "forwardAuth"],
  ["/idps/", "login"],
  ["/debug/", "health"],
  ["/healthz", "health"],
  ["/openapi", "openapi"],
  ["/management/v1/", "rest"],
  ["/admin/v1/", "rest"],
  ["/auth/v1/", "rest"],
  ["/system/v1/", "rest"],
  ["/core.", "connect"],
]

/** All that a request can be counted as, so that strangers can't make up more. */
export const routeGroups: readonly string[] = [
  ...new Set([...endpoints.values(), ...prefixes.map(([, group]) => group), "other"]),
]

/** What a path is counted as. */
export const routeGroup = (pathname: string): string =>
  endpoints.get(pathname) ??
  prefixes.find(([prefix]) => pathname.startsWith(prefix))?.[1] ??
  "other"
