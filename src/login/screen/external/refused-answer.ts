import { type AnswerRule, answerFindingOf, type Idp } from "../../../domain/idp/index.ts"
import { because, type Cause, type Finding, noteRefusal } from "../../../domain/refusal/index.ts"
import { Fault, reasonText } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"

/** Records for the administrators which rule the answer of a provider breaks, with both values. */
export function recordRefusedAnswer(
  cx: Cx,
  { id, name }: Pick<Idp, "id" | "name">,
  { endpoint, cause }: { readonly endpoint: string; readonly cause: unknown },
): void {
  if (!(cause instanceof Fault) || cause.id !== "idp.answer_refused") return
  const finding = answerFindingOf(cause)
  noteRefusal(cx, {
    endpoint,
    error: cause.id,
    description: `identity provider ${name} (${id}): ${reasonText(cause.cause ?? cause)}`,
    clientId: "",
    findings: finding ? [findingOf(finding.rule, finding)] : [],
  })
}

type Values = Pick<Finding, "subject" | "received" | "expected">

function findingOf(rule: AnswerRule, { subject, received, expected }: Values): Finding {
  return { subject, received, expected, ...because(subject, causeOf[rule]) }
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
