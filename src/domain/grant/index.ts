import { assertion } from "./assertion.ts"
import { applicationConsents } from "./consent/model.ts"
import { consentView } from "./consent/view.ts"
import { deviceAuthorization } from "./device.ts"
import { exchange, impersonation } from "./exchange.ts"
import { issuance } from "./issuance.ts"
import { grant } from "./model.ts"
import { pushedRequest } from "./pushed.ts"
import { authRequest } from "./request.ts"
import { revocation } from "./revocation.ts"
import { samlLogout } from "./saml/logout.ts"
import { samlSession } from "./saml/session.ts"
import { applicationUse, applicationUseView } from "./use.ts"
import { grantView } from "./view.ts"

export { recordAssertion } from "./assertion.ts"
export {
  addAuthRequest,
  addGrant,
  allowRequest,
  authTimeOf,
  type CodeReference,
  type CustomLoginRequest,
  completeAuthRequest,
  denyConsent,
  endGrant,
  exchangeCode,
  failRequest,
  findCustomLoginRequest,
  type GrantInput,
  linkSession,
  requestLifetimes,
  requestOfCode,
} from "./commands.ts"
export { connectedApps } from "./connected.ts"
export { findConsentingSession } from "./consent/allowed.ts"
export {
  findConsentSession,
  isConsentRemembered,
  isWithdrawn,
  lastWithdrawal,
  rememberedSeconds,
  shownIdentityOf,
  withdrawnAt,
} from "./consent/remember.ts"
export {
  addDevice,
  approveDevice,
  type DeviceAuthorization,
  type DeviceInput,
  denyDevice,
  deviceAuthorization,
  finishDevice,
  isPending,
  userCodeClaim,
} from "./device.ts"
export { addExchange, exchange, type Party } from "./exchange.ts"
export { recordIssuedTokens } from "./issuance.ts"
export { type Grant, grant } from "./model.ts"
export {
  findPushedRequest,
  isPushedOver,
  isRequestOver,
  type PushedReference,
  parseRequestUri,
  pushedLifetimeSeconds,
  pushRequest,
  refundPushedRequest,
  requestUriOf,
  takePushedRequest,
} from "./pushed.ts"
export { outlivesSession, type RefreshFailure, refreshGrant } from "./refresh.ts"
export {
  type AuthorizationRequest,
  type AuthRequestState,
  authRequest,
  type FinishedRequest,
  type ImmediateResponse,
  isForCode,
  type Prompt,
  type RequestedClaims,
  type ResponseMode,
  type ResponseType,
} from "./request.ts"
export { revocation, revokeToken } from "./revocation.ts"
export {
  addSamlLogout,
  type LogoutDestination,
  type LogoutParticipant,
  listLogoutParticipants,
  recordLogoutResult,
  type SamlLogout,
  samlLogout,
  samlLogoutPath,
} from "./saml/logout.ts"
export { listSamlParticipants, recordSamlAssertion } from "./saml/session.ts"
export { recordClaimsRead } from "./use.ts"

/** Everything that this module registers with the server. */
export const module = {
  aggregates: [
    authRequest,
    grant,
    pushedRequest,
    deviceAuthorization,
    assertion,
    revocation,
    exchange,
    impersonation,
    issuance,
    applicationUse,
    applicationConsents,
    samlSession,
    samlLogout,
  ],
  views: [grantView, applicationUseView, consentView],
  operations: () => import("./api.ts"),
} as const
