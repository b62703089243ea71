import type { OidcApp } from "../../../domain/app/index.ts"
import type { ResponseMode, ResponseType } from "../../../domain/grant/index.ts"
import { because } from "../../../domain/refusal/index.ts"
import { OAuthError } from "../../error.ts"
import { type Parameters, required, valueFinding } from "../../request.ts"

/** What the front channel can bring; discovery names them. */
export const responseTypes = ["code", "id_token", "id_token token"] as const

/** How an answer travels; discovery names them. */
export const responseModes = ["query", "fragment", "form_post"] as const

type Oidc = OidcApp["oidc"]

/** What an application must have registered for each of them. */
const registered = {
  code: { type: "code", grant: "authorization_code" },
  id_token: { type: "id_token", grant: "implicit" },
  "id_token token": { type: "id_token_token", grant: "implicit" },
} as const satisfies Record<
  ResponseType,
  { type: Oidc["responseTypes"][number]; grant: Oidc["grantTypes"][number] }
>

/**
 * Reads what is asked for and how it shall travel; refuses what we don't offer, and what this
 * application has not registered.
 */
export function responseTypeOf(parameters: Parameters, oidc: Oidc): ResponseType {
  const received = required(parameters, "response_type")
  const named = sortedWords(received)
  const type = responseTypes.find((known) => known === named)
  if (type === undefined) {
    const wanted = `response_type must be one of: ${responseTypes.join(", ")}`
    const finding = valueFinding("response_type", received, responseTypes)
    throw new OAuthError("unsupported_response_type", wanted, { finding })
  }
  checkMode(parameters, type)
  if (isAllowed(oidc, type)) return type
  const subject = "response_type"
  const lacksType = !oidc.responseTypes.includes(registered[type].type)
  const cause = lacksType ? "response_type.unregistered" : "grant_type.unregistered"
  const expected = responseTypes.filter((known) => isAllowed(oidc, known))
  throw new OAuthError("unauthorized_client", `this client may not use response_type ${type}`, {
    finding: { subject, received, expected, ...because(subject, cause) },
  })
}

const isAllowed = (oidc: Oidc, type: ResponseType): boolean =>
  oidc.responseTypes.includes(registered[type].type) &&
  oidc.grantTypes.includes(registered[type].grant)

function checkMode(parameters: Parameters, type: ResponseType): void {
  const mode = parameters.get("response_mode")
  if (mode === undefined) return
  if (!responseModes.some((known) => known === mode)) {
    throw new OAuthError("invalid_request", `response_mode must be ${responseModes.join(", ")}`, {
      finding: valueFinding("response_mode", mode, responseModes),
    })
  }
  // OAuth 2.0 Multiple Response Types §3.0: tokens never stand in a query.
  if (mode === "query" && type !== "code") {
    throw new OAuthError("invalid_request", `response_mode query is not for ${type}`)
  }
}

/**
 * How an answer travels, also that to a request which is refused. OAuth 2.0 Multiple Response
 * Types §2.1 and §5: by default a code goes into the query, everything else into the fragment.
 */
export function responseModeOf(search: URLSearchParams): ResponseMode {
  const mode = search.get("response_mode")
  if (mode === "fragment" || mode === "form_post") return mode
  const words = (search.get("response_type") ?? "").split(" ")
  return words.includes("token") || words.includes("id_token") ? "fragment" : "query"
}

/** OAuth 2.0 Multiple Response Types §5: the order of the words means nothing. */
const sortedWords = (text: string): string => text.split(" ").sort().join(" ")
