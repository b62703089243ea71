import { appChain } from "./client.ts"
import { appKeyChain } from "./credential/app-key.ts"
import { app } from "./model.ts"
import { appView } from "./view.ts"

export { backChannelReactor, formatClientFailure } from "./back-channel.ts"
export {
  type ApplicationReference,
  acceptsPlainOauth,
  appChain,
  type Client,
  findClient,
  findReferencedApplication,
  isAppActive,
  orgOidcSettingsOf,
  requiresPkce,
} from "./client.ts"
export {
  type AppConfigInput,
  addApplication,
  deactivateApplication,
  removeApplication,
  removeProjectInTransaction,
  updateApplication,
} from "./commands.ts"
export { addAppKey, findAppPublicKey } from "./credential/app-key.ts"
export { isValidSecret, newSecret } from "./credential/secret.ts"
export {
  type AccessRule,
  isAtOrBelow,
  proxiedCallback,
  proxiedOrigins,
  type RemoteUser,
  rulesFor,
  satisfiesRule,
} from "./forward-auth.ts"
export {
  type ApiApp,
  type ApiScope,
  type AppEvent,
  type AppType,
  type AuthMethod,
  app,
  type ClientJwk,
  type GrantType,
  isMissing,
  methodOf,
  type OidcApp,
  type OidcConfig,
  type ResponseType,
  type SamlApp,
  type TokenConfig,
} from "./model.ts"
export { isPrivateNetworkAllowed, oidcDefaults } from "./oidc.ts"
export { type RedirectProblem, redirectProblem, responseProblem } from "./redirect-uri.ts"
export {
  type ClientMetadata,
  expireApplications,
  isRegistrationToken,
  isSelfRegistered,
  recordUse,
  registerApplication,
  updateRegistration,
} from "./registration.ts"
export { findApiByResource } from "./resource.ts"
export {
  type AttributeFormat,
  type AttributeNames,
  defaultAttributes,
  type SamlMapping,
  type SamlUserField,
} from "./saml/attributes.ts"
export {
  type Consumer,
  findServiceProvider,
  findServiceProviderByApp,
  type RegisteredServiceProvider,
  type ServiceProvider,
} from "./saml/service-provider.ts"
export {
  addressScope,
  apisInAudience,
  isScopeToken,
  listScopes,
  normalizeScope,
  scopesFor,
  standardScopes,
} from "./scope.ts"

/** Everything that this module registers with the server. */
export const module = {
  aggregates: [app],
  views: [appView],
  chains: { app: appChain, app_key: appKeyChain },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
