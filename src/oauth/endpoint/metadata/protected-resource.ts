import { standardScopes } from "../../../domain/app/index.ts"
import { type Cx, cached } from "../../../store/index.ts"
import { proofAlgorithms } from "../../client/proof.ts"
import { issuerOf, paths } from "../../issuer.ts"
import { published } from "../../response.ts"
import type { Endpoint } from "../endpoint.ts"

/** RFC 9728 §3: what a client has to know to call our own interface; tokens for it are ours. */
export const protectedResource: Endpoint = {
  methods: ["GET"],
  anyOrigin: true,
  answer: ({ cx }) => published(document(cx)),
}

const document = cached(
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
 * RFC 9728 §5.1: a refusal for want of a token says where a client finds out how to get one; but
 * not where a proxy asks, since its host is another resource than ours.
 */
export function namingMetadata(cx: Cx, path: string, response: Response): Response {
  if (response.status !== 401 || path.startsWith(paths.forwardAuth)) return response
  const challenge = response.headers.get("www-authenticate") ?? ""
  const [, scheme, rest = ""] = /^(Bearer|DPoP)\b ?(.*)$/.exec(challenge) ?? []
  if (scheme === undefined) return response
  const metadata = `resource_metadata="${issuerOf(cx).issuer}${paths.protectedResource}"`
  const headers = new Headers(response.headers)
  headers.set("www-authenticate", `${scheme} ${rest && `${rest}, `}${metadata}`)
  return new Response(response.body, { status: response.status, headers })
}
