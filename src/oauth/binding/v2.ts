import type { MessageInitShape } from "@bufbuild/protobuf"
import { bindHandlers } from "../../api/method.ts"
import { findClient } from "../../domain/app/index.ts"
import type { CustomLoginRequest, Prompt } from "../../domain/grant/index.ts"
import { project } from "../../domain/project/index.ts"
import {
  type AuthorizationError,
  type AuthRequestSchema,
  ErrorReason,
  Prompt as Prompts,
} from "../../gen/core/oidc/v2/authorization_pb.ts"
import {
  type AuthorizeOrDenyDeviceAuthorizationRequest,
  type CreateCallbackRequest,
  OIDCService,
} from "../../gen/core/oidc/v2/oidc_service_pb.ts"
import { Fault, fieldError } from "../../kernel/fault.ts"
import { toDetails, toTimestamp } from "../../protocol/api/response.ts"
import type { Cx } from "../../store/index.ts"
import {
  completeWithError,
  completeWithSession,
  requireCustomLoginRequest,
} from "../custom-login/callback.ts"
import {
  approvePendingDevice,
  denyPendingDevice,
  requireDeviceByCode,
} from "../custom-login/device.ts"
import { requiresConsent } from "../custom-login/step.ts"

/** The operations of custom login pages. */
export const v2 = bindHandlers<Cx>()(OIDCService, {
  getAuthRequest: ({ authRequestId: id }, cx) => ({
    authRequest: toAuthRequest(cx, id, requireCustomLoginRequest(cx, id)),
  }),
  createCallback: async (req, cx) => {
    const { url, receipt } = await createCallback(cx, req)
    return { details: toDetails(receipt), callbackUrl: url }
  },
  getDeviceAuthorizationRequest: ({ userCode }, cx) => ({
    deviceAuthorizationRequest: toDevice(cx, userCode),
  }),
  authorizeOrDenyDeviceAuthorization: async (req, cx) => {
    await decideDevice(cx, req)
    return {}
  },
})

function toAuthRequest(
  cx: Cx,
  id: string,
  { asked, created, loginHint }: CustomLoginRequest,
): MessageInitShape<typeof AuthRequestSchema> {
  const { clientId, scopes, redirectUri, languages, maxAge, hintedUser } = asked
  const isAsked = requiresConsent(cx, asked) && !asked.prompts.includes("consent")
  const promptsWithConsent: readonly Prompt[] = isAsked
    ? [...asked.prompts, "consent"]
    : asked.prompts
  return {
    id,
    creationDate: toTimestamp(created),
    clientId,
    scope: [...scopes],
    redirectUri,
    prompt: promptsWithConsent.map((prompt) => prompts[prompt]),
    uiLocales: [...languages],
    ...(loginHint !== "" && { loginHint }),
    ...(maxAge !== undefined && { maxAge: { seconds: BigInt(maxAge), nanos: 0 } }),
    ...(hintedUser !== undefined && { hintUserId: hintedUser }),
  }
}

const prompts: Readonly<Record<Prompt, Prompts>> = {
  none: Prompts.NONE,
  login: Prompts.LOGIN,
  consent: Prompts.CONSENT,
  select_account: Prompts.SELECT_ACCOUNT,
  create: Prompts.CREATE,
}

function createCallback(
  cx: Cx,
  { authRequestId: id, callbackKind: callbackKindOf }: CreateCallbackRequest,
) {
  if (callbackKindOf.case === "session") return completeWithSession(cx, id, callbackKindOf.value)
  if (callbackKindOf.case === "error")
    return completeWithError(cx, id, errorFields(callbackKindOf.value))
  throw decisionMissingError("session or error is required")
}

/** RFC 6749 §4.1.2.1: the characters that an error parameter can contain. */
function errorFields({ error, errorDescription = "", errorUri = "" }: AuthorizationError) {
  const name = reasons[error]
  if (!name) throw fieldError("request.field_invalid", "error", "is required")
  if (!/^[\x20-\x21\x23-\x5b\x5d-\x7e]{0,500}$/.test(errorDescription)) {
    throw fieldError(
      "request.field_invalid",
      "error_description",
      "must be at most 500 ASCII characters without quotation marks and backslashes",
    )
  }
  const isAddress = /^https?:\/\/[\x21\x23-\x5b\x5d-\x7e]{1,500}$/.test(errorUri)
  if (errorUri !== "" && !(isAddress && URL.canParse(errorUri))) {
    throw fieldError("request.field_invalid", "error_uri", "must be an HTTP or HTTPS URL")
  }
  return {
    error: name,
    ...(errorDescription !== "" && { error_description: errorDescription }),
    ...(errorUri !== "" && { error_uri: errorUri }),
  }
}

/** Error codes of OAuth and OpenID Connect (RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6). */
const reasons: Readonly<Record<number, string>> = {
  [ErrorReason.INVALID_REQUEST]: "invalid_request",
  [ErrorReason.UNAUTHORIZED_CLIENT]: "unauthorized_client",
  [ErrorReason.ACCESS_DENIED]: "access_denied",
  [ErrorReason.UNSUPPORTED_RESPONSE_TYPE]: "unsupported_response_type",
  [ErrorReason.INVALID_SCOPE]: "invalid_scope",
  [ErrorReason.SERVER_ERROR]: "server_error",
  [ErrorReason.TEMPORARY_UNAVAILABLE]: "temporarily_unavailable",
  [ErrorReason.INTERACTION_REQUIRED]: "interaction_required",
  [ErrorReason.LOGIN_REQUIRED]: "login_required",
  [ErrorReason.ACCOUNT_SELECTION_REQUIRED]: "account_selection_required",
  [ErrorReason.CONSENT_REQUIRED]: "consent_required",
  [ErrorReason.INVALID_REQUEST_URI]: "invalid_request_uri",
  [ErrorReason.INVALID_REQUEST_OBJECT]: "invalid_request_object",
  [ErrorReason.REQUEST_NOT_SUPPORTED]: "request_not_supported",
  [ErrorReason.REQUEST_URI_NOT_SUPPORTED]: "request_uri_not_supported",
  [ErrorReason.REGISTRATION_NOT_SUPPORTED]: "registration_not_supported",
}

function toDevice(cx: Cx, userCode: string) {
  const { handle, state } = requireDeviceByCode(cx, userCode)
  const client = findClient(cx, state.clientId)?.state
  return {
    id: handle,
    clientId: state.clientId,
    scope: [...state.scopes],
    appName: client?.name ?? "",
    projectName: client ? cx.store.state(cx, project, client.projectId).name : "",
  }
}

function decideDevice(cx: Cx, req: AuthorizeOrDenyDeviceAuthorizationRequest): Promise<void> {
  const { deviceAuthorizationId: id, decision } = req
  if (decision.case === "session") return approvePendingDevice(cx, id, decision.value)
  if (decision.case === "deny") return denyPendingDevice(cx, id)
  throw decisionMissingError("session or deny is required")
}

const decisionMissingError = (message: string) =>
  new Fault("invalid_argument", "request.undecided", message)
