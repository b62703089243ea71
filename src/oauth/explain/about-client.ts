import { findClient, isAppActive } from "../../domain/app/index.ts"
import { because, type Finding } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import { readHint } from "../authorize/parse.ts"
import { readAssertion } from "../client/assertion.ts"
import { type Attempt, attemptOf, type Method } from "../client/attempt.ts"
import { methodsOf, type Registered, registered } from "../client/registered.ts"
import { OAuthError } from "../error.ts"
import { parametersOf } from "../request.ts"
import { readToken } from "../token/statement.ts"
import { clientAssertionFindings } from "./about-jwt.ts"
import { presentedBy } from "./about-token.ts"
import type { Refused } from "./explain.ts"

/** What a request calls its client; empty where it says nothing that can be read. */
export async function clientIdOf(cx: Cx, refused: Refused): Promise<string> {
  const attempt = attemptIn(refused)
  if (attempt?.method !== "private_key_jwt") return attempt?.clientId ?? idIn(cx, refused)
  const read = await readAssertion(attempt.assertion)
  return attempt.clientId ?? read?.issuer ?? ""
}

/** By name; else the client that a token of ours was issued to, which is all that it brings. */
function idIn(cx: Cx, refused: Refused): string {
  const named = refused.sent.get("client_id")
  if (named) return named
  const hint = refused.sent.get("id_token_hint")
  const azp = hint ? readHint(cx, hint)?.azp : undefined
  if (typeof azp === "string") return azp
  const token = presentedBy(refused)?.token
  return (token && readToken(cx, token)?.clientId) || ""
}

/** How a request tried to prove its client; undefined where that can't be read. */
function attemptIn({ sent, authorization }: Refused): Attempt | undefined {
  try {
    return attemptOf({ parameters: parametersOf(sent), authorization })
  } catch (cause) {
    if (cause instanceof OAuthError) return undefined
    throw cause
  }
}

/** Whether the client is known and may do anything, and how it proved itself. */
export async function clientFindings(
  cx: Cx,
  refused: Refused,
  clientId: string,
): Promise<readonly Finding[]> {
  if (clientId === "") return []
  const client = registered(cx, clientId)
  if (!client) return [unknown(clientId)]
  if (client.kind === "application" && !isAppActive(cx, client.appId))
    return [stopped(cx, clientId)]
  if (refused.error !== "invalid_client") return []
  const attempt = attemptIn(refused)
  if (!attempt) return []
  const proof = wrongProof(client, attempt.method)
  if (attempt.method !== "private_key_jwt" || proof.likelyCauseKey === "proof.method")
    return [proof]
  const { assertion: text } = attempt
  return [proof, ...(await clientAssertionFindings(cx, client, { text, clientId }))]
}

const unknown = (clientId: string): Finding => ({
  subject: "client_id",
  received: clientId,
  expected: [],
  ...because("client_id", clientId.includes("@") ? "client.at" : "client.unknown"),
})

function stopped(cx: Cx, clientId: string): Finding {
  const client = findClient(cx, clientId)
  const itself = client?.state.status === "inactive"
  return {
    subject: "application",
    received: "inactive",
    expected: ["active"],
    ...because("application", itself ? "client.inactive" : "client.project_inactive"),
  }
}

/** A client proves itself by the method it is registered with; a secret never comes back. */
function wrongProof(client: Registered, received: Method): Finding {
  const subject = "client authentication"
  const expected = methodsOf(client)
  if (client.kind === "service user") {
    return { subject, received, expected, ...because(subject, "proof.service_user") }
  }
  if (!expected.includes(received)) {
    return { subject, received, expected, ...because(subject, "proof.method") }
  }
  const cause = received === "private_key_jwt" ? "proof.assertion" : "proof.secret"
  return { subject, received, expected, ...because(subject, cause) }
}
