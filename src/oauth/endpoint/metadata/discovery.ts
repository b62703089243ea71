import { listScopes, standardScopes } from "../../../domain/app/index.ts"
import { requireInstance } from "../../../domain/instance/index.ts"
import { signingAlgorithms } from "../../../domain/key/index.ts"
import { languagesOf } from "../../../domain/quota/index.ts"
import { isRegistrationOpen } from "../../../login/index.ts"
import { cacheQuery } from "../../../store/index.ts"
import { promptValues } from "../../authorize/request/parse.ts"
import { responseModes, responseTypes } from "../../authorize/request/response-type.ts"
import {
  assertionAlgorithms,
  clientAuthMethods,
  introspectionMethods,
} from "../../client/authentication.ts"
import { proofAlgorithms } from "../../client/proof.ts"
import { grants } from "../../grant/list.ts"
import { issuerOf, paths } from "../../issuer.ts"
import { publicDocument } from "../../response.ts"
import { acrValues } from "../../token/claims/acr.ts"
import { userClaimNames } from "../../token/claims/claims.ts"
import type { Endpoint } from "../endpoint.ts"

/** OpenID Connect Discovery §4. Lists only what is supported. */
export const discovery: Endpoint = {
  methods: ["GET"],
  anyOrigin: true,
  handle: ({ cx }) => publicDocument(discoveryDocument(cx)),
}

/** The streams that the document depends on. */
export const discoveryStreams = ["instance", "restrictions", "web_key", "org", "policy"] as const

/** The document as JSON text. */
export const discoveryDocument = cacheQuery((cx) => {
  const { issuer } = issuerOf(cx)
  const { registration } = requireInstance(cx).oidc
  return JSON.stringify({
    issuer,
    authorization_endpoint: issuer + paths.authorize,
    pushed_authorization_request_endpoint: issuer + paths.par,
    require_pushed_authorization_requests: false,
    // RFC 8414 §2: only if registration is enabled.
    ...(registration.mode !== "off" && { registration_endpoint: issuer + paths.registration }),
    // draft-ietf-oauth-client-id-metadata-document §5.
    ...(registration.metadataDocuments && { client_id_metadata_document_supported: true }),
    token_endpoint: issuer + paths.token,
    device_authorization_endpoint: issuer + paths.deviceAuthorization,
    introspection_endpoint: issuer + paths.introspection,
    revocation_endpoint: issuer + paths.revocation,
    userinfo_endpoint: issuer + paths.userinfo,
    jwks_uri: issuer + paths.keys,
    end_session_endpoint: issuer + paths.endSession,
    scopes_supported: [...standardScopes, ...listScopes],
    response_types_supported: responseTypes,
    response_modes_supported: responseModes,
    // RFC 7591 §2.1: clients that receive tokens from the authorization endpoint use the grant of
    // that name.
    grant_types_supported: [...grants.map(({ name }) => name), "implicit"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: signingAlgorithms(cx),
    token_endpoint_auth_methods_supported: clientAuthMethods,
    token_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    introspection_endpoint_auth_methods_supported: introspectionMethods,
    introspection_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    revocation_endpoint_auth_methods_supported: clientAuthMethods,
    revocation_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    code_challenge_methods_supported: ["S256"],
    dpop_signing_alg_values_supported: proofAlgorithms,
    claims_supported: [...idTokenClaims, ...userClaimNames, ...listScopes],
    // Initiating User Registration via OpenID Connect §5: only if users can register.
    prompt_values_supported: promptValues.filter(
      (value) => value !== "create" || isRegistrationOpen(cx),
    ),
    ui_locales_supported: languagesOf(cx),
    acr_values_supported: acrValues,
    claims_parameter_supported: true,
    request_parameter_supported: true,
    request_object_signing_alg_values_supported: assertionAlgorithms,
    request_uri_parameter_supported: false,
    authorization_response_iss_parameter_supported: true,
    frontchannel_logout_supported: true,
    frontchannel_logout_session_supported: true,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
  })
}, discoveryStreams)

const idTokenClaims = [
  "iss",
  "sub",
  "aud",
  "exp",
  "iat",
  "auth_time",
  "nonce",
  "acr",
  "amr",
  "azp",
  "client_id",
  "at_hash",
  "c_hash",
  "sid",
] as const
