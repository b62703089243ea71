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

export { spendAssertion } from "./assertion.ts"
export {
  type Answered,
  addAuthRequest,
  addGrant,
  allowRequest,
  answerRequest,
  authTimeFor,
  denyConsent,
  endGrant,
  exchangeCode,
  failRequest,
  type HandedRequest,
  handedRequest,
  linkSession,
  type NewGrant,
  requestLifetimes,
  requestOf,
} from "./commands.ts"
export { connectedApps } from "./connected.ts"
export { allowedSession } from "./consent/allowed.ts"
export {
  consentTo,
  identityShown,
  isConsentRemembered,
  isWithdrawn,
  lastWithdrawal,
  rememberedSeconds,
  withdrawnAt,
} from "./consent/remember.ts"
export {
  addDevice,
  approveDevice,
  type DeviceAuthorization,
  denyDevice,
  deviceAuthorization,
  finishDevice,
  isWaiting,
  type NewDevice,
  userCodeClaim,
} from "./device.ts"
export { addExchange, exchange, type Party } from "./exchange.ts"
export { noteIssued } from "./issuance.ts"
export { type Grant, grant } from "./model.ts"
export {
  findPushedRequest,
  isPushedOver,
  isRequestOver,
  type PushedReference,
  pushedLifetimeSeconds,
  pushRequest,
  refundPushed,
  requestNamed,
  requestUri,
  takePushedRequest,
} from "./pushed.ts"
export { outlivesSession, type RenewalEnd, renewGrant } from "./refresh.ts"
export {
  type AnsweredAtOnce,
  type AuthRequest,
  authRequest,
  type FinishedRequest,
  isForCode,
  type Prompt,
  type Requested,
  type RequestedClaims,
  type ResponseMode,
  type ResponseType,
} from "./request.ts"
export { revocation, revokeToken } from "./revocation.ts"
export {
  type Afterwards,
  addSamlLogout,
  noteTold,
  type SamlLogout,
  samlLogout,
  samlLogoutPath,
  type Untold,
  untoldOf,
} from "./saml/logout.ts"
export { addSamlAssertion, samlParticipants } from "./saml/session.ts"
export { noteClaimsRead } from "./use.ts"

/** What this module is to the whole. */
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
