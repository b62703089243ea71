import type { OidcApp } from "../../../domain/app/index.ts"
import type { ResponseMode, ResponseType } from "../../../domain/grant/index.ts"
import { likelyCauseOf } from "../../../domain/refusal/index.ts"
import { OAuthError } from "../../error.ts"
import { type Parameters, requireParameter, valueFinding } from "../../parameters.ts"

/** Response types of the authorization endpoint; also in the discovery document. */
export const responseTypes = ["code", "id_token", "id_token token"] as const

/** Response modes; also in the discovery document. */
export const responseModes = ["query", "fragment", "form_post"] as const

type Oidc = OidcApp["oidc"]

/** The registered response type and grant type that each one requires. */
const requiredRegistration = {
  code: { type: "code", grant: "authorization_code" },
  id_token: { type: "id_token", grant: "implicit" },
  "id_token token": { type: "id_token_token", grant: "implicit" },
} as const satisfies Record<
  ResponseType,
  { type: Oidc["responseTypes"][number]; grant: Oidc["grantTypes"][number] }
>

/**
 * Parses response_type and validates response_mode. Rejects unsupported ones, and those that the
 * application has not registered.
 */
export function parseResponseType(parameters: Parameters, oidc: Oidc): ResponseType {
  const received = requireParameter(parameters, "response_type")
  const normalized = sortWords(received)
  const type = responseTypes.find((supported) => supported === normalized)
  if (type === undefined) {
    const message = `response_type must be one of: ${responseTypes.join(", ")}`
    const finding = valueFinding("response_type", received, responseTypes)
    throw new OAuthError("unsupported_response_type", message, { finding })
  }
  validateMode(parameters, type)
  if (isAllowed(oidc, type)) return type
  const subject = "response_type"
  const lacksType = !oidc.responseTypes.includes(requiredRegistration[type].type)
  const cause = lacksType ? "response_type.unregistered" : "grant_type.unregistered"
  const expected = responseTypes.filter((supported) => isAllowed(oidc, supported))
  throw new OAuthError(
    "unauthorized_client",
    `this client is not allowed to use response_type ${type}`,
    {
      finding: { subject, received, expected, ...likelyCauseOf(subject, cause) },
    },
  )
}

const isAllowed = (oidc: Oidc, type: ResponseType): boolean =>
  oidc.responseTypes.includes(requiredRegistration[type].type) &&
  oidc.grantTypes.includes(requiredRegistration[type].grant)

function validateMode(parameters: Parameters, type: ResponseType): void {
  const mode = parameters.get("response_mode")
  if (mode === undefined) return
  if (!responseModes.some((supported) => supported === mode)) {
    throw new OAuthError(
      "invalid_request",
      `response_mode must be one of: ${responseModes.join(", ")}`,
      {
        finding: valueFinding("response_mode", mode, responseModes),
      },
    )
  }
  // OAuth 2.0 Multiple Response Types §3.0: tokens must not be in a query.
  if (mode === "query" && type !== "code") {
    throw new OAuthError("invalid_request", `response_mode query is not allowed for ${type}`)
  }
}

/**
 * The response mode, also for an error response. OAuth 2.0 Multiple Response Types §2.1 and §5: by
 * default the query for a code, the fragment for everything else.
 */
export function parseResponseMode(search: URLSearchParams): ResponseMode {
  const mode = search.get("response_mode")
  if (mode === "fragment" || mode === "form_post") return mode
  const words = (search.get("response_type") ?? "").split(" ")
  return words.includes("token") || words.includes("id_token") ? "fragment" : "query"
}

/** OAuth 2.0 Multiple Response Types §5: the order of the values has no meaning. */
const sortWords = (text: string): string => text.split(" ").sort().join(" ")
