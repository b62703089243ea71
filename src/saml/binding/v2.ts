import type { MessageInitShape } from "@bufbuild/protobuf"
import { bindHandlers } from "../../api/method.ts"
import type { CustomLoginRequest } from "../../domain/grant/index.ts"
import {
  type AuthorizationError,
  ErrorReason,
  type SAMLRequestSchema,
} from "../../gen/core/saml/v2/authorization_pb.ts"
import { type CreateResponseRequest, SAMLService } from "../../gen/core/saml/v2/saml_service_pb.ts"
import { Fault, fieldError } from "../../kernel/fault.ts"
import { requireCustomLoginRequest } from "../../oauth/index.ts"
import { toDetails, toTimestamp } from "../../protocol/api/response.ts"
import type { Cx } from "../../store/index.ts"
import { bindingNames, type Status } from "../../xml/names.ts"
import {
  type CustomLoginResponse,
  respondWithError,
  respondWithSession,
} from "../custom-login/respond.ts"

/** The operations of custom login pages. */
export const v2 = bindHandlers<Cx>()(SAMLService, {
  getSAMLRequest: ({ samlRequestId: id }, cx) => ({
    samlRequest: toRequest(id, requireCustomLoginRequest(cx, id, "saml")),
  }),
  createResponse: async (req, cx) => {
    const { sending, receipt } = await createResponse(cx, req)
    const { url } = sending
    const binding =
      "fields" in sending
        ? ({ case: "post", value: postedFieldsOf(sending.fields) } as const)
        : ({ case: "redirect", value: {} } as const)
    return { details: toDetails(receipt), url, binding }
  },
})

function toRequest(
  id: string,
  { asked, created }: CustomLoginRequest,
): MessageInitShape<typeof SAMLRequestSchema> {
  const { redirectUri: assertionConsumerService, state: relayState = "", saml } = asked
  return {
    id,
    creationDate: toTimestamp(created),
    assertionConsumerService,
    relayState,
    issuer: saml?.entityId ?? "",
    binding: bindingNames[saml?.binding ?? "post"],
  }
}

const postedFieldsOf = ({
  RelayState = "",
  SAMLResponse = "",
}: Readonly<Record<string, string>>) => ({
  relayState: RelayState,
  samlResponse: SAMLResponse,
})

function createResponse(cx: Cx, req: CreateResponseRequest): Promise<CustomLoginResponse> {
  const { samlRequestId: id, responseKind: how } = req
  if (how.case === "session") return respondWithSession(cx, id, how.value)
  if (how.case === "error") return respondWithError(cx, id, parseError(how.value))
  throw new Fault("invalid_argument", "request.undecided", "session or error is required")
}

function parseError({ error, errorDescription: message = "" }: AuthorizationError) {
  const status = reasons[error]
  if (!status) throw fieldError("request.field_invalid", "error", "is required")
  if (!/^[^\p{Cc}]{0,500}$/u.test(message)) {
    throw fieldError(
      "request.field_invalid",
      "error_description",
      "must have at most 500 characters and no line breaks",
    )
  }
  return { status, why: message }
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
