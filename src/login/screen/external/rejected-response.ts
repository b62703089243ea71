import { type AnswerRule, answerFindingOf, type Idp } from "../../../domain/idp/index.ts"
import {
  type Cause,
  type Finding,
  likelyCauseOf,
  storeRefusal,
} from "../../../domain/refusal/index.ts"
import { errorText, Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"

/** Records for administrators which rule the response of a provider violates, with both values. */
export function recordRejectedResponse(
  cx: Cx,
  { id, name }: Pick<Idp, "id" | "name">,
  { endpoint, cause }: { readonly endpoint: string; readonly cause: unknown },
): void {
  if (!(cause instanceof Fault) || cause.id !== "idp.answer_refused") return
  const finding = answerFindingOf(cause)
  storeRefusal(cx, {
    endpoint,
    error: cause.id,
    description: `identity provider ${name} (${id}): ${errorText(cause.cause ?? cause)}`,
    clientId: "",
    findings: finding ? [findingOf(finding.rule, finding)] : [],
  })
}

type FindingValues = Pick<Finding, "subject" | "received" | "expected">

function findingOf(rule: AnswerRule, { subject, received, expected }: FindingValues): Finding {
  return { subject, received, expected, ...likelyCauseOf(subject, causeOf[rule]) }
}

const causeOf: Readonly<Record<AnswerRule, Cause>> = {
  alg: "provider.alg",
  at_hash: "provider.at_hash",
  aud: "provider.aud",
  azp: "provider.azp",
  exp: "provider.exp",
  iss: "provider.iss",
  nonce: "provider.nonce",
  nonce_missing: "provider.nonce_missing",
  other_aud: "provider.other_aud",
  saml_audience: "provider.saml_audience",
  saml_confirmation: "provider.saml_confirmation",
  saml_destination: "provider.saml_destination",
  saml_encryption: "provider.saml_encryption",
  saml_in_response_to: "provider.saml_in_response_to",
  saml_issuer: "provider.saml_issuer",
  saml_name_id: "provider.saml_name_id",
  saml_signature: "provider.saml_signature",
  saml_status: "provider.saml_status",
  saml_time: "provider.saml_time",
  saml_version: "provider.saml_version",
  signature: "provider.signature",
  sub: "provider.sub",
  userinfo_sub: "provider.userinfo_sub",
}
