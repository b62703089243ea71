import { appChain } from "./client.ts"
import { appKeyChain } from "./credential/app-key.ts"
import { app } from "./model.ts"
import { appView } from "./view.ts"

export { backChannelReactor, failureOfClient } from "./back-channel.ts"
export {
  type AskedFor,
  acceptsPlainOauth,
  appChain,
  applicationAskedFor,
  type Client,
  findClient,
  isAppActive,
  needsPkce,
  orgOidcFor,
} from "./client.ts"
export {
  type AppKind,
  addApplication,
  changeApplication,
  deactivateApplication,
  dropProject,
  removeApplication,
} from "./commands.ts"
export { addAppKey, appKey } from "./credential/app-key.ts"
export { isSecret, newSecret } from "./credential/secret.ts"
export {
  type AccessRule,
  isAtOrBelow,
  proxiedCallback,
  proxiedOrigins,
  type RemoteUser,
  rulesFor,
  satisfies,
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
  isGone,
  methodOf,
  type OidcApp,
  type OidcConfig,
  type ResponseType,
  type SamlApp,
  type TokenConfig,
} from "./model.ts"
export { isPrivateAllowed, oidcDefaults } from "./oidc.ts"
export { type AddressProblem, addressProblem, redirectProblem } from "./redirect-uri.ts"
export {
  type ClientMetadata,
  changeRegistration,
  expireApplications,
  isRegistrationToken,
  isSelfRegistered,
  noteUse,
  registerApplication,
} from "./registration.ts"
export { apiAt } from "./resource.ts"
export {
  type AttributeFormat,
  type AttributeNames,
  type SamlMapping,
  type SamlUserField,
  usualAttributes,
} from "./saml/attributes.ts"
export {
  type Consumer,
  type FoundProvider,
  findServiceProvider,
  type ServiceProvider,
  serviceProviderOf,
} from "./saml/service-provider.ts"
export {
  addressScope,
  apiScope,
  apisNamed,
  isScope,
  listScopes,
  scopesFor,
  standardScopes,
} from "./scope.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [app],
  views: [appView],
  chains: { app: appChain, app_key: appKeyChain },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
