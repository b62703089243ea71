import type { MessageInitShape } from "@bufbuild/protobuf"
import { share } from "../../api/method.ts"
import type { HandedRequest } from "../../domain/grant/index.ts"
import {
  type AuthorizationError,
  ErrorReason,
  type SAMLRequestSchema,
} from "../../gen/core/saml/v2/authorization_pb.ts"
import { type CreateResponseRequest, SAMLService } from "../../gen/core/saml/v2/saml_service_pb.ts"
import { Fault, fieldError } from "../../kernel/fault.ts"
import { requireHanded } from "../../oauth/index.ts"
import { at, details } from "../../protocol/api/answer.ts"
import type { Cx } from "../../store/index.ts"
import { bindingNames, type Status } from "../../xml/names.ts"
import { type Responded, respondError, respondWith } from "../handed/respond.ts"

/** What a login page of somebody else asks. */
export const v2 = share<Cx>()(SAMLService, {
  getSAMLRequest: ({ samlRequestId: id }, cx) => ({
    samlRequest: toRequest(id, requireHanded(cx, id, "saml")),
  }),
  createResponse: async (req, cx) => {
    const { sending, receipt } = await responseOf(cx, req)
    const { url } = sending
    const binding =
      "fields" in sending
        ? ({ case: "post", value: posted(sending.fields) } as const)
        : ({ case: "redirect", value: {} } as const)
    return { details: details(receipt), url, binding }
  },
})

function toRequest(
  id: string,
  { asked, created }: HandedRequest,
): MessageInitShape<typeof SAMLRequestSchema> {
  const { redirectUri: assertionConsumerService, state: relayState = "", saml } = asked
  return {
    id,
    creationDate: at(created),
    assertionConsumerService,
    relayState,
    issuer: saml?.entityId ?? "",
    binding: bindingNames[saml?.binding ?? "post"],
  }
}

const posted = ({ RelayState = "", SAMLResponse = "" }: Readonly<Record<string, string>>) => ({
  relayState: RelayState,
  samlResponse: SAMLResponse,
})

function responseOf(cx: Cx, req: CreateResponseRequest): Promise<Responded> {
  const { samlRequestId: id, responseKind: how } = req
  if (how.case === "session") return respondWith(cx, id, how.value)
  if (how.case === "error") return respondError(cx, id, refusalFrom(how.value))
  throw new Fault(
    "invalid_argument",
    "request.undecided",
    "give a session or an error to answer with",
  )
}

function refusalFrom({ error, errorDescription: why = "" }: AuthorizationError) {
  const status = reasons[error]
  if (!status) throw fieldError("request.field_invalid", "error", "is missing")
  if (!/^[^\p{Cc}]{0,500}$/u.test(why)) {
    throw fieldError(
      "request.field_invalid",
      "error_description",
      "must have 500 characters at most, and no line breaks",
    )
  }
  return { status, why }
}

const reasons: Readonly<Record<number, Status>> = {
  [ErrorReason.VERSION_MISSMATCH]: "versionMismatch",
  [ErrorReason.AUTH_N_FAILED]: "authnFailed",
  [ErrorReason.INVALID_ATTR_NAME_OR_VALUE]: "invalidAttr",
  [ErrorReason.INVALID_NAMEID_POLICY]: "invalidNameIdPolicy",
  [ErrorReason.REQUEST_DENIED]: "requestDenied",
  [ErrorReason.REQUEST_UNSUPPORTED]: "requestUnsupported",
  [ErrorReason.UNSUPPORTED_BINDING]: "unsupportedBinding",
}
