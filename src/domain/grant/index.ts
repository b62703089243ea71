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

export { type SpentAssertion, spendAssertion } from "./assertion.ts"
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
  giveConsent,
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
export { addExchange, type Exchange, exchange, type Party } from "./exchange.ts"
export { type Issued, issuance, noteIssued } from "./issuance.ts"
export { type Grant, grant, offlineUntil } from "./model.ts"
export {
  findPushedRequest,
  isPushedOver,
  isRequestOver,
  type PushedReference,
  pushedLifetimeSeconds,
  pushedRequest,
  pushRequest,
  refundPushed,
  requestNamed,
  requestUri,
  takePushedRequest,
} from "./pushed.ts"
export { outlivesSession, type Renewal, type RenewalEnd, renewGrant } from "./refresh.ts"
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
  type SamlRequested,
} from "./request.ts"
export { type Revocation, revocation, revokeToken } from "./revocation.ts"
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
export { addSamlAssertion, type SamlParticipant, samlParticipants } from "./saml/session.ts"
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
