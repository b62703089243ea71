import { standardScopes } from "../../../domain/app/index.ts"
import { type Cx, cacheQuery } from "../../../store/index.ts"
import { proofAlgorithms } from "../../client/proof.ts"
import { issuerOf, paths } from "../../issuer.ts"
import { publicDocument } from "../../response.ts"
import type { Endpoint } from "../endpoint.ts"

/** RFC 9728 §3: metadata of the management API, whose tokens are issued here. */
export const protectedResource: Endpoint = {
  methods: ["GET"],
  anyOrigin: true,
  handle: ({ cx }) => publicDocument(document(cx)),
}

const document = cacheQuery(
  (cx) => {
    const { issuer } = issuerOf(cx)
    return JSON.stringify({
      resource: issuer,
      authorization_servers: [issuer],
      scopes_supported: standardScopes,
      bearer_methods_supported: ["header"],
      dpop_signing_alg_values_supported: proofAlgorithms,
    })
  },
  ["instance"],
)

/**
 * RFC 9728 §5.1: a response that requires a token links the metadata; not for forward-auth
 * requests, because the host of the proxy is another resource.
 */
export function withMetadataLink(cx: Cx, path: string, response: Response): Response {
  if (response.status !== 401 || path.startsWith(paths.forwardAuth)) return response
  const challenge = response.headers.get("www-authenticate") ?? ""
  const [, scheme, rest = ""] = /^(Bearer|DPoP)\b ?(.*)$/.exec(challenge) ?? []
  if (scheme === undefined) return response
  const metadata = `resource_metadata="${issuerOf(cx).issuer}${paths.protectedResource}"`
  const headers = new Headers(response.headers)
  headers.set("www-authenticate", `${scheme} ${rest && `${rest}, `}${metadata}`)
  return new Response(response.body, { status: response.status, headers })
}
